"""PDU SESSION ESTABLISHMENT REJECT (TS 24.501 6.4.1.4)."""

from functions.decision.ue_decision import UeDecision
from functions.messages.nas import gsm
from schemas.causes import GsmCause
from schemas.gprs_timer import gprs_timer_3
from schemas.gsm.events import SessionReleased
from schemas.gsm.state import PduSession


def reject(d: UeDecision, psi: int, pti: int, cause: GsmCause, *, emergency: bool = False) -> None:
    """Reject a request of a UE that can be sent a NAS message.

    #26 has a back-off timer for the DNN (T3396, 6.4.1.4.2), except for an `emergency` PDU session.
    """
    waits = cause == GsmCause.INSUFFICIENT_RESOURCES and not emergency
    back_off = _back_off(d) if waits else 0
    d.send_nas(gsm.transport(gsm.reject(psi, pti, cause, back_off), psi))


def insufficient(
    d: UeDecision,
    session: PduSession,
    reason: str,
    *,
    reachable: bool,
    cause: GsmCause = GsmCause.INSUFFICIENT_RESOURCES,
) -> None:
    """Release a session that is being established, for a reason. The UE is told a cause, #26 by
    default, if it is `reachable`."""
    d.emit(SessionReleased(session.n4.seid, reason))
    if reachable:
        reject(d, session.id, session.pti, cause, emergency=session.emergency)


def _back_off(d: UeDecision) -> int:
    """Return a T3396 in seconds, 0 for none: another one for each UE, so that they do not all
    return at once."""
    least = d.env.network.timers.t3396
    return gprs_timer_3(least + d.env.random_int(32) % (least + 1)) if least else 0
