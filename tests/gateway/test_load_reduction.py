"""The reduction that gNBs are asked for, against a fluid model of the workers and the gNBs."""

import math

import pytest

import wire
from eventing.standing_queue import BURST, PATIENCE, StandingQueue
from eventing.stats import Load, Stats
from gateway.n2.overload import (
    EVERYTHING,
    FRESH,
    LEAST,
    PERIOD,
    LoadReduction,
    overload_start,
)

CAPACITY = 150.0
"""Requests a second that the workers serve."""
TARGET = 1.0


class Model:
    """Workers that serve `CAPACITY` requests a second, and put off what must wait for longer than a
    burst; and gNBs that do as they are asked."""

    def __init__(self, workers: int = 2, estimate: float = 1.0, after: float = TARGET) -> None:
        """`estimate` is the ratio of the reported capacity to the real one."""
        self.now = 0.0
        self.reduction = LoadReduction(after, lambda: self.now)
        self.loads = [Load(capacity=estimate * CAPACITY / workers) for _ in range(workers)]
        self.waiting = 0.0
        self.served = self.put_off = 0.0
        self.waits: list[float] = []
        self.percents: list[int] = []

    def run(self, seconds: float, offered: float, obey: float = 1.0) -> None:
        """Offer some requests a second for some time. `obey` is the share of gNBs that obey."""
        for _ in range(round(seconds / PERIOD)):
            kept = 1 - obey * self.reduction.percent / 100
            self.waiting += offered * kept * PERIOD
            done = min(self.waiting, CAPACITY * PERIOD)
            self.waiting -= done
            self.served += done
            excess = max(0.0, self.waiting - BURST * TARGET * CAPACITY)
            self.waiting -= excess
            self.put_off += excess
            self.now += PERIOD
            for number, load in enumerate(self.loads):
                load.put_off = math.floor(self.put_off / len(self.loads))
                load.admitted = math.floor(self.served / len(self.loads))
                load.requests = self.waiting / len(self.loads)
                stats = Stats(f"w{number}", "1", number, load=load)
                self.reduction.heard(stats)
            self.percents.append(self.reduction.change())
            self.waits.append(self.waiting / CAPACITY)

    def pass_periods(self, count: int) -> None:
        """Let the gateway look again, without a report of a worker."""
        for _ in range(count):
            self.now += PERIOD
            self.reduction.change()


@pytest.mark.parametrize("times", [1.2, 2.0, 4.0, 20.0])
@pytest.mark.parametrize("estimate", [0.7, 1.0, 1.3])
def test_workers_are_busy_and_the_queue_is_short(times: float, estimate: float) -> None:
    model = Model(estimate=estimate)
    model.run(10, times * CAPACITY)
    served, begun = model.served, len(model.waits)
    model.run(50, times * CAPACITY)
    assert model.served - served >= 0.95 * 50 * CAPACITY
    assert max(model.waits[begun:]) <= 2.0
    assert all(1 <= percent <= 99 for percent in model.percents[begun:])


def test_it_ends_with_the_overload() -> None:
    model = Model()
    model.run(20, 4 * CAPACITY)
    model.run(5, 0.5 * CAPACITY)
    assert model.percents[-1] == 0
    before = model.served
    model.run(10, 0.9 * CAPACITY)
    assert model.served - before == pytest.approx(0.9 * 10 * CAPACITY, rel=0.05)
    assert set(model.percents[-20:]) == {0}


@pytest.mark.parametrize("times", [0.5, 0.9, 1.0])
def test_gnbs_are_asked_for_nothing_without_overload(times: float) -> None:
    model = Model()
    model.run(60, times * CAPACITY)
    assert set(model.percents) == {0}


def test_a_pause_of_the_reports_is_no_measurement() -> None:
    """While a store stalls, workers say nothing, and nothing is known of what they can serve."""
    model = Model()
    model.run(4, 1.0 * CAPACITY)
    model.waiting = 0.3 * CAPACITY
    model.run(1, 1.0 * CAPACITY)
    wait = model.reduction.wait
    assert wait == pytest.approx(0.3, rel=0.2)
    model.pass_periods(5)
    assert (model.reduction.wait, model.reduction.percent) == (wait, 0)


