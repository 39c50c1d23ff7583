"""The number of workers by queue lengths, arrivals, service times and objectives."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evcore.local.forecast import AHEAD, UTILISATION, Arrivals, Forecast
from evcore.local.lag import Queue
from eventing.stats import Batches, Stats
from schemas.config.objectives import RELAXED, Objectives

costs = st.floats(1e-4, 0.01)
waits = st.integers(0, 10_000)
running = st.integers(0, 8)


def said(worker: str, cost: float, batches: int) -> Stats:
    """Return the statistics of a worker after batches of one size."""
    return Stats(worker, "1", 1, batches=Batches(batches, 100 * batches, 100 * batches * cost))


def forecast(cost: float, **objectives: float) -> Forecast:
    found = Forecast(("paging", "registration"), Objectives(objectives))
    found.served([said("w", cost, 10)])
    return found


def waiting(found: Forecast, **queues: int) -> None:
    """Set the waiting messages of a forecast, with no arrivals for a long time."""
    for now in (0.0, 1000.0):
        found.look(now, {name: Queue(count, count) for name, count in queues.items()})


def test_nothing_is_predicted_before_anything_is_measured() -> None:
    found = Forecast(("paging",), Objectives({"paging": 0.1}))
    waiting(found, paging=50)
    assert found.service_time is None
    assert found.workers(1) is None
    found.served([Stats("w", "1", 1)])
    assert found.workers(1) is None


@given(waits, running, costs, st.integers(1, 16))
def test_a_message_counts_as_the_events_that_are_in_one(
    paging: int, workers: int, cost: float, each: int
) -> None:
    found, other = forecast(cost, paging=0.05), Forecast(("paging",), Objectives({"paging": 0.05}))
    sums = Batches(10, 1000, 1000 * cost, messages=1000 / each)
    other.served([Stats("w", "1", 1, batches=sums)])
    waiting(found, paging=paging * each)
    waiting(other, paging=paging)
    assert other.workers(workers) == found.workers(workers)


@given(waits, waits, running, costs)
def test_what_waits_is_done_with_in_time(
    paging: int, registration: int, workers: int, cost: float
) -> None:
    """The predicted workers process each class within its objective, and fewer do not."""
    found = forecast(cost, paging=0.05)
    waiting(found, paging=paging, registration=registration)
    wanted = found.workers(workers)
    assert wanted is not None
    ahead = workers / cost * AHEAD  # processed by the other workers by then
    needs = [
        max(0.0, paging - ahead) * cost / 0.05,
        max(0.0, paging + registration - ahead) * cost / RELAXED,
    ]
    assert wanted >= max(needs) - 1e-6
    assert wanted <= max(1, math.ceil(max(needs) + 1e-6))
    assert (wanted == 0) == (not paging and not registration)


@given(waits, waits, running, costs)
def test_more_waiting_never_wants_fewer(less: int, more: int, workers: int, cost: float) -> None:
    found, other = forecast(cost, paging=0.05), forecast(cost, paging=0.05)
    waiting(found, paging=min(less, more))
    waiting(other, paging=max(less, more))
    first, second = found.workers(workers), other.workers(workers)
    assert first is not None
    assert second is not None
    assert first <= second


def test_what_has_no_short_objective_may_wait_longer() -> None:
    found = forecast(0.001, paging=0.01)
    waiting(found, registration=500)
    assert found.workers(0) == 1
    waiting(found, paging=500)
    assert found.workers(0) == 50


def test_enough_for_what_comes_though_little_waits() -> None:
    found = forecast(0.002, paging=0.1)
    for second in range(60):
        found.look(second, {"paging": Queue(1, 1000 * second)})
    assert found.workers(2) == math.ceil(1000 * 0.002 / UTILISATION)


def test_what_an_event_costs_is_that_of_late() -> None:
    found = Forecast(("paging",), Objectives())
    for second in range(1, 40):
        found.served([said("a", 0.01, second)])
    assert found.service_time == pytest.approx(0.01)
    for second in range(1, 40):
        found.served([said("b", 0.001, second)])
    assert found.service_time == pytest.approx(0.001, rel=0.01)


@given(st.floats(1.0, 5000.0))
def test_a_steady_rate_is_found(rate: float) -> None:
    arrivals = Arrivals()
    for second in range(200):
        arrivals.look(second / 2, round(rate * second / 2))
    assert arrivals.coming(1.0) == pytest.approx(rate, rel=0.1, abs=2.0)


def test_a_rise_is_foreseen_and_a_fall_is_not_hoped_for() -> None:
    rising = Arrivals()
    for second in range(20):
        rising.look(second, 50 * second * second)
    assert rising.coming(1.0) > rising.rate > 0
    for second in range(20, 30):
        rising.look(second, 50 * 19 * 19)
    assert rising.coming(1.0) == rising.rate
    assert rising.rate < 50
