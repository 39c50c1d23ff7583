"""A registered UE in CM-IDLE from which nothing is heard (TS 24.501 5.3.7, TS 23.501 5.4.1.1).

When it becomes idle, the mobile reachable timer starts: by then the UE should have registered
periodically. After it nobody pages, and after the implicit deregistration timer the UE is
deregistered without a word. Both end with its next connection, by whoever opens it.
"""

from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import UeDecision
from schemas.gmm.events import Deregistered, ReachableUntil
from schemas.ue.waking import IMPLICIT_DEREGISTRATION, MOBILE_REACHABLE

MARGIN = 240
"""Seconds by which both timers are longer than the T3512 that the UE has, unless configured."""


def reconcile(d: UeDecision) -> None:
    """Start the mobile reachable timer of a UE that has become idle.

    What else is to happen soon comes first: its wake-ups would be lost. The last of them starts
    the timer.
    """
    ue = d.ue
    if ue.connection is not None or check(d, Start.MOBILE_REACHABLE) is not Verdict.START:
        return
    if not ue.timers:
        at = d.env.now + _longer(d) * 1000
        d.emit(ReachableUntil(at))
        d.wake_late(at, MOBILE_REACHABLE)
    elif d.woken:
        d.start_timer(MOBILE_REACHABLE, _longer(d))


def expired(d: UeDecision, name: str) -> None:
    """One of the two timers has expired."""
    if check(d, Start.IMPLICIT_DEREGISTRATION) is Verdict.IGNORE:
        d.note(f"{name} expired, and the UE is not idle")
    elif name == MOBILE_REACHABLE:
        configured = d.env.network.timers.implicit_deregistration
        d.start_timer(IMPLICIT_DEREGISTRATION, configured or _longer(d))
    else:
        d.emit(Deregistered("implicitly: the UE has not come by itself"))


def _longer(d: UeDecision) -> int:
    return d.ue.t3512 + MARGIN
