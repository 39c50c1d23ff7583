"""Programmes and arrivals, without an event loop: the test controls the clock."""

from collections import Counter
from math import inf
from typing import Any

import pytest

from loadgen.load.config import LoadConfig
from loadgen.load.traffic import Traffic
from loadgen.report.report import Recorder
from loadgen.ue.model import Procedure
from tests.loadgen.amf import Tree
from tests.loadgen.world import World, population


class Run:
    """A world with traffic."""

    def __init__(self, world: World | None = None, **changes: Any) -> None:
        given: dict[str, Any] = {"population": population(3), **changes}
        self.config = LoadConfig(**given)
        self.config.check()
        self.world = world or World(self.config.population)
        self.recorder = Recorder()
        self.over = 0
        self.traffic = Traffic(
            self.config,
            [self.world.gnb],
            self.world.deadlines,
            self.recorder,
            self._finished,
            self.world.amf.smf.downlink,
        )
        self.traffic.start(self.world.now)

    def _finished(self) -> None:
        self.over += 1

    def go(self, seconds: float) -> None:
        """Work like the driver: carry messages, run timers and collect ended procedures."""
        world = self.world
        end = world.now + seconds
        while True:
            world.settle()
            if world.gnb.cell.ended:
                self.traffic.collect(world.gnb, world.now)
                continue
            due = world.deadlines.next()
            if due > end:
                break
            world.now = max(world.now, due)
            world.deadlines.run(world.now)
        world.now = end

    def counts(self) -> dict[str, int]:
        return {str(p): len(s.latencies) for p, s in self.recorder.procedures.items()}


def test_every_ue_runs_its_programme_once() -> None:
    run = Run()
    assert run.traffic.planned == 9
    run.go(1)
    assert run.counts() == {"register": 3, "idle": 3, "deregister": 3}
    assert run.over > 0
    assert run.traffic.running == 0
    assert run.recorder.violations == []
    assert run.world.amf.connections == {}


def test_a_programme_is_repeated_as_often_as_it_is_asked_for() -> None:
    run = Run(repeat=4, programme=(Procedure.REGISTER, Procedure.SWITCH_OFF))
    run.go(1)
    assert run.counts() == {"register": 12, "switch-off": 12}


def test_a_duration_ends_with_whole_programmes() -> None:
    run = Run(repeat=None, duration=10.0, think=0.5)
    run.go(9.9)
    assert run.over == 0
    run.go(30)
    assert run.over > 0
    counts = run.counts()
    assert counts["register"] == counts["idle"] == counts["deregister"]
    assert 10 < counts["register"] < 60
    assert run.world.amf.connections == {}


def test_a_ramp_spreads_the_start() -> None:
    run = Run(ramp=9.0, programme=(Procedure.REGISTER,))
    run.go(0.1)
    assert run.counts() == {"register": 1}
    run.go(3)
    assert run.counts() == {"register": 2}
    run.go(3)
    assert run.counts() == {"register": 3}


def test_open_arrivals_are_poisson_and_seeded() -> None:
    def starts(seed: int) -> list[float]:
        run = Run(population=population(50), rate=20.0, repeat=None, duration=30.0, seed=seed)
        run.go(40)
        assert run.over > 0
        assert run.traffic.blocked == 0
        return list(run.recorder.procedures[Procedure.REGISTER].ends)

    first = starts(1)
    assert first == starts(1)
    assert first != starts(2)
    assert 480 < len(first) < 720
    per_second = Counter(int(t) for t in first)
    mean = len(first) / 30
    variance = sum((per_second[100 + s] - mean) ** 2 for s in range(30)) / 30
    assert 0.4 < variance / mean < 2.5


def test_arrivals_that_find_no_ue_are_counted() -> None:
    run = Run(rate=10.0, repeat=None, duration=20.0, think=2.0)
    run.go(40)
    assert run.traffic.blocked > 50
    assert run.recorder.violations == []


def test_an_open_load_of_so_many_programmes() -> None:
    run = Run(rate=10.0, repeat=5)
    run.go(60)
    assert run.counts()["register"] + run.traffic.blocked == 15
    assert run.over > 0


def test_a_late_arrival_has_waited_since_it_came() -> None:
    run = Run(rate=100.0, repeat=1)
    run.world.now += 5
    run.world.deadlines.run(run.world.now)
    run.go(1)
    assert min(run.recorder.procedures[Procedure.REGISTER].latencies) > 4.5


def test_after_a_failure_the_ue_is_off_for_a_while() -> None:
    run = Run(repeat=2, failure_pause=3.0, population=population(1))
    reject: Tree = {"message-type": "registration-reject", "5gmm-cause": "plmn-not-allowed"}
    run.world.amf.reject = reject
    run.go(12)
    run.world.amf.reject = None
    assert run.over == 0
    run.go(2)
    assert run.counts() == {"register": 1, "idle": 1, "deregister": 1}
    assert run.recorder.failures == 1
    assert run.over > 0


def test_after_a_violation_the_programme_goes_on() -> None:
    run = Run(population=population(1))
    run.world.amf.trees["registration-accept"] = lambda t: {
        **t,
        "tai-list": [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [9]}}],
    }
    run.go(1)
    assert run.counts() == {"register": 0, "idle": 1, "deregister": 1}
    assert run.recorder.failures == 1


@pytest.mark.parametrize("programme", [(Procedure.IDLE,), (Procedure.DEREGISTER,)])
def test_a_programme_with_nothing_to_do_ends_all_the_same(
    programme: tuple[Procedure, ...],
) -> None:
    run = Run(programme=programme, repeat=None, duration=1.0, failure_pause=0.0)
    run.go(2)
    assert run.over > 0


def test_identities_take_turns() -> None:
    run = Run(
        population=population(1),
        identities=("stored", "unknown-guti", "suci"),
        repeat=4,
        programme=(Procedure.REGISTER, Procedure.DEREGISTER),
    )
    run.go(1)
    kinds = [
        next(iter(t["5gs-mobile-identity"]))
        for t in run.world.amf.uplink
        if t["message-type"] == "registration-request"
    ]
    assert kinds == ["suci", "guti", "suci", "guti"]
    assert "identity-response" in run.world.amf.received
    assert run.recorder.failures == 0


def test_a_ue_that_is_registered_can_come_anew_with_its_suci() -> None:
    run = Run(identities=("suci",), repeat=3, programme=(Procedure.REGISTER,))
    run.go(1)
    assert run.counts() == {"register": 9}
    assert run.world.amf.received.count("authentication-response") == 9
    assert run.recorder.violations == []


def test_what_is_unfinished_at_the_end_says_what_it_waits_for() -> None:
    run = Run(population=population(1))
    run.world.amf.trees["registration-accept"] = lambda _: None
    run.traffic.stop(run.world.now)
    run.go(1)
    run.traffic.give_up(run.world.now)
    samples = run.recorder.procedures[Procedure.REGISTER]
    assert samples.failures == {"unfinished-T3510": 1}
    assert run.traffic.deadline() == inf
