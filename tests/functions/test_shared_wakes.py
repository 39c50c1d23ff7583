"""When a wake-up is scheduled, if it may come slightly after its time."""

from msgspec.structs import replace

from functions.decision.env import Env
from functions.decision.ue_decision import UeDecision
from schemas.cloudevents import CloudEvent, EventType
from schemas.procedures import Procedure
from schemas.step import Output, Wake
from schemas.ue.state import Timer, Ue
from schemas.ue.waking import MOBILE_REACHABLE, shared_at
from tests.functions.world import NETWORK

SUPI = "imsi-001010000000001"
T = 1_700_000_000_000
"""The expiry of a timer; not a multiple of the rounding of wake-ups."""


def started(ue: Ue, now: int, name: str, seconds: float) -> list[Output]:
    """Return the outputs of a step that starts a timer."""
    trigger = CloudEvent("t", "/test", EventType.NGAP_UPLINK, f"ue/{SUPI}", slot=1)
    draft = UeDecision(ue, Env(now, bytes(32), NETWORK), trigger)
    draft.start_timer(name, seconds)
    return draft.outputs


def waiting(name: str, at: int) -> Ue:
    return Ue(supi=SUPI, timers={name: Timer(at)}, wake_at=at, wake_for=name)


def test_a_short_timer_does_not_wait_for_the_mobile_reachable_timer() -> None:
    back = replace(waiting(MOBILE_REACHABLE, T), timers={})  # the UE has returned
    now = T - 5000
    assert started(back, now, "T3560", 6) == [Wake(now + 6000, Procedure.REGISTRATION)]


def test_the_mobile_reachable_timer_is_relied_on_while_it_runs() -> None:
    assert started(waiting(MOBILE_REACHABLE, T), T - 5000, "n4", 6) == []


def test_a_wake_up_that_is_about_to_come_is_not_replaced() -> None:
    ue, now = waiting("T3560", T + 1), T + 100
    assert now < shared_at(T + 1, "T3560")
    assert started(ue, now, "T3592/5", 16) == []


def test_a_timer_with_a_late_wake_up_is_woken_first() -> None:
    ue = waiting("T3560", T)
    now = shared_at(T, "T3560")
    assert started(ue, now, "T3592/5", 16) == [Wake(T, Procedure.REGISTRATION)]


def test_a_wake_up_that_comes_before_is_relied_on() -> None:
    assert started(waiting("T3560", T), T - 10, "n4", 4) == []
    ended = replace(waiting("T3560", T), timers={})
    assert started(ended, T + 10, "n4", 4) == [Wake(T + 4010, Procedure.SESSION)]


def test_a_timer_that_relied_on_a_wake_up_gets_the_next_one() -> None:
    """The wake-up is for a timer that was stopped, and is a little late. A later timer starts."""
    ue = replace(waiting("T3560", T), timers={"n4": Timer(T + 2000)})
    assert started(ue, T + 10, "handover", 10) == [Wake(T + 2000, Procedure.SESSION)]
