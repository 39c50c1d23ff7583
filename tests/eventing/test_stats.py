"""Histograms that can be added and subtracted, and the statistics of workers on the bus."""

import asyncio
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventing import stats, subjects
from eventing.stats import (
    Batches,
    ProcedureStats,
    Stats,
    StatsWatch,
    between,
    bound_of,
    bucket_of,
    quantile,
)
from tests.servers import nats_client

batches = st.lists(st.tuples(st.floats(1e-4, 0.5), st.integers(1, 128)), max_size=20)
latencies = st.lists(st.floats(1e-6, 800.0), min_size=1, max_size=50)


def histogram(seconds: list[float]) -> dict[int, int]:
    found: dict[int, int] = {}
    for one in seconds:
        found[bucket_of(one)] = found.get(bucket_of(one), 0) + 1
    return found


@given(st.floats(1e-6, 800.0))
def test_a_latency_is_within_its_bucket(seconds: float) -> None:
    bucket = bucket_of(seconds)
    assert seconds <= bound_of(bucket) * (1 + 1e-9)
    assert bucket == 0 or seconds > bound_of(bucket - 1) * (1 - 1e-9)


@given(latencies, st.sampled_from((0.5, 0.9, 0.99, 1.0)))
def test_a_quantile_is_never_too_low_and_a_fifth_too_high_at_most(
    seconds: list[float], share: float
) -> None:
    exact = sorted(seconds)[max(0, math.ceil(share * len(seconds) - 1e-9) - 1)]
    found = quantile(histogram(seconds), share)
    assert found is not None
    assert exact <= found * (1 + 1e-9)
    assert found <= max(exact * 2**0.25, stats.SHORTEST) * (1 + 1e-9)


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.99) is None
    assert quantile({4: 0}, 0.99) is None


@given(latencies, latencies)
def test_what_came_between_is_the_difference_of_two_sums(
    first: list[float], second: list[float]
) -> None:
    before = ProcedureStats("paging", "1", len(first), 1, histogram(first))
    after = ProcedureStats("paging", "1", len(first), 1, histogram(first))
    after.merge(ProcedureStats("paging", "1", len(second), 2, histogram(second)))
    key = ("paging", "1")
    (found,) = between({key: before}, {key: after}).values()
    assert found == ProcedureStats("paging", "1", len(second), 2, histogram(second))


def worker(name: str, version: str, steps: int) -> Stats:
    return Stats(name, version, 1, (ProcedureStats("ran", version, steps, 0, {3: steps}),))


def test_the_last_word_of_a_worker_counts() -> None:
    watch = StatsWatch()
    for one in (worker("a", "1", 1), worker("b", "1", 10), worker("a", "1", 5)):
        watch.note(one)
    assert watch.totals()["ran", "1"] == ProcedureStats("ran", "1", 15, 0, {3: 15})


def test_versions_are_told_apart() -> None:
    watch = StatsWatch()
    watch.note(worker("a", "1", 1))
    watch.note(worker("b", "2", 10))
    assert watch.totals("2") == {("ran", "2"): ProcedureStats("ran", "2", 10, 0, {3: 10})}


def test_workers_of_long_ago_stay_in_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "KEPT", 2)
    watch = StatsWatch()
    for number in range(10):
        watch.note(worker(f"w{number}", str(number % 2), 1))
    assert len(watch.workers) == 2
    assert watch.totals("0")["ran", "0"].steps == 5
    assert watch.totals("1")["ran", "1"].steps == 5


async def test_they_are_heard_on_the_bus(tmp_path: Path) -> None:
    heard: asyncio.Queue[Stats] = asyncio.Queue()
    async with nats_client(tmp_path) as client:
        watch = StatsWatch(heard.put_nowait)
        await watch.start(client)
        await client.publish(subjects.stats("x"), b"{what")
        said = worker("w", "1", 3)
        await client.publish(subjects.stats("w"), msgspec.json.encode(said))
        assert await heard.get() == said
        assert heard.empty()
        await watch.stop()


def counted(found: list[tuple[float, int]]) -> Batches:
    sums = Batches()
    for seconds, events in found:
        sums.add(seconds, events, 1)
    return sums


@given(st.floats(0.0, 0.01), st.floats(1e-5, 0.01), st.lists(st.integers(1, 128), min_size=2))
def test_what_a_batch_costs_by_itself_is_told_from_its_events(
    whole: float, each: float, sizes: list[int]
) -> None:
    sums = counted([(whole + each * size, size) for size in sizes])
    mean = sums.seconds / sums.events
    found = sums.cost(128)
    assert found is not None
    if sums.count * sums.squares - sums.events**2 >= sums.events**2 / 100:
        slope = max(mean / 4, each)
        rest = (sums.seconds - slope * sums.events) / sums.count
        assert found == pytest.approx(slope + rest / 128, rel=0.01)
    else:
        assert found == pytest.approx(mean)


@given(batches)
def test_a_cost_is_between_a_quarter_of_the_mean_and_the_mean(
    found: list[tuple[float, int]],
) -> None:
    sums = counted(found)
    cost = sums.cost(128)
    if not found:
        assert cost is None
        return
    mean = sums.seconds / sums.events
    assert cost is not None
    assert mean / 4 * (1 - 1e-9) <= cost <= mean * (1 + 1e-9)


@given(batches, batches)
def test_batches_are_added_and_taken_off(
    first: list[tuple[float, int]], second: list[tuple[float, int]]
) -> None:
    both = counted(first).plus(counted(second))
    assert (both.count, both.events) == (
        len(first) + len(second),
        sum(n for _, n in first + second),
    )
    left = both.plus(counted(second), -1.0)
    assert left.products == pytest.approx(counted(first).products, abs=1e-9)
    assert left.messages == len(first)


def test_events_that_come_in_a_message() -> None:
    assert Batches().per_message == 1
    assert Batches(events=10, messages=20).per_message == 1, "the last of a message may come later"
    assert counted([(0.1, 6), (0.1, 2)]).per_message == 4


def test_the_share_of_those_that_took_longer() -> None:
    found = histogram([0.001] * 3 + [0.1])
    assert stats.share_above(found, 0.05) == 0.25
    assert stats.share_above(found, 0.5) == 0.0
    assert stats.share_above({}, 0.5) == 0.0
