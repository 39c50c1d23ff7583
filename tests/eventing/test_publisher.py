"""Publishing: when `publish` returns, the stream has all events, after any failure."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable

import pytest
from nats.aio.client import Client

from eventing.cloudevents.nats_binding import REPEATED
from eventing.jetstream import publisher as publisher_module
from eventing.jetstream.messages import Outgoing
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure, ensure_streams
from schemas.procedures import Procedure
from tests.eventing.brokers import Bus, Stored, event, stored, until

CONFIG = BusConfig(partitions=3)


@pytest.fixture
async def publisher(client: Client) -> Publisher:
    made = Publisher(client, CONFIG.partitions)
    await made.start()
    return made


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the acknowledgement timeout."""
    monkeypatch.setattr(publisher_module, "ACK_TIMEOUT", 0.2)


def messages(publisher: Publisher, numbers: Iterable[int]) -> list[Outgoing]:
    return [publisher.outgoing(event(number)) for number in numbers]


def numbers_of(found: list[Stored]) -> list[int]:
    return [int(message.data.removeprefix(b"pdu ")) for message in found]


def check_repeats(found: list[Stored]) -> None:
    """An event may be in the stream several times; all copies but the first are marked."""
    seen: set[bytes] = set()
    for message in found:
        assert message.data not in seen or message.headers.get(REPEATED) == "1"
        seen.add(message.data)


def test_a_message_is_an_event_on_the_subject_of_its_procedure_and_slot(client: Client) -> None:
    made = Publisher(client, CONFIG.partitions)
    of = event(1, slot=7, procedure=Procedure.DEREGISTRATION)
    assert made.outgoing(of).subject == "ue.1.deregistration.n2.7"
    assert made.outgoing(of).data == of.data
    assert REPEATED not in made.outgoing(of).headers
    assert made.outgoing(of, repeated=True).headers[REPEATED] == "1"
    assert made.outgoing(event(1, slot=None, procedure=None)).subject == "ue.0.registration.n2.0"


async def test_all_are_acknowledged_and_kept_in_order(client: Client, publisher: Publisher) -> None:
    await ensure(client, CONFIG)
    await publisher.publish(messages(publisher, range(500)))
    found = await stored(client)
    assert numbers_of(found) == list(range(500))
    assert not any(REPEATED in message.headers for message in found)


async def test_many_batches_at_once(client: Client, publisher: Publisher) -> None:
    await ensure(client, CONFIG)
    batches = [messages(publisher, range(start, start + 20)) for start in range(0, 400, 20)]
    await asyncio.gather(*map(publisher.publish, batches))
    assert sorted(numbers_of(await stored(client))) == list(range(400))


async def test_nothing_to_publish(publisher: Publisher) -> None:
    await publisher.publish([])


@pytest.mark.usefixtures("_hasty")
async def test_a_frozen_broker_loses_nothing(
    bus: Bus, client: Client, publisher: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(client, CONFIG)
    with bus.frozen():
        work = asyncio.ensure_future(publisher.publish(messages(publisher, range(100))))
        await until(lambda: "again" in caplog.text)
        assert not work.done()
    await work
    found = await stored(client)
    assert list(dict.fromkeys(numbers_of(found))) == list(range(100))
    check_repeats(found)
    assert "publishing 100 event(s) again: no acknowledgement in time" in caplog.text


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("kill", [False, True])
async def test_a_broker_that_restarts_in_the_middle_loses_nothing(
    bus: Bus, client: Client, publisher: Publisher, kill: bool
) -> None:
    await ensure(client, CONFIG)
    work = [
        asyncio.ensure_future(publisher.publish(messages(publisher, range(start, start + 50))))
        for start in range(0, 1000, 50)
    ]
    await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
    await bus.end(kill=kill)
    late = asyncio.ensure_future(publisher.publish(messages(publisher, range(1000, 1100))))
    await until(lambda: not client.is_connected)
    await bus.start()
    await asyncio.gather(*work, late)
    found = await stored(client)
    assert set(numbers_of(found)) == set(range(1100))
    check_repeats(found)


async def test_what_a_lost_connection_took_is_published_again_at_once(
    bus: Bus, client: Client, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for the acknowledgement that will not come."""
    monkeypatch.setattr(publisher_module, "ACK_TIMEOUT", 600.0)
    await ensure(client, CONFIG)
    with bus.frozen():
        work = asyncio.ensure_future(publisher.publish(messages(publisher, range(10))))
        await asyncio.sleep(0)
        await bus.end(kill=True)
    await bus.start()
    async with asyncio.timeout(30):
        await work
    assert set(numbers_of(await stored(client))) == set(range(10))


@pytest.mark.usefixtures("_hasty")
async def test_a_stream_that_is_missing_is_waited_for(
    client: Client, publisher: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    work = asyncio.ensure_future(publisher.publish(messages(publisher, range(3))))
    await until(lambda: "again" in caplog.text)
    assert not work.done()
    await ensure_streams(client, CONFIG)
    await work
    found = await stored(client)
    assert numbers_of(found) == [0, 1, 2]
    assert {message.headers[REPEATED] for message in found} == {"1"}
    warnings = [r for r in caplog.records if r.name == "eventing.jetstream.publisher"]
    assert {r.levelno for r in warnings} == {logging.WARNING}
    assert warnings[0].getMessage() == "publishing 3 event(s) again: JetStream does not answer"


async def test_only_what_is_refused_is_published_again(
    client: Client, publisher: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure(client, CONFIG)
    batch = messages(publisher, range(3))
    headers = {**batch[1].headers, "Nats-Expected-Stream": "ANOTHER"}
    batch[1] = batch[1]._replace(headers=headers)
    work = asyncio.ensure_future(publisher.publish(batch))
    await until(lambda: caplog.text.count("again") >= 2)
    work.cancel()
    await asyncio.wait([work])
    assert work.cancelled()
    assert Counter(numbers_of(await stored(client))) == {0: 1, 2: 1}
    assert "publishing 1 event(s) again: expected stream does not match" in caplog.text


async def test_an_acknowledgement_that_comes_too_late_is_of_no_harm(
    bus: Bus, client: Client, publisher: Publisher
) -> None:
    await ensure(client, CONFIG)
    with bus.frozen():
        before = client.stats["out_msgs"]
        work = asyncio.ensure_future(publisher.publish(messages(publisher, range(20))))
        await until(lambda: client.stats["out_msgs"] == before + 20)
        work.cancel()
        await asyncio.wait([work])
    await publisher.publish(messages(publisher, [20]))
    assert numbers_of(await stored(client)) == list(range(21))
