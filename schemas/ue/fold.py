"""`evolve`: the state of a UE after one more event. Total and pure."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from schemas.connection import fold as connection
from schemas.event import Noted
from schemas.gmm import fold as gmm
from schemas.gsm import fold as gsm
from schemas.mobility import fold as mobility
from schemas.stranger import StrangerRecorded, stranger_of
from schemas.ue import events as e
from schemas.ue.events import UeEvent
from schemas.ue.state import Timer, Ue


def evolve(ue: Ue, event: UeEvent) -> Ue:
    """Return the state after `event`."""
    return _EVOLVE[type(event)](ue, event)


def fold(ue: Ue, events: Iterable[UeEvent]) -> Ue:
    """Return the state after all of `events`."""
    for event in events:
        ue = _EVOLVE[type(event)](ue, event)
    return ue


def _same(ue: Ue, _: object) -> Ue:
    return ue


def _timer_started(ue: Ue, event: e.TimerStarted) -> Ue:
    timers = {**ue.timers, event.name: Timer(event.at, event.count)}
    return replace(ue, timers=timers)


def _timer_stopped(ue: Ue, event: e.TimerStopped) -> Ue:
    return replace(ue, timers={k: v for k, v in ue.timers.items() if k != event.name})


def _wake_scheduled(ue: Ue, event: e.WakeScheduled) -> Ue:
    """The wake-up is for the timer that was started with it, or for the next to expire."""
    timer = next((name for name, timer in ue.timers.items() if timer.at == event.at), "")
    return replace(ue, wake_at=event.at, wake_for=timer)


def _stranger_recorded(ue: Ue, event: StrangerRecorded) -> Ue:
    return ue if ue.authenticated else replace(ue, stranger=stranger_of(event))


_EVOLVE: dict[type, Callable[[Ue, Any], Ue]] = {
    **connection.EVOLVE,
    **gmm.EVOLVE,
    **mobility.EVOLVE,
    **gsm.EVOLVE,
    e.TimerStarted: _timer_started,
    e.TimerStopped: _timer_stopped,
    e.WakeScheduled: _wake_scheduled,
    StrangerRecorded: _stranger_recorded,
    Noted: _same,
}