def test_a_short_burst_is_absorbed() -> None:
    model = Model()
    model.run(0.5, 2 * CAPACITY)
    model.run(20, 0.5 * CAPACITY)
    assert set(model.percents) == {0}


def test_a_burst_that_fills_the_queue_is_over_soon() -> None:
    model = Model()
    model.run(1.0, 2 * CAPACITY)
    model.run(20, 0.5 * CAPACITY)
    asked = [percent for percent in model.percents if percent]
    assert 1 <= len(asked) <= 2.0 / PERIOD
    assert model.percents[-1] == 0


def test_gnbs_that_do_not_obey_are_asked_for_all_there_is() -> None:
    model = Model()
    model.run(20, 2 * CAPACITY, obey=0.0)
    assert model.percents[-1] == 99
    assert model.reduction.share == LEAST


def test_half_of_the_gnbs_obey() -> None:
    model = Model()
    model.run(60, 1.5 * CAPACITY, obey=0.5)
    assert max(model.waits[40:]) <= 2.0
    assert 40 <= model.percents[-1] <= 90


def test_it_ends_when_the_workers_report_nothing() -> None:
    """They have ended, or are idle: whether the core is overloaded is not known."""
    model = Model()
    model.run(10, 4 * CAPACITY)
    assert model.reduction.percent > 0
    model.now += FRESH + PERIOD
    model.pass_periods(8)
    assert model.reduction.percent == 0


def test_a_worker_that_has_ended_does_not_count() -> None:
    model = Model(workers=1)
    model.run(10, 4 * CAPACITY)
    model.reduction.heard(Stats("w0", "1", 0, ended=True))
    model.pass_periods(8)
    assert model.reduction.percent == 0


def test_it_can_be_switched_off() -> None:
    model = Model(after=0.0)
    model.run(20, 4 * CAPACITY)
    assert set(model.percents) == {0}


# The messages


@pytest.mark.parametrize("percent", [1, 50, 99])
def test_emergencies_and_priority_are_spared(percent: int) -> None:
    first, second = wire.ngap_decode(overload_start(percent))["ies"]
    assert first["AMFOverloadResponse"] == {"overloadAction": "reject-rrc-cr-signalling"}
    assert second["AMFTrafficLoadReductionIndication"] == percent


def test_while_nothing_is_read_there_is_no_percentage() -> None:
    (only,) = wire.ngap_decode(overload_start(EVERYTHING))["ies"]
    action = "permit-emergency-sessions-and-mobile-terminated-services-only"
    assert only["AMFOverloadResponse"] == {"overloadAction": action}


# The queue


def test_a_queue_stands_if_it_is_long_for_long() -> None:
    queue = StandingQueue(TARGET)
    assert not queue.look(0.0, 1.1)
    assert not queue.look(PATIENCE - 0.1, 1.4)
    assert queue.look(PATIENCE, 1.1)
    assert queue.look(PATIENCE + 0.1, 0.6), "it ends at half of the target"
    assert not queue.look(PATIENCE + 0.2, 0.4)


def test_a_queue_that_waited_for_jetstream_has_its_patience_anew() -> None:
    queue = StandingQueue(TARGET)
    assert not queue.look(0.0, 1.1)
    assert not queue.look(9.0, 5.0, patient=True), "the outage does not count"
    assert not queue.look(9.0 + PATIENCE - 0.1, 5.0, patient=True)
    assert queue.look(9.0 + PATIENCE, 5.0, patient=True)
    assert not queue.look(13.0, 0.1, patient=True)
    assert not queue.look(13.1, 1.1, patient=True), "it is no sign of a load"
    assert queue.look(13.2, 1.1), "it stood lately"


def test_a_queue_that_was_short_for_a_moment_is_a_new_one() -> None:
    queue = StandingQueue(TARGET)
    for second in range(20):
        assert not queue.look(second, 1.4 if second % 2 else 0.9)


def test_a_queue_that_is_too_long_for_a_burst_stands_at_once() -> None:
    assert StandingQueue(TARGET).look(0.0, BURST * TARGET)
    assert not StandingQueue(0.0).look(0.0, 1000.0)
