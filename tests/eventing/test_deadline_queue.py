"""Open connections first, then by deadline, each connection in order, and nothing is lost."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream import intake as intake_module
from eventing.jetstream.deadline_queue import DeadlineQueue, is_known, key_of, opens
from eventing.jetstream.delivery import Delivery
from eventing.jetstream.intake import PULL, Backlog, Intake
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from schemas.cloudevents import CloudEvent, EventType
from schemas.origin import Origin
from schemas.procedures import Procedure
from tests.eventing.brokers import until

LIMITS = {"paging": 0.01, "session": 0.1, "registration": 1.0}


class Event(NamedTuple):
    key: str
    procedure: str
    at: float
    """The time of storage in JetStream, in seconds."""
    sequence: int = 1


def delivery(event: Event, number: int = 0) -> Delivery:
    nanoseconds = int(event.at * 1e9)
    reply = f"$JS.ACK.EVCORE.{event.procedure}-0000.1.{number}.{number}.{nanoseconds}.0"
    subject = f"ue.0.{event.procedure}.n2.0"
    headers = {
        "ce-partitionkey": event.key,
        "ce-sequence": str(event.sequence),
        "ce-type": EventType.NGAP_UPLINK,
    }
    return Delivery(subject, b"", headers, reply, 1, f"{event.procedure}-0000")


def deadline(found: Delivery) -> float:
    stored = int(found.reply.split(".")[7]) / 1e9
    return stored + LIMITS[found.subject.split(".")[2]]


def waiting(events: Sequence[Event]) -> DeadlineQueue:
    queue = DeadlineQueue(deadline)
    for number, event in enumerate(events):
        queue.append(delivery(event, number))
    return queue


def emptied(queue: DeadlineQueue) -> list[Delivery]:
    """Take one at a time, so that the queue is sorted."""
    return [found for _ in range(len(queue)) for found in queue.take(1)]


def number(found: Delivery) -> int:
    return int(found.reply.split(".")[5])


def sequence(found: Delivery) -> int:
    return int(found.headers["ce-sequence"])


events = st.builds(
    Event,
    st.sampled_from(["ngap-1", "ngap-2", "tmsi-1", "conn-1", "imsi-1"]),
    st.sampled_from(sorted(LIMITS)),
    st.integers(0, 3000).map(lambda milliseconds: 1e9 + milliseconds / 1000),
    st.integers(0, 1),
)


@given(st.lists(events, max_size=60), st.lists(st.integers(0, 5), max_size=60))
def test_the_order_of_a_connection_is_never_changed(found: list[Event], takes: list[int]) -> None:
    """For any sequence of arrivals and takes; each event comes out exactly once."""
    queue, taken = DeadlineQueue(deadline), list[Delivery]()
    for index, event in enumerate(found):
        queue.append(delivery(event, index))
        if index < len(takes):
            taken += queue.take(takes[index])
        assert sorted(map(number, [*taken, *queue])) == list(range(index + 1))
    taken += emptied(queue)
    assert sorted(map(number, taken)) == list(range(len(found)))
    assert not queue.opening.total()
    for key in {(event.key, event.sequence) for event in found}:
        numbers = [number(one) for one in taken if (key_of(one), sequence(one)) == key]
        assert numbers == sorted(numbers)


@given(st.lists(events, min_size=2, max_size=60))
def test_the_next_is_the_most_urgent_or_what_goes_before_it(found: list[Event]) -> None:
    order = [
        (opens(one), opens(one) and not is_known(key_of(one)), deadline(one), index)
        for index, one in enumerate(map(delivery, found))
    ]
    *_, urgent = min(order)
    (first,) = waiting(found).take(1)
    assert (key_of(first), opens(first)) == (found[urgent].key, opens(delivery(found[urgent])))
    assert number(first) <= urgent


@pytest.mark.parametrize(
    ("connected", "requests", "excess", "expected"),
    [
        (200, 200, 0, (128, 0)),
        (200, 200, 20, (108, 20)),
        (200, 200, 100, (96, 32)),
        (100, 200, 0, (100, 28)),
        (10, 200, 0, (10, 32)),
        (125, 10, 0, (125, 3)),
        (200, 2, 20, (126, 2)),
    ],
)
def test_the_requests_in_a_batch(
    connected: int, requests: int, excess: int, expected: tuple[int, int]
) -> None:
    """They have the room that the others leave, and those to be rejected have a part of it."""
    some = [Event(f"conn-{n}", "registration", 1e9, 0) for n in range(requests)]
    some += [Event(f"ngap-{n}", "registration", 1e9) for n in range(connected)]
    queue = waiting(some)
    taken = queue.take(128, excess)
    assert ([opens(found) for found in taken].count(False), sum(map(opens, taken))) == expected
    assert queue.opening.total() == requests - expected[1]


@pytest.mark.parametrize(
    ("connected", "requests", "excess", "begin", "expected"),
    [
        (10, 20, 0, 20, (10, 20)),
        (10, 20, 0, 5, (10, 5)),
        (10, 20, 0, 0, (10, 0)),
        (0, 20, 0, 0, (0, 0)),
        (10, 20, 8, 5, (10, 8)),
        (200, 20, 0, 20, (128, 0)),
    ],
)
def test_some_requests_may_begin(
    connected: int, requests: int, excess: int, begin: int, expected: tuple[int, int]
) -> None:
    some = [Event(f"conn-{n}", "registration", 1e9, 0) for n in range(requests)]
    some += [Event(f"ngap-{n}", "registration", 1e9) for n in range(connected)]
    taken = waiting(some).take(128, excess, begin)
    assert ([opens(found) for found in taken].count(False), sum(map(opens, taken))) == expected


def test_what_fits_into_a_batch_is_not_sorted() -> None:
    queue = waiting([Event("imsi-1", "paging", 1e9, 0), Event("ngap-1", "session", 1e9)])
    assert [number(found) for found in queue.take(2)] == [0, 1]
    with pytest.raises(IndexError):
        queue.take(1)[0]


@pytest.mark.parametrize(
    ("key", "sequence", "kind", "answer"),
    [
        ("imsi-001010000000001", 0, EventType.NGAP_UPLINK, True),
        ("tmsi-0000000001", 0, EventType.NGAP_UPLINK, True),
        ("conn-a-1", 0, EventType.NGAP_UPLINK, True),
        ("ngap-0000000001", 0, EventType.NGAP_UPLINK, False),
        ("ngap-0000000001", 1, EventType.NGAP_UPLINK, False),
        ("imsi-001010000000001", 0, EventType.PFCP_UPLINK, False),
        ("imsi-001010000000001", None, EventType.TIMER, False),
        ("gnb-1", None, EventType.NGAP_UPLINK, False),
    ],
)
def test_which_events_open_a_connection(
    key: str, sequence: int | None, kind: EventType, answer: bool
) -> None:
    """A path switch has the sequence 0 too: its UE has a connection."""
    headers = {"ce-partitionkey": key, "ce-type": str(kind)}
    if sequence is not None:
        headers["ce-sequence"] = str(sequence)
    alone = Delivery("", b"", headers, "", 1, "")
    in_batch = alone._replace(headers={}, event=CloudEvent("1", "/", kind, key, sequence=sequence))
    assert opens(alone) is opens(in_batch) is answer


BUS = BusConfig(partitions=1)
REGISTRATION = subjects.consumer(0, Procedure.REGISTRATION)


async def flooded(client: Client, requests: int) -> Intake:
    """Return an intake for a consumer with requests, and an event of a connection behind them."""
    await ensure(client, BUS, (Procedure.REGISTRATION, Procedure.PAGING))
    publisher = Publisher(client, BUS.partitions)
    await publisher.start()
    for index in range(requests + 1):
        last = index == requests
        event = CloudEvent(
            id=f"gateway-{index:x}",
            source="/n2/gnb/0",
            type=EventType.NGAP_UPLINK,
            partitionkey="ngap-0000000001" if last else f"conn-{index}",
            procedure=Procedure.REGISTRATION,
            slot=0,
            sequence=int(last),
        )
        await publisher.publish([publisher.outgoing(event)])
    intake = Intake(client)
    await intake.start()
    await intake.consume([REGISTRATION])
    return intake


async def test_an_event_of_a_connection_passes_the_requests_before_it(client: Client) -> None:
    """They are in one consumer, and more than a pull request brings."""
    intake = await flooded(client, 10 * PULL)
    for taken in range(10):
        expected = min(10 * PULL + 1, (taken + 1) * PULL) - taken

        def arrived(count: int = expected) -> bool:
            return intake.waiting >= count

        await until(arrived)
        assert opens(*await intake.take(1))
    await until(lambda: intake.waiting == 10 * PULL + 1 - 10)
    assert not opens(*await intake.take(1))
    await intake.stop()


async def test_requests_are_not_pulled_without_bound(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "AHEAD", 2 * PULL)
    intake = await flooded(client, 10 * PULL)
    most = left = 0
    for _ in range(10 * PULL + 1):
        assert len(await intake.take(1, 10)) == 1
        await client.flush()
        most = max(most, intake.waiting)
        left = max(left, round(sum(intake.backlog())))
    assert most <= 3 * PULL
    assert left >= 8 * PULL, "those that JetStream has are counted"
    assert intake.backlog() == Backlog(0, 0)
    await intake.stop()


async def test_a_flood_of_another_procedure_is_passed(client: Client) -> None:
    """A procedure's consumers are pulled even if another procedure's have reached their limit."""
    await ensure(client, BUS, (Procedure.REGISTRATION, Procedure.PAGING))
    intake = Intake(client, deadline, reads_all=True)
    flood = [Procedure.REGISTRATION] * 500
    for index, procedure in enumerate([*flood, Procedure.PAGING]):
        await client.jetstream().publish(subjects.event(0, procedure, Origin.N2, index), b"")
    await intake.start()
    await intake.consume(subjects.consumer(0, p) for p in (flood[0], Procedure.PAGING))
    await until(lambda: intake.waiting == PULL + 1)
    taken = await intake.take(16)
    assert [found.consumer for found in taken].index("paging-0000") == 0
    assert len(taken) == 16
    await intake.stop()
