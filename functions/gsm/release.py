"""PDU session release, by the UE (TS 24.501 6.4.3) or by the network (6.3.3, TS 23.502 4.3.4)."""

from collections.abc import Iterable, Sequence

from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import RETRANSMISSIONS, UeDecision
from functions.gsm import user_plane
from functions.messages import ngap
from functions.messages.nas import codec, gsm
from functions.messages.trees import Tree, subtree
from schemas.causes import GsmCause
from schemas.gsm.events import (
    SessionModified,
    SessionReleased,
    SessionReleasing,
    SessionUnconfirmed,
    UserPlaneOff,
)
from schemas.gsm.state import PduSession
from schemas.identity import SNssai


def requested(d: UeDecision, session: PduSession, request: Tree) -> None:
    """Process a PDU SESSION RELEASE REQUEST. It is always accepted."""
    pti = request["procedure-transaction-identity"]
    if session.stage == "releasing" and session.pti == pti:
        d.note("the same PDU SESSION RELEASE REQUEST again")
        return
    _start(d, session, pti, GsmCause.REGULAR_DEACTIVATION)


def by_network(d: UeDecision, session: PduSession, cause: GsmCause) -> None:
    """Release a session by the network, locally if the UE cannot be sent a message.

    A UE in CM-IDLE learns it from the PDU session status when it connects (TS 23.502 4.3.4.2). So
    does a UE with a session that its UPF cannot switch to another gNB: the answer to the PATH
    SWITCH REQUEST releases its resources (4.9.1.2.2).
    """
    verdict = check(d, Start.SESSION_RELEASE_BY_NETWORK, session)
    switching = d.ue.handover is not None and d.ue.handover.stage == "switching"
    if verdict is Verdict.LOCAL or (switching and cause is GsmCause.NETWORK_FAILURE):
        d.emit(SessionReleased(session.n4.seid, cause.text))
    elif verdict is not Verdict.IGNORE:
        _start(d, session, 0, cause)


def _start(d: UeDecision, session: PduSession, pti: int, cause: GsmCause) -> None:
    seid = session.n4.seid
    d.stop_timer(f"T3591/{session.id}")
    d.emit(SessionReleasing(seid, pti, cause))
    user_plane.unneeded(d, session)
    _command(d, session, pti, cause)
    if session.user_plane != "off":
        d.emit(UserPlaneOff(seid, "the session is released"))
    d.start_timer(f"T3592/{session.id}", d.env.network.timers.t3592)


def _command(d: UeDecision, session: PduSession, pti: int, cause: GsmCause) -> None:
    """Send PDU SESSION RELEASE COMMAND, with the release of the gNB's resources if it has any and
    has answered the release before."""
    message = gsm.transport(gsm.release_command(session, pti, cause), session.id)
    nas = d.protect(codec.encode(message))
    if not user_plane.release(d, nas):
        d.send(ngap.downlink_nas_transport(d.connection, nas))


def insecure(d: UeDecision, sessions: Iterable[PduSession]) -> None:
    """Release sessions, because the gNB cannot enforce their security policies (TS 23.501
    5.10.3)."""
    for found in sessions:
        session = user_plane.by_id(d, found.id)
        if session is not None and session.stage in ("active", "modifying"):
            by_network(d, session, GsmCause.REQUEST_REJECTED)


def completed(d: UeDecision, session: PduSession, _: Tree) -> None:
    """Process a PDU SESSION RELEASE COMPLETE."""
    if session.stage != "releasing":
        d.note("a PDU SESSION RELEASE COMPLETE without a pending command")
        return
    _end(d, session, "released")


def expired(d: UeDecision, session: PduSession, count: int) -> None:
    """T3592: send the command again, four times; then release the session locally (6.3.3.5)."""
    if session.stage != "releasing":
        d.note("T3592 expired for a session that is not being released")
    elif count >= RETRANSMISSIONS or not user_plane.reachable(d):
        _end(d, session, "the UE did not respond")
    else:
        cause = GsmCause(session.release_cause or GsmCause.REGULAR_DEACTIVATION)
        _command(d, session, session.pti, cause)
        d.start_timer(f"T3592/{session.id}", d.env.network.timers.t3592, count + 1)


def forget(d: UeDecision, session: PduSession, reason: str) -> None:
    """Release a session that the UE does not have any more, without a message to it (6.1.4.1)."""
    user_plane.unneeded(d, session)
    _end(d, session, reason)


def _end(d: UeDecision, session: PduSession, reason: str) -> None:
    _stop_timers(d, session)
    d.emit(SessionReleased(session.n4.seid, reason))


def _stop_timers(d: UeDecision, session: PduSession) -> None:
    d.stop_timer(f"T3591/{session.id}")
    d.stop_timer(f"T3592/{session.id}")


def notified(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process a PDU SESSION RESOURCE NOTIFY (TS 38.413 8.2.4): the gNB has released resources.

    Resources that another gNB has now stay.
    """
    for item in ies.get("PDUSessionResourceReleasedListNot", ()):
        session = user_plane.by_id(d, item["pDUSessionID"])
        transfer = subtree(item, "pDUSessionResourceNotifyReleasedTransfer")
        cause = ngap.cause_text(transfer.get("cause", ngap.UNSPECIFIED))
        if session is None:
            d.note(f"the gNB released the PDU session {item['pDUSessionID']}: {cause}")
        elif session.user_plane == "on" and session.amf_ue_ngap_id == amf_ue_ngap_id:
            d.emit(UserPlaneOff(session.n4.seid, f"the gNB released it: {cause}"))


def reconcile(d: UeDecision) -> None:
    """End the procedures and sessions that need a registration or a connection, if there is none.

    The UE may have a session whose accept was sent, whether or not the gNB has answered: the
    session stays (TS 24.501 6.4.1.3), and the PDU session status says if the UE has it (5.5.1.3.4,
    5.6.1.4).
    """
    here = d.ue.connection
    connected = here is not None and not here.releasing
    if connected and d.ue.registered:
        return
    for session in user_plane.live(d):
        seid = session.n4.seid
        if not d.ue.registered:
            _stop_timers(d, session)
            d.emit(SessionReleased(seid, "the UE is deregistered"))
        elif session.stage == "establishing" and session.accepted:
            d.emit(SessionUnconfirmed(seid))
        elif session.stage in ("establishing", "releasing"):
            _stop_timers(d, session)
            d.emit(SessionReleased(seid, f"the connection was released while {session.stage}"))
        elif session.stage == "modifying":
            _stop_timers(d, session)
            d.emit(SessionModified(seid))


def match_slices(d: UeDecision, allowed: Sequence[SNssai]) -> None:
    """Release the sessions of a registered UE in slices that are allowed no more (TS 23.501
    5.15.5.2.2).

    The UE learns it from the PDU session status. Its emergency PDU session needs no allowed slice.
    """
    for session in user_plane.live(d):
        kept = session.emergency or session.nssai in allowed
        if not kept and session.stage != "establishing":
            forget(d, session, "its slice is not allowed any more")
    user_plane.release(d)  # before the accept


def match_status(d: UeDecision, status: list[int] | None) -> None:
    """Release the sessions that the PDU session status of the UE does not have (5.5.1.3.4)."""
    if status is None:
        return
    for session in user_plane.live(d):
        if session.id not in status and session.stage != "establishing":
            forget(d, session, "the UE does not have it")
    user_plane.release(d)  # before the accept
