"""Loads of several phases, without an event loop: the test controls the clock."""

from typing import Any

import pytest

from loadgen import ConfigError, LoadConfig, Procedure
from loadgen.load.arrivals import Mmpp, Poisson
from loadgen.load.phases import ExpectedState, Phase, Share, problem_of
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    PAGE,
    REGISTER,
    RELEASE_SESSION,
    SERVICE_REQUEST,
    SESSION,
)
from tests.loadgen.test_traffic import Run
from tests.loadgen.world import World, population


def phase(name: str, *procedures: Procedure, **changes: Any) -> Phase:
    given: dict[str, Any] = {"mix": (Share(procedures),), **changes}
    return Phase(name=name, **given)


ATTACH = phase("attach", REGISTER, SESSION, IDLE, arrivals=Poisson(20.0))
BURSTS = phase(
    "bursts",
    SERVICE_REQUEST,
    IDLE,
    arrivals=Mmpp((2.0, 50.0), (5.0, 1.0)),
    repeat=None,
    duration=30.0,
)
DETACH = phase("detach", DEREGISTER, arrivals=Poisson(20.0))


def test_phases_follow_each_other() -> None:
    run = Run(population=population(20), phases=(ATTACH, BURSTS, DETACH))
    run.go(60)
    assert run.over == 1
    counts = run.counts()
    assert counts["register"] == counts["session"] == counts["deregister"] == 20
    assert counts["service-request"] > 50
    assert run.recorder.failures == 0
    assert run.recorder.violations == []
    assert run.world.amf.smf.sessions == {}
    attach, bursts, detach = run.traffic.reports(run.world.now)
    assert (attach.begun, detach.begun) == (20, 20)
    assert (attach.blocked, attach.unfit, detach.unfit) == (0, 0, 0)
    assert bursts.begun == counts["service-request"]
    assert bursts.asked_rate == pytest.approx((2 * 5 + 50) / 6)
    assert 30 <= bursts.seconds < 31
    assert bursts.late_max == 0
    assert run.traffic.planned is None


def test_a_seed_reproduces_a_load() -> None:
    def ends(seed: int) -> list[float]:
        run = Run(population=population(10), phases=(ATTACH, BURSTS), seed=seed)
        run.go(60)
        return list(run.recorder.procedures[SERVICE_REQUEST].ends)

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)


def test_a_mix_has_its_weights() -> None:
    day = Phase(
        name="day",
        mix=(Share((SERVICE_REQUEST, IDLE), 3.0), Share((REGISTER, SESSION, IDLE), 1.0)),
        arrivals=Poisson(20.0),
        repeat=None,
        duration=60.0,
    )
    run = Run(population=population(30), phases=(ATTACH, day))
    run.go(120)
    counts = run.counts()
    assert counts["service-request"] / (counts["register"] - 30) == pytest.approx(3, rel=0.3)
    assert run.recorder.failures == 0


def test_closed_phases_too() -> None:
    closed = (
        phase("attach", REGISTER, SESSION, IDLE),
        phase("work", SERVICE_REQUEST, IDLE, repeat=5),
        phase("detach", DEREGISTER),
    )
    run = Run(phases=closed)
    assert run.traffic.planned == 3 * 3 + 3 * 10 + 3
    run.go(5)
    assert run.over == 1
    assert run.counts() == {
        "register": 3,
        "session": 3,
        "idle": 18,
        "service-request": 15,
        "deregister": 3,
    }


def test_a_ue_that_failed_is_left_out_of_what_it_cannot_do() -> None:
    world = World(population(5))
    bad = world.population.profile(2).supi
    accept = world.amf.smf.accept

    def refuse(one: Any, pti: int, asked: Any) -> Any:
        tree = accept(one, pti, asked)
        return {**tree, "procedure-transaction-identity": 99} if one.supi == bad else tree

    world.amf.smf.accept = refuse
    run = Run(world, population=population(5), phases=(ATTACH, DETACH), drain=100.0)
    run.go(200)
    assert run.over == 1
    assert run.counts()["deregister"] == 4
    assert run.recorder.procedures[DEREGISTER].failed == 0
    assert run.recorder.procedures[SESSION].failures == {"t3580-expired": 1}
    detach = run.traffic.reports(run.world.now)[1]
    assert (detach.begun, detach.unfit) == (4, 1)


def test_a_phase_does_not_wait_for_ever() -> None:
    world = World(population(5))
    bad = world.population.profile(2).supi
    transport = world.amf.smf.set_up

    def lose(to: Any, sessions: Any, nas: Any) -> None:
        if to.ue.supi != bad:
            transport(to, sessions, nas)

    world.amf.smf.set_up = lose
    run = Run(world, population=population(5), phases=(ATTACH, DETACH), drain=10.0)
    run.go(30)
    assert run.over == 1
    assert run.counts()["deregister"] == 4
    assert run.recorder.procedures[SESSION].failures == {"unfinished-T3580": 1}


def test_pages() -> None:
    reach = phase("reach", PAGE, IDLE, arrivals=Poisson(5.0), repeat=None, duration=10.0)
    run = Run(population=population(10), phases=(ATTACH, reach))
    run.go(30)
    assert run.counts()["page"] > 20
    assert run.recorder.failures == 0
    assert run.config.pages


@pytest.mark.parametrize(
    ("programme", "says"),
    [
        ((SESSION,), "session needs a registered UE: put register before it"),
        ((REGISTER, RELEASE_SESSION), "release-session needs a PDU session: put session"),
        ((REGISTER, SESSION, SERVICE_REQUEST), "service-request has nothing to request for"),
        ((REGISTER, SESSION, PAGE), "page is for an idle UE with a PDU session"),
        ((REGISTER, IDLE, PAGE), "page is for an idle UE with a PDU session"),
        ((REGISTER, SESSION, IDLE, DEREGISTER, PAGE), "page needs a registered UE"),
        ((REGISTER, *[SESSION] * 16), "session exceeds the 15 sessions of a UE"),
    ],
)
def test_programmes_that_make_no_sense(programme: tuple[Procedure, ...], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        LoadConfig(programme=programme).check()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "programme",
    [
        (REGISTER, SESSION, IDLE, SERVICE_REQUEST, IDLE, PAGE, RELEASE_SESSION, DEREGISTER),
        (REGISTER, IDLE, SESSION, SESSION, IDLE, SERVICE_REQUEST),
        (REGISTER, IDLE, SERVICE_REQUEST),
        (REGISTER, SESSION, IDLE, Procedure.SERVICE, SERVICE_REQUEST),
    ],
)
def test_programmes_that_do(programme: tuple[Procedure, ...]) -> None:
    LoadConfig(programme=programme).check()
    assert problem_of(programme, ExpectedState()) == (None, problem_of(programme)[1])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dnn": "in ternet"}, "dnn is 'in ternet'"),
        ({"dnn": ""}, "dnn is ''"),
        ({"session_slice": {"sst": 9}}, "session_slice 9 is not a slice of the population"),
        ({"phases": [{"name": "x", "mix": []}]}, "phase x: mix is empty"),
    ],
)
def test_what_else_is_refused(changes: dict[str, Any], says: str) -> None:
    import msgspec

    with pytest.raises(ConfigError) as caught:
        msgspec.convert(changes, LoadConfig).check()
    assert says in str(caught.value)
