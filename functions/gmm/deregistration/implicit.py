"""Implicit deregistration of a UE in CM-IDLE (TS 24.501 5.3.7, TS 23.501 5.4.1.1).

The mobile reachable timer starts when the UE becomes idle. The UE registers periodically before it
expires. After it, the UE is not paged. After the implicit deregistration timer, the UE is
deregistered locally. The next connection stops both timers.
"""

from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import UeDecision
from schemas.gmm.events import Deregistered, ReachableUntil
from schemas.ue.waking import IMPLICIT_DEREGISTRATION, MOBILE_REACHABLE

MARGIN = 240
"""Seconds that both timers are longer than the T3512 of the UE, unless configured."""


def reconcile(d: UeDecision) -> None:
    """Start the mobile reachable timer of a UE that has become idle.

    It starts after all other timers, whose wake-ups it would replace. The last of them starts it.
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
    """Process the expiry of one of the two timers."""
    if check(d, Start.IMPLICIT_DEREGISTRATION) is Verdict.IGNORE:
        d.note(f"{name} expired, but the UE is not in CM-IDLE")
    elif name == MOBILE_REACHABLE and not d.ue.emergency:
        configured = d.env.network.timers.implicit_deregistration
        d.start_timer(IMPLICIT_DEREGISTRATION, configured or _longer(d))
    else:
        d.emit(Deregistered("implicitly: no contact with the UE"))


def _longer(d: UeDecision) -> int:
    """Return the seconds of both timers.

    A UE that is registered for emergency services does not register periodically. It and the
    network deregister it when T3512 ends (5.3.7).
    """
    return d.ue.t3512 + (0 if d.ue.emergency else MARGIN)
