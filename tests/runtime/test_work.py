"""The deliveries of a worker without a bus, and late deliveries."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from eventing.jetstream.delivery import Delivery
from eventing.jetstream.earlier import Waiting
from eventing.jetstream.messages import Addressed, outgoing
from eventing.jetstream.streams import BusConfig
from functions.runtime import work as work_module
from functions.runtime.job import Job
from functions.runtime.round import Decider
from functions.runtime.work import REST, Work
from schemas.cloudevents import CloudEvent
from schemas.step import Step
from tests.functions.world import HOME_KEYS
from tests.runtime.deciders import PARTITIONS, Bench, decider, nothing_earlier
from tests.runtime.script import GNB_AGGREGATE, lives
from tests.runtime.store import Store, opened

LIVES = lives()


class RecordingFinisher:
    """Records the outcome of each event. Unexpected outcomes raise."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.appended: list[str] = []
        self.given_back: list[tuple[str, float]] = []

    async def steps(self, done: Sequence[tuple[Job, Step[object]]]) -> None:
        self.appended += [job.aggregate for job, _ in done]

    async def send_unsent(self, unsent: Sequence[tuple[str, Step[object]]]) -> None:
        pass

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        assert not done

    async def wake(self, job: Job) -> None:
        raise NotImplementedError

    async def ack(self, delivery: Delivery) -> None:
        self.acknowledged.append(delivery.reply)

    async def retry(self, job: Job, after: float) -> None:
        self.given_back.append((job.event.id, after))

    async def keep(self, delivery: Delivery, reason: str) -> None:
        raise NotImplementedError

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        raise NotImplementedError


def work_of(
    decider: Decider,
    store: Store,
    finisher: RecordingFinisher,
    none_earlier: Callable[[Sequence[Waiting]], Awaitable[list[bool]]],
) -> Work:
    """Return what a worker does with its deliveries."""
    bus = BusConfig(partitions=PARTITIONS)
    return Work(decider, store.log, finisher, bus, HOME_KEYS, lambda: False, none_earlier)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    made = await opened(tmp_path, LIVES)
    yield made
    await made.close()


@pytest.mark.parametrize("stood", ["never", "before", "since"])
async def test_what_had_come_when_it_stood_still_may_have_been_anothers(
    store: Store, stood: str
) -> None:
    """Another worker has processed the last message of a connection, which the UE has forgotten."""
    bench, worker = Bench(store), await decider(store, LIVES)
    for event in LIVES.outside[:8]:
        await bench.take(worker, event)
    finisher, stored = RecordingFinisher(), time.time() - 60
    work = work_of(await decider(store, LIVES), store, finisher, nothing_earlier)
    if stood != "never":
        work.suspended(stored - 1 if stood == "before" else stored + 1)
    forgotten = replace(LIVES.outside[7], partitionkey="ngap-0000000001")
    subject, data, headers = outgoing(forgotten, PARTITIONS)
    reply = f"$JS.ACK.EVENTS.an-release-0001.1.12.7.{int(stored * 1e9)}.4"
    await work.run([Delivery(subject, data, headers, reply, 1, "an-release-0001")])
    if stood == "since":
        assert (finisher.acknowledged, finisher.appended) == ([reply], [])
    else:
        assert (finisher.acknowledged, finisher.appended) == ([], [GNB_AGGREGATE])


async def test_only_what_waits_is_reported_as_in_progress(store: Store) -> None:
    """The acknowledgement of the other event may be lost: its redelivery must not be put off while
    the stream is asked for the events before an early one."""
    bench, worker = Bench(store), await decider(store, LIVES)
    for event in LIVES.outside[:4]:
        await bench.take(worker, event)
    active: list[list[str]] = []

    async def first(waiting: Sequence[Waiting]) -> list[bool]:
        active.append([job.event.id for job in work.active])
        return [True for _ in waiting]

    work = work_of(await decider(store, LIVES), store, RecordingFinisher(), first)
    decided, early = LIVES.outside[4], LIVES.outside[6]
    await work.run([_delivery(event, 12 + i) for i, event in enumerate((decided, early))])
    assert active == [[early.id]]
    assert work.active == []


async def test_looks_leave_time_for_decisions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a backlog many events are early, and to ask the stream for each takes long."""
    bench, worker = Bench(store), await decider(store, LIVES)
    for event in LIVES.outside[:4]:
        await bench.take(worker, event)
    now, looks = 1000.0, list[float]()
    monkeypatch.setattr(work_module.time, "monotonic", lambda: now)

    async def slow(waiting: Sequence[Waiting]) -> list[bool]:
        nonlocal now
        looks.append(now)
        now += 0.1
        return [False for _ in waiting]

    work = work_of(await decider(store, LIVES), store, RecordingFinisher(), slow)
    await work.run([_delivery(LIVES.outside[6], 12)], backlog=True)
    for _ in range(3):
        pause = work.pause
        assert pause == pytest.approx(0.1 * REST)
        await work.run([], backlog=True)
        assert len(looks) == 1, "it is too early"
        now += pause or 0.0
        await work.run([], backlog=True)
        assert looks.pop(0) + 0.1 * (1 + REST) == pytest.approx(looks[0])
    now += work.pause or 0.0
    await work.run([])
    assert work.pause is not None
    assert work.pause < 0.1 * REST, "without a backlog it looks again soon"


async def test_many_early_events_of_one_ue_do_not_keep_new_deliveries_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile gNB repeats the request of one UE. Each opens a connection while the UE has one, so
    each waits for its turn, and each look asks the stream."""
    bench, worker = Bench(store), await decider(store, LIVES)
    for event in LIVES.outside[:4]:
        await bench.take(worker, event)
    first = next(event for event in LIVES.outside[:4] if event.sequence == 0)
    now, looks = 1000.0, list[float]()
    monkeypatch.setattr(work_module.time, "monotonic", lambda: now)

    async def slow(waiting: Sequence[Waiting]) -> list[bool]:
        nonlocal now
        looks.append(now)
        now += 0.1
        return [True for _ in waiting]

    finisher = RecordingFinisher()
    work = work_of(await decider(store, LIVES), store, finisher, slow)
    copies = [replace(first, id=f"copy-{number}", position=None) for number in range(10)]
    await work.run([_delivery(event, 100 + n) for n, event in enumerate(copies)])
    assert len(looks) == 1, "then it takes what has come meanwhile"
    assert work.pause is not None
    for _ in range(50):
        now += work.pause or 0.0
        await work.run([])
    assert len(finisher.appended) == len(copies)
    assert work.held == []


def _delivery(event: CloudEvent, sequence: int) -> Delivery:
    subject, data, headers = outgoing(event, PARTITIONS)
    reply = f"$JS.ACK.EVENTS.consumer.1.{sequence}.7.{time.time_ns()}.4"
    return Delivery(subject, data, headers, reply, 1, "consumer")
