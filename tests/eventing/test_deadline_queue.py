"""Urgent events first, each UE in order, and no event waits for ever."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.deadline_queue import DeadlineQueue
from eventing.jetstream.delivery import Delivery
from eventing.jetstream.intake import PULL, Intake
from eventing.jetstream.streams import BusConfig, ensure
from schemas.procedures import Procedure
from tests.eventing.brokers import until

OBJECTIVES = {"paging": 0.01, "session": 0.1, "registration": 1.0}


class Event(NamedTuple):
    slot: int
    procedure: str
    at: float
    """The time of storage in JetStream, in seconds."""


def delivery(event: Event, number: int = 0) -> Delivery:
    nanoseconds = int(event.at * 1e9)
    reply = f"$JS.ACK.EVCORE.{event.procedure}-0000.1.{number}.{number}.{nanoseconds}.0"
    subject = f"ue.0.{event.procedure}.{event.slot}"
    return Delivery(subject, b"", {}, reply, 1, f"{event.procedure}-0000")


def objective(found: Delivery) -> float:
    return OBJECTIVES[found.subject.split(".")[2]]


def waiting(events: Sequence[Event]) -> DeadlineQueue:
    queue = DeadlineQueue(objective)
    for number, event in enumerate(events):
        queue.append(delivery(event, number))
    return queue


def emptied(queue: DeadlineQueue) -> list[Delivery]:
    return [queue.popleft() for _ in range(len(queue))]


def number(found: Delivery) -> int:
    return int(found.reply.split(".")[5])


def slot(found: Delivery) -> str:
    return found.subject.split(".")[3]


events = st.builds(
    Event,
    st.integers(0, 5),
    st.sampled_from(sorted(OBJECTIVES)),
    st.integers(0, 3000).map(lambda milliseconds: 1e9 + milliseconds / 1000),
)


@given(st.lists(events, max_size=60), st.lists(st.booleans(), max_size=60))
def test_the_order_of_a_ue_is_never_changed(found: list[Event], takes: list[bool]) -> None:
    """For any sequence of arrivals and takes; each event comes out exactly once."""
    queue, taken = DeadlineQueue(objective), list[Delivery]()
    for index, event in enumerate(found):
        queue.append(delivery(event, index))
        if index < len(takes) and takes[index]:
            taken.append(queue.popleft())
    taken += emptied(queue)
    assert sorted(map(number, taken)) == list(range(len(found)))
    for one in range(6):
        numbers = [number(d) for d in taken if slot(d) == str(one)]
        assert numbers == sorted(numbers)


@given(st.lists(events, min_size=1, max_size=60))
def test_the_next_is_the_most_urgent_or_what_goes_before_it(found: list[Event]) -> None:
    deadlines = [event.at + OBJECTIVES[event.procedure] for event in found]
    urgent = min(range(len(found)), key=lambda index: (deadlines[index], index))
    queue = waiting(found)
    first = queue.popleft()
    assert slot(first) == str(found[urgent].slot)
    assert number(first) <= urgent


@given(st.integers(1, 200))
def test_an_event_is_not_overtaken_for_ever(count: int) -> None:
    """Only events stored before its deadline is nearer than their objective go first."""
    queue = waiting([Event(0, "registration", 1e9)])
    for index in range(count):
        queue.append(delivery(Event(1, "paging", 1e9 + index / 10), index + 1))
    taken = [slot(found) for found in emptied(queue)]
    assert taken.index("0") == min(count, 10)


def test_what_waits_can_be_looked_at() -> None:
    queue = waiting([Event(1, "paging", 1e9), Event(2, "session", 1e9), Event(1, "session", 1e9)])
    assert sorted(map(number, queue)) == [0, 1, 2]
    assert len(queue) == 3
    emptied(queue)
    assert (len(queue), list(queue)) == (0, [])
    with pytest.raises(IndexError):
        queue.popleft()


async def test_a_flood_of_another_procedure_is_passed(client: Client) -> None:
    """A procedure's consumers are pulled even if another procedure's have reached their limit."""
    await ensure(client, BusConfig(partitions=1), (Procedure.REGISTRATION, Procedure.PAGING))
    intake = Intake(client, objective)
    flood = [Procedure.REGISTRATION] * 500
    for index, procedure in enumerate([*flood, Procedure.PAGING]):
        await client.jetstream().publish(subjects.event(0, procedure, index), b"")
    await intake.start()
    await intake.consume(subjects.consumer(0, p) for p in (flood[0], Procedure.PAGING))
    await until(lambda: intake.waiting == PULL + 1)
    taken = await intake.take(16)
    assert [found.consumer for found in taken].index("paging-0000") == 0
    assert len(taken) == 16
    await intake.stop()
