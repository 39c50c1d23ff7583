"""Which events stand in the stream before another: with a real stream."""

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg

from eventing import subjects
from eventing.jetstream import earlier
from eventing.jetstream.connection import BusError, request
from eventing.jetstream.delivery import Delivery, event_of
from eventing.jetstream.earlier import EarlierEvents, Waiting
from eventing.jetstream.intake import Intake
from eventing.jetstream.messages import addressed, gathered
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure, stored_message
from schemas.cloudevents import CloudEvent
from schemas.position import Position
from tests.eventing import brokers
from tests.eventing.brokers import event, events, until
from tests.servers import nats_client

PARTITIONS = 4
SLOT, OTHER = 8, 12
"""Two slots of one partition."""
SESSION = subjects.consumer(0, "session")
SLOT_AGAIN = subjects.republished(0, "session", SLOT)
"""The subject of events of `SLOT` that are published again."""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    async with nats_client(tmp_path) as made:
        await ensure(made, BusConfig(partitions=PARTITIONS))
        yield made


@pytest.fixture
async def publisher(client: Client) -> Publisher:
    made = Publisher(client, PARTITIONS)
    await made.start()
    return made


def of_slot(number: int, slot: int = SLOT, **changes: object) -> CloudEvent:
    return event(number, slot=slot, procedure="session", **changes)


async def publish(publisher: Publisher, *events: CloudEvent) -> None:
    """Publish each event in a message of its own."""
    await publisher.publish([addressed(one, PARTITIONS).outgoing for one in events])


async def left(client: Client, count: int) -> None:
    """Wait until all events but `count` are acknowledged."""

    async def only_those() -> bool:
        return sum((await events(client)).values()) == count

    await until(only_those)


async def acknowledge(client: Client, count: int, others: int = 0) -> list[CloudEvent]:
    """Acknowledge the first `count` events, and return them. The stream has `others` then."""
    intake = Intake(client)
    await intake.consume([SESSION])
    taken: list[Delivery] = []
    while len(taken) < count:
        taken += await intake.take(count - len(taken), 5)
    assert len(taken) == count
    for delivery in taken:
        await intake.ack(delivery)
    await client.flush()
    await intake.stop()
    await left(client, others)
    return [event_of(delivery) for delivery in taken]


async def published_again(client: Client, ask: EarlierEvents, one: Waiting) -> None:
    """Ask for an event until an event before it is published again."""

    async def again() -> bool:
        assert await ask.none_earlier([one]) == [False]
        return SLOT_AGAIN in await events(client)

    await until(again)


def at(sequence: int, index: int = 0, *slots: int) -> Waiting:
    position = Position(sequence, index, int(time.time() * 1000))
    found = slots or (SLOT,)
    return Waiting(position, frozenset(found), found[-1])


async def test_an_event_is_the_first_if_none_of_its_slots_stands_before_it(
    client: Client, publisher: Publisher
) -> None:
    await publish(publisher, of_slot(1, OTHER), of_slot(2, SLOT), of_slot(3, SLOT))
    ask = EarlierEvents(client, PARTITIONS)
    waiting = [at(1), at(2), at(3), at(4), at(2, 0, OTHER), at(3, 0, SLOT, OTHER), at(9, 0, 1)]
    assert await ask.none_earlier(waiting) == [True, True, False, False, False, False, True]
    await acknowledge(client, 3)
    assert await ask.none_earlier(waiting) == [True] * 7


async def test_an_event_that_is_delivered_and_not_acknowledged_still_stands_there(
    client: Client, publisher: Publisher
) -> None:
    await publish(publisher, of_slot(1))
    intake = Intake(client)
    await intake.consume([SESSION])
    (delivery,) = await intake.take(1, 5)
    ask = EarlierEvents(client, PARTITIONS)
    assert await ask.none_earlier([at(2)]) == [False]
    await intake.ack(delivery)
    await left(client, 0)
    assert await ask.none_earlier([at(2)]) == [True]


async def test_a_batch_counts_for_the_slots_of_all_its_events(
    client: Client, publisher: Publisher
) -> None:
    events = [of_slot(n, slot) for n, slot in enumerate((OTHER, SLOT, 16))]
    await publisher.publish(gathered(addressed(one, PARTITIONS) for one in events))
    ask = EarlierEvents(client, PARTITIONS)
    assert await ask.none_earlier([at(1, 2), at(2), at(2, 0, 16), at(2, 0, 20)]) == [
        True,  # an event of the same message: its worker has both
        False,
        False,
        True,
    ]


