"""The statistics of a worker, and when it publishes them."""

import asyncio
import time
from pathlib import Path

import pytest
from nats.aio.client import Client

from eventing.jetstream.delivery import Delivery
from eventing.stats import Batches, Stats, StatsWatch, quantile
from functions.runtime import meter
from functions.runtime.meter import Meter, age_of_process
from schemas.cloudevents import CloudEvent
from schemas.step import Step
from tests.servers import nats_client

STEP = Step[object](
    seq=1,
    at=0,
    procedure="service-request",
    code="1.0",
    trigger=CloudEvent("1", "/n2/gnb/0", "x", "ue/1", b""),
    entropy=b"",
    network="",
    events=(),
    outputs=(),
)


def delivered(seconds_ago: float) -> Delivery:
    stored = time.time_ns() - int(seconds_ago * 1e9)
    reply = f"$JS.ACK.EVCORE.registration-0003.1.1234.567.{stored}.0"
    return Delivery("ue.3.registration.n2.19", b"", {}, reply, 1, "registration-0003")


async def test_statistics_are_published_on_request(tmp_path: Path) -> None:
    """Also those of a worker that has done nothing since."""
    heard: asyncio.Queue[Stats] = asyncio.Queue()
    async with nats_client(tmp_path) as client:
        watch = StatsWatch(heard.put_nowait)
        await watch.start(client)
        reporting = asyncio.create_task(Meter(client, "w", "2").report())
        while heard.empty():
            await watch.request(client)
            await asyncio.sleep(0.01)
        assert (await heard.get()).worker == "w"
        reporting.cancel()


@pytest.mark.parametrize("waited", [True, False])
async def test_a_worker_says_often_what_it_serves_when_requests_have_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: bool
) -> None:
    """Without a report it seems to have served nothing, and gateways act on that."""
    monkeypatch.setattr(meter, "SOON", 0.01)
    monkeypatch.setattr(meter, "PERIOD", 5.0)
    monkeypatch.setattr(meter, "LATELY", 60.0)
    heard: asyncio.Queue[Stats] = asyncio.Queue()
    async with nats_client(tmp_path) as client:
        watch = StatsWatch(heard.put_nowait)
        await watch.start(client)
        counts = Meter(client, "w", "2")
        counts.load.requests = 1.0 if waited else 0.0
        counts.decided(STEP, delivered(0.0))
        reporting = asyncio.create_task(counts.report())
        await heard.get()
        counts.load.requests = 0.0
        counts.decided(STEP, delivered(0.0))
        try:
            if waited:
                await asyncio.wait_for(heard.get(), 2.0)
            else:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(heard.get(), 0.2)
        finally:
            reporting.cancel()


async def test_numbers_of_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "PERIOD", 0.01)
    heard: asyncio.Queue[Stats] = asyncio.Queue()
    async with nats_client(tmp_path) as client:
        watch = StatsWatch(heard.put_nowait)
        await watch.start(client)
        counts = Meter(client, "w", "2")
        counts.decided(STEP, delivered(0.05))
        counts.decided(STEP, delivered(0.05), rejected=True)
        counts.passed(delivered(0.0)._replace(reply="not a delivery's"))
        counts.failed(delivered(0.0))
        counts.batch_done(0.25, 3, 2)
        reporting = asyncio.create_task(counts.report())
        said = await heard.get()
        assert (said.worker, said.version) == ("w", "2")
        assert said.batches == Batches(1, 3, 0.25, 9, 0.75, 2)
        decided, passed = said.procedures
        assert (decided.procedure, decided.version) == ("service-request", "1.0")
        assert (decided.steps, decided.failures, decided.rejects) == (2, 0, 1)
        p99 = quantile(decided.latency, 0.99)
        assert p99 is not None
        assert 0.05 <= p99 < 0.5
        assert (passed.procedure, passed.version) == ("registration", "")
        assert (passed.steps, passed.failures, passed.latency) == (1, 1, {})
        assert said.cold_start is not None
        assert not said.ended

        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)
        assert heard.empty(), "it says nothing where nothing has changed"
        await counts.report_end()
        assert (await heard.get()).ended


def test_what_came_concealed_is_counted_and_not_timed() -> None:
    """The identification in between delayed it, not the procedure."""
    counts = Meter(Client(), "w", "2")
    delivery = delivered(0.05)._replace(consumer="identification-0003")
    counts.decided(STEP, delivery)
    counts.failed(delivery, "service-request")
    first, decided, failed = counts.stats().procedures
    assert (first.procedure, first.steps, sum(first.latency.values())) == ("identification", 1, 1)
    assert (decided.procedure, decided.version) == ("service-request", "1.0")
    assert (decided.steps, decided.latency) == (1, {})
    assert (failed.procedure, failed.failures) == ("service-request", 1)


def test_the_age_of_a_process() -> None:
    first = age_of_process()
    assert 0 < first < time.clock_gettime(time.CLOCK_BOOTTIME)


async def test_a_stall_is_no_cost(tmp_path: Path) -> None:
    """Otherwise a worker would put off requests after an outage of its broker."""
    async with nats_client(tmp_path) as client:
        found = Meter(client, "w", "2")
        for _ in range(50):
            found.batch_done(0.01, 10, 10)
        for _ in range(50):
            found.batch_done(0.2, 10, 10, typical=False)
        assert found.cost == pytest.approx(0.001)
        found.batch_done(9.0, 10, 10)
        assert found.cost == pytest.approx(0.001, rel=0.2)
        assert found.stats().batches.seconds == pytest.approx(19.5), "they are counted"
        for _ in range(100):
            found.batch_done(2.0, 200, 200)
        assert found.cost == pytest.approx(0.01, rel=0.1), "but batches that are slow for long are"


async def test_the_cost_of_called_events_is_that_of_their_batches(tmp_path: Path) -> None:
    """A worker takes larger batches, so the cost of its events is less."""
    async with nats_client(tmp_path) as client:
        found = Meter(client, "w", "2")
        assert found.cost_behind is None
        for events in (1, 2, 4, 8) * 5:
            found.batch_done(0.01 + 0.001 * events, events, events)
        assert found.cost_behind == found.cost == pytest.approx(0.001 + 0.01 / 128)
        for _ in range(100):
            found.behind(0.02, 10)
        assert found.cost_behind == pytest.approx(0.002)
        for _ in range(100):
            found.behind(0.01, 10)
        assert found.cost_behind == pytest.approx(0.001, rel=0.02)
        assert found.cost == pytest.approx(0.001 + 0.01 / 128), "of all batches"
