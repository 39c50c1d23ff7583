"""Whether a programme of procedures makes sense, told before it runs."""

from collections.abc import Iterable

from msgspec import Struct

from loadgen.session_model import MAX_PSI
from loadgen.ue_model import HANDOVERS, Procedure

_UPDATES = frozenset({Procedure.PERIODIC_UPDATE, Procedure.MOBILITY_UPDATE})
_CALLED_FOR = frozenset(
    {
        Procedure.SESSION,
        Procedure.RELEASE_SESSION,
        Procedure.SERVICE_REQUEST,
        Procedure.PAGE,
        *HANDOVERS,
        *_UPDATES,
    }
)


class Standing(Struct, frozen=True):
    """What a UE has at a point of its programme."""

    registered: bool = False
    connected: bool = False
    sessions: int = 0
    up: bool = False
    """Whether its sessions have a user plane."""


def fault_of(
    programme: Iterable[Procedure], standing: Standing | None = None
) -> tuple[str | None, Standing]:
    """Why the first procedure that cannot be done cannot, None where all can; and what is then.

    The procedures of 5GMM are possible at any time: one with nothing to do is skipped.
    """
    now = standing or Standing()
    for procedure in programme:
        if procedure in _CALLED_FOR and (fault := _fault(procedure, now)) is not None:
            return f"{procedure} {fault}", now
        now = _after(procedure, now)
    return None, now


def _fault(procedure: Procedure, now: Standing) -> str | None:
    if not now.registered:
        return "needs a registered UE: put register before it"
    if procedure in HANDOVERS:
        return _fault_of_handover(procedure, now)
    if procedure in _UPDATES:
        return None
    nothing_to_ask_for = now.connected and (now.up or not now.sessions)
    faults = {
        Procedure.SESSION: (
            now.sessions >= MAX_PSI,
            f"would be one session more than the {MAX_PSI} that a UE can have",
        ),
        Procedure.RELEASE_SESSION: (
            not now.sessions,
            "needs a PDU session: put session before it",
        ),
        Procedure.SERVICE_REQUEST: (
            nothing_to_ask_for,
            "has nothing to ask for while the UE is connected: put idle before it",
        ),
        Procedure.PAGE: (
            not now.sessions or now.connected,
            "is for an idle UE with a PDU session: put session and idle before it",
        ),
    }
    wrong, text = faults[procedure]
    return text if wrong else None


def _fault_of_handover(procedure: Procedure, now: Standing) -> str | None:
    least = 2 if procedure is Procedure.HANDOVER_PARTIAL else 1
    if not now.connected or not now.up or now.sessions < least:
        what = "two PDU sessions" if least == 2 else "a PDU session"
        return f"is for a connected UE with {what}: put session, or service-request, before it"
    return None


def _after(procedure: Procedure, now: Standing) -> Standing:
    sessions, up = now.sessions, now.up
    match procedure:
        case Procedure.REGISTER:
            now = Standing(registered=True, connected=True)
        case Procedure.DEREGISTER | Procedure.SWITCH_OFF:
            now = Standing()
        case Procedure.IDLE:
            now = Standing(now.registered, connected=False, sessions=sessions)
        case Procedure.SESSION:
            now = Standing(registered=True, connected=True, sessions=sessions + 1, up=True)
        case Procedure.RELEASE_SESSION:
            now = Standing(registered=True, connected=True, sessions=sessions - 1, up=up)
        case Procedure.SERVICE | Procedure.PERIODIC_UPDATE | Procedure.MOBILITY_UPDATE:
            now = Standing(now.registered, connected=now.registered, sessions=sessions, up=up)
        case Procedure.SERVICE_REQUEST | Procedure.PAGE:
            now = Standing(registered=True, connected=True, sessions=sessions, up=sessions > 0)
        case _:
            # A handover leaves things as they are.
            pass
    return now