async def test_an_event_that_is_published_again_keeps_its_place(
    client: Client, publisher: Publisher
) -> None:
    await publish(publisher, of_slot(1), of_slot(2, OTHER))
    (first, _) = await acknowledge(client, 2)
    assert first.position is not None
    assert (first.position.sequence, first.position.index) == (1, 0)
    await publisher.publish(gathered([addressed(first, PARTITIONS), addressed(first, PARTITIONS)]))
    again = await request(client, f"STREAM.MSG.GET.{subjects.STREAM}", {"seq": 3})
    assert again["message"]["subject"] == f"ue.0.session.core.{SLOT}-again", "alone in its message"
    ask = EarlierEvents(client, PARTITIONS)
    assert await ask.none_earlier([at(2), at(1), at(2, 0, OTHER)]) == [False, True, True]
    (found, copy) = await acknowledge(client, 2)
    assert found == copy == first
    assert await ask.none_earlier([at(2)]) == [True]


async def test_an_event_that_moves_to_its_ues_slot_is_not_missed(
    client: Client, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is published again in another partition while the check runs."""
    far = 9  # of another partition than SLOT
    await publish(publisher, of_slot(1, far))
    intake = Intake(client)
    await intake.consume([subjects.consumer(1, "session")])
    (moving,) = await intake.take(1, 5)
    ask = EarlierEvents(client, PARTITIONS)
    ask_jetstream = client.request

    async def while_it_moves(subject: str, body: bytes, **options: Any) -> Msg:
        answer = await ask_jetstream(subject, body, **options)
        if b'"ue.0.>"' in body and not await removed(client, 1):
            moved = replace(event_of(moving), slot=SLOT)
            await publisher.publish([addressed(moved, PARTITIONS).outgoing])
            await intake.ack(moving)
            await client.flush()
            await until(lambda: removed(client, 1))
        return answer

    monkeypatch.setattr(client, "request", while_it_moves)
    assert await ask.none_earlier([at(2, 0, far, SLOT)]) == [False]
    await intake.stop()


async def removed(client: Client, sequence: int) -> bool:
    """Whether the stream has a message no more."""
    try:
        await request(client, f"STREAM.MSG.GET.{subjects.STREAM}", {"seq": sequence})
    except BusError:
        return True
    return False


async def test_many_events_are_read_by_several_checks(
    client: Client, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "MOST_READ", 4)
    await publish(publisher, *(of_slot(n, OTHER) for n in range(10)))
    ask = EarlierEvents(client, PARTITIONS)
    found = [(await ask.none_earlier([at(11)]))[0] for _ in range(4)]
    assert found == [False, False, True, True], "cautious until all are read"


async def test_a_position_far_ahead_hides_no_later_message(
    client: Client, publisher: Publisher
) -> None:
    """An event of a stream that was made again asks with a position of the stream before."""
    await publish(publisher, of_slot(1))
    ask = EarlierEvents(client, PARTITIONS)
    assert await ask.none_earlier([at(1_000_000, 0, OTHER)]) == [True]
    await publish(publisher, of_slot(2), of_slot(3))
    await acknowledge(client, 1, 2)
    assert await ask.none_earlier([at(3), at(1_000_000)]) == [False, False]


async def test_what_was_known_of_removed_messages_is_forgotten(
    client: Client, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that stays, such as that of a function which never starts, keeps none of them."""
    monkeypatch.setattr(earlier, "MOST_KNOWN", 4)
    await publish(publisher, *(of_slot(n, OTHER) for n in range(10)))
    ask = EarlierEvents(client, PARTITIONS)
    assert [await ask.none_earlier([at(11)]) for _ in range(2)] == [[True], [True]]


async def test_without_an_answer_no_event_is_the_first(tmp_path: Path) -> None:
    async with nats_client(tmp_path) as client:  # no stream
        assert await EarlierEvents(client, PARTITIONS).none_earlier([at(1), at(2)]) == [
            False,
            False,
        ]


async def test_no_question_outlasts_a_look_that_fails(
    client: Client, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next look would ask beside it, and publish the same message again."""
    await publish(publisher, of_slot(1, SLOT), of_slot(2, OTHER))
    ask, asked = EarlierEvents(client, PARTITIONS), list[int]()
    both = [at(3, 0, SLOT), at(3, 0, OTHER)]
    assert await ask.none_earlier(both) == [False, False]

    async def failing(of: Client, which: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        if "next_by_subj" in which:
            return await stored_message(of, which, seconds)
        asked.append(which["seq"])
        if which["seq"] == 1:
            raise BusError("no answer")
        await asyncio.sleep(0.1)
        asked.append(-which["seq"])
        return None

    monkeypatch.setattr(earlier, "stored_message", failing)
    assert await ask.none_earlier(both) == [False, False]
    await asyncio.sleep(0.2)
    assert sorted(asked) == [1, 2], "the question about the second message has no end"


@asynccontextmanager
async def forgotten(folder: Path, count: int, *others: CloudEvent) -> AsyncGenerator[Client]:
    """A broker with `count` acknowledged messages that it has forgotten to remove, and others.

    nats-server was killed after it had written the acknowledgements, and before the removals.
    """
    messages = folder / "jetstream" / "jetstream" / "$G" / "streams" / subjects.STREAM / "msgs"
    async with brokers.running(folder) as bus:
        async with brokers.clients(bus, 1) as (client,):
            await ensure(client, BusConfig(partitions=PARTITIONS))
            publisher = Publisher(client, PARTITIONS)
            await publisher.start()
            forgotten = (of_slot(n, (SLOT, OTHER)[n % 2]) for n in range(count))
            await publish(publisher, *forgotten, *others)
        await bus.end()
        shutil.copytree(messages, folder / "before")
        await bus.start()
        async with brokers.clients(bus, 1) as (client,):
            await acknowledge(client, count, len(others))
        await bus.end()
        shutil.rmtree(messages)
        shutil.copytree(folder / "before", messages)
        await bus.start()
        async with brokers.clients(bus, 1) as (client,):
            assert sum((await events(client)).values()) == count + len(others)
            yield client


async def test_a_message_that_the_broker_forgot_to_remove_stops_no_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "PATIENCE", 0.1)
    async with forgotten(tmp_path, 1, of_slot(2)) as client:
        ask = EarlierEvents(client, PARTITIONS)
        assert await ask.none_earlier([at(2)]) == [False]
        await published_again(client, ask, at(2))
        assert sum((await events(client)).values()) == 2, "the first message is removed"
        intake = Intake(client)
        await intake.consume([SESSION])
        taken: list[Delivery] = []
        while len(taken) < 2:
            taken += await intake.take(2, 5)
        positions = {position_of(one): one for one in taken}
        assert set(positions) == {1, 2}, "it keeps its place"
        await intake.ack(positions[1])
        await until(lambda: first(ask))
        monkeypatch.setattr(earlier, "PATIENCE", 0.0)
        for _ in range(3):  # the other one is not acknowledged, and stays
            assert await ask.none_earlier([at(3)]) == [False]


async def test_many_messages_that_the_broker_forgot_to_remove_cost_little_more_than_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of other UEs, for which no event waits. Before, each cost its UE a second."""
    monkeypatch.setattr(earlier, "PATIENCE", 0.3)
    async with forgotten(tmp_path, 40, of_slot(40)) as client:
        ask = EarlierEvents(client, PARTITIONS)
        await published_again(client, ask, at(41))
        assert await ask.none_earlier([at(41)]) == [False], "events are published again before it"
        found = await events(client)
        assert found[SLOT_AGAIN] == found[subjects.republished(0, "session", OTHER)] == 20
        assert sum(found.values()) == 41
        await acknowledge(client, 41)
        assert await ask.none_earlier([at(41)]) == [True]


async def test_a_message_that_no_consumer_takes_stops_no_event(
    client: Client, publisher: Publisher
) -> None:
    await client.jetstream().publish("ue.0.test", b"hello")
    await publish(publisher, of_slot(1), of_slot(2))
    ask = EarlierEvents(client, PARTITIONS)
    assert await ask.none_earlier([at(2), at(3)]) == [True, False]


async def first(ask: EarlierEvents) -> bool:
    return await ask.none_earlier([at(2)]) == [True]


def position_of(delivery: Delivery) -> int:
    position = event_of(delivery).position
    assert position is not None
    return position.sequence


async def test_a_publication_that_stands_for_long_is_published_again(
    client: Client, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its consumer may have acknowledged it, and an event before it keeps the ack floor low."""
    monkeypatch.setattr(earlier, "PATIENCE", 0.05)
    monkeypatch.setattr(earlier, "STUCK", 0.3)
    await publish(publisher, of_slot(1))
    await publish(publisher, of_slot(2, position=Position(1, 0, int(time.time() * 1000) - 10)))
    ask = EarlierEvents(client, PARTITIONS)

    async def moved() -> bool:
        assert await ask.none_earlier([at(1, 1)]) == [False]
        found = await stored_message(client, {"last_by_subj": "ue.0.session.core.8-again"})
        assert found is not None
        return bool(found["seq"] > 2)

    await until(moved)
    assert sum((await events(client)).values()) == 2
