"""The deliveries of a worker without a bus, and late deliveries."""

import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from eventing.jetstream.delivery import Delivery
from eventing.jetstream.messages import Addressed, outgoing
from eventing.jetstream.streams import BusConfig
from functions.runtime.job import Job
from functions.runtime.work import Work
from schemas.step import Step
from tests.functions.world import HOME_KEYS
from tests.runtime.deciders import PARTITIONS, Bench, decider
from tests.runtime.script import GNB_AGGREGATE, lives
from tests.runtime.store import Store, opened

LIVES = lives()


class RecordingFinisher:
    """Records the outcome of each event. Unexpected outcomes raise."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.appended: list[str] = []

    async def steps(self, done: Sequence[tuple[Job, Step[object]]]) -> None:
        self.appended += [job.aggregate for job, _ in done]

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        assert not done

    async def wake(self, job: Job) -> None:
        raise NotImplementedError

    async def ack(self, delivery: Delivery) -> None:
        self.acknowledged.append(delivery.reply)

    async def retry(self, job: Job, after: float) -> None:
        raise NotImplementedError

    async def keep(self, delivery: Delivery, reason: str) -> None:
        raise NotImplementedError

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        raise NotImplementedError


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    made = await opened(tmp_path, LIVES)
    yield made
    await made.close()


@pytest.mark.parametrize("stood", ["never", "before", "since"])
async def test_what_had_come_when_it_stood_still_may_have_been_anothers(
    store: Store, stood: str
) -> None:
    """Another worker has processed the last message of a connection, which released it."""
    bench, worker = Bench(store), await decider(store, LIVES)
    for event in LIVES.outside[:8]:
        await bench.take(worker, event)
    finisher, stored = RecordingFinisher(), time.time() - 60
    work = Work(
        await decider(store, LIVES),
        store.log,
        finisher,
        BusConfig(partitions=PARTITIONS),
        HOME_KEYS,
        stopping=lambda: False,
    )
    if stood != "never":
        work.suspended(stored - 1 if stood == "before" else stored + 1)
    subject, data, headers = outgoing(LIVES.outside[7], PARTITIONS)
    reply = f"$JS.ACK.EVENTS.an-release-0001.1.12.7.{int(stored * 1e9)}.4"
    await work.run([Delivery(subject, data, headers, reply, 1, "an-release-0001")])
    if stood == "since":
        assert (finisher.acknowledged, finisher.appended) == ([reply], [])
    else:
        assert (finisher.acknowledged, finisher.appended) == ([], [GNB_AGGREGATE])
