"""PDU session procedures (TS 24.501 clause 6, TS 23.502 4.3): 5GSM messages, the gNB's and the
UPF's answers. What the UPF must be asked for is left to `functions.ue.reconcile`."""

from typing import Final

import wire
from functions.decision import protocol_errors
from functions.decision.inputs import (
    EventReceived,
    Input,
    NasReceived,
    NgapReceived,
    PfcpEnded,
    PfcpReceived,
    PfcpUnanswered,
    TimerExpired,
)
from functions.decision.ue_decision import UeDecision
from functions.gsm import establishment, indication, modification, n4, release, usage, user_plane
from functions.messages import pfcp
from functions.messages.nas import codec, gsm
from functions.messages.trees import Tree
from schemas.causes import GsmCause
from schemas.cloudevents import SessionLost, SessionRelease
from schemas.gsm.events import N4Failed, N4Lost, SessionDeleted
from schemas.gsm.state import PduSession


def decide(d: UeDecision, received: Input) -> None:
    """Decide about one input of the procedures of a session."""
    match received:
        case NasReceived(_, tree, _, container):
            _transport(d, tree, container)
        case NgapReceived("PDUSessionResourceModifyIndication", ies, amf_ue_ngap_id):
            usage.record(d, ies)
            indication.indicated(d, ies, amf_ue_ngap_id)
        case NgapReceived(message, ies, amf_ue_ngap_id):
            _ngap(d, message, ies, amf_ue_ngap_id)
        case PfcpReceived(message, tree, seid, number, _):
            _pfcp(d, message, tree, seid, number)
        case PfcpUnanswered(seid, number):
            _unanswered(d, seid, number)
        case PfcpEnded(seid, number, incarnation):
            _ended(d, seid, number, incarnation)
        case EventReceived(_, SessionLost() as lost):
            _lost(d, lost)
        case EventReceived(_, SessionRelease(psi=psi)):
            _release(d, psi)
        case TimerExpired(name, count):
            _expired(d, name, count)
        case _:
            d.note(f"nothing to do for {received!r}")


# 5GSM messages


def _transport(d: UeDecision, tree: Tree, container: bytes | None) -> None:
    """UL NAS TRANSPORT (TS 24.501 5.4.5.2); `container` is its N1 SM information."""
    psi = tree.get("pdu-session-id")
    if container is None:
        protocol_errors.not_forwarded(d, tree)
    elif not d.ue.registered:
        d.note("a 5GSM message of a UE that is not registered")
    elif psi is None or not 1 <= psi <= 15:
        d.note(f"a 5GSM message for the PDU session identity {psi}")
    else:
        _gsm(d, tree, psi, container)


def _gsm(d: UeDecision, tree: Tree, psi: int, octets: bytes) -> None:
    if octets[:1] != _EPD:
        d.note(f"N1 SM information that cannot be decoded: {octets[:8].hex()}")
        return
    message = codec.read(octets)
    if message is None:
        _faulty(d, psi, octets)
        return
    named, pti = message["pdu-session-identity"], message["procedure-transaction-identity"]
    kind = message["message-type"]
    if named != psi:
        d.note(f"{kind} for the PDU session {named} in the transport of {psi}")
    elif kind == gsm.ESTABLISHMENT_REQUEST:
        establishment.begin(d, tree, message, octets)
    elif kind == "5gsm-status":
        _status(d, message)
    else:
        session = user_plane.by_id(d, psi)
        handle = _HANDLERS.get(kind)
        if handle is None:
            answer = gsm.status(psi, pti, GsmCause.MESSAGE_TYPE_NOT_IMPLEMENTED)
            d.send_nas(gsm.transport(answer, psi))
        elif session is None:
            _without_session(d, message)
        else:
            handle(d, session, message)


_EPD: Final = b"\x2e"
"""The extended protocol discriminator of 5GSM (TS 24.007 11.2.3.1.1A)."""

_HANDLERS: Final = {
    gsm.MODIFICATION_REQUEST: modification.requested,
    "pdu-session-modification-complete": modification.completed,
    "pdu-session-modification-command-reject": modification.completed,
    gsm.RELEASE_REQUEST: release.requested,
    "pdu-session-release-complete": release.completed,
}


def _without_session(d: UeDecision, message: Tree) -> None:
    """7.3.2: the session is not there, or not any more."""
    psi, pti = message["pdu-session-identity"], message["procedure-transaction-identity"]
    kind = message["message-type"]
    cause = GsmCause.INVALID_PDU_SESSION_IDENTITY
    if kind in (gsm.RELEASE_REQUEST, gsm.MODIFICATION_REQUEST):
        answer = gsm.refusal(message, cause)
    elif kind == "pdu-session-release-complete":
        d.note("PDU SESSION RELEASE COMPLETE of a released session")
        return
    else:
        answer = gsm.status(psi, pti, cause)
    d.send_nas(gsm.transport(answer, psi))


def _faulty(d: UeDecision, psi: int, octets: bytes) -> None:
    """A 5GSM message that clause 7 has another answer to than its procedure: that, if any."""
    d.note(f"a 5GSM message that cannot be decoded: {octets[:8].hex()}")
    answer = codec.answer(octets)
    if answer is not None:
        d.send_nas(gsm.transport(wire.nas_decode(answer), psi))


def _status(d: UeDecision, message: Tree) -> None:
    """6.5.2: what the UE says of a message of ours."""
    psi, cause = message["pdu-session-identity"], message["5gsm-cause"]
    session = user_plane.by_id(d, psi)
    d.note(f"5GSM STATUS for the PDU session {psi}: {cause}")
    if session is None:
        return
    if cause == "invalid-pdu-session-identity":
        release.forget(d, session, "the UE does not have it")
    elif session.stage == "modifying":
        modification.completed(d, session, message)


# The gNB's answers


def _ngap(d: UeDecision, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    match message:
        case "PDUSessionResourceSetupResponse":
            insecure = user_plane.answered(d, ies, amf_ue_ngap_id)
            user_plane.ended(d, "setup", amf_ue_ngap_id)
            release.insecure(d, insecure)
        case "PDUSessionResourceReleaseResponse":
            usage.record(d, ies)
            user_plane.ended(d, "release", amf_ue_ngap_id)
        case "PDUSessionResourceModifyResponse":
            modification.answered(d, ies, amf_ue_ngap_id)
        case "PDUSessionResourceNotify":
            release.notified(d, ies, amf_ue_ngap_id)
        case _:
            d.note(f"{message} needs no action")


# The UPF's answers


def _pfcp(d: UeDecision, message: str, tree: Tree | None, seid: int, number: int | None) -> None:
    session = n4.find(d, seid)
    sent = session.n4.sent if session is not None else None
    if session is None or sent is None or sent.number != number:
        d.note(f"{message} without a pending request")
        if session is not None and tree is not None and message == _ESTABLISHED:
            n4.established_twice(d, session, tree, number)
        return
    if tree is not None and pfcp.ies_of(tree["ies"]).get("Cause") == pfcp.NO_ASSOCIATION:
        # It has restarted, and will be associated again: then the request has its turn.
        d.note(f"{message}: {pfcp.NO_ASSOCIATION}")
        return
    if tree is None:
        reason = "a response that cannot be decoded"
        d.emit(N4Failed(seid, reason))
    else:
        reason = n4.answered(d, session, tree)
    if reason:
        _refused(d, session, sent.message, reason)
    elif sent.message == "establish" and session.stage == "establishing":
        establishment.granted(d, n4.find(d, seid) or session)


_ESTABLISHED: Final = "SessionEstablishmentResponse"


def _refused(d: UeDecision, session: PduSession, asked: str, reason: str) -> None:
    seid = session.n4.seid
    if reason == pfcp.NOT_FOUND and asked == "modify":
        # The UPF has lost this session (TS 23.527 4.3.2): establish it again.
        d.emit(N4Lost(seid, reason))
    elif asked == "modify":
        # The state at the UPF is unknown: some UPFs drop the rules of the session.
        n4.renew(d, n4.find(d, seid) or session)
    elif asked == "delete":
        d.emit(N4Lost(seid, reason))  # nothing else can be done at the UPF
    elif session.stage == "establishing":
        establishment.failed(d, session, f"UPF {session.n4.upf} refuses: {reason}")
    elif session.stage in ("active", "modifying") and session.uplink and not session.n4.refused:
        # Another session there may have the F-TEID by now.
        n4.replace_uplink(d, session, reason)
    else:
        release.by_network(d, session, GsmCause.NETWORK_FAILURE)


def _unanswered(d: UeDecision, seid: int, number: int | None) -> None:
    """The UPF did not answer its gateway. A UE that waits for its session is told."""
    session = n4.find(d, seid)
    sent = session.n4.sent if session is not None else None
    if session is None or sent is None or sent.number != number:
        d.note("no response to a request that is no longer pending")
    elif sent.message == "establish" and session.stage == "establishing":
        establishment.failed(d, session, _silent(session))
    else:
        d.note(f"{_silent(session)}: {sent.message}")
        indication.unanswered(d, session)


def _ended(d: UeDecision, seid: int, number: int | None, incarnation: int) -> None:
    """Process the end of a request by a restart of the UPF (TS 23.527 4.3): ask the UPF for the
    session again. If it is not associated yet it refuses, and SESSION_LOST asks it again."""
    session = n4.find(d, seid)
    sent = session.n4.sent if session is not None else None
    if sent is None or sent.number != number or sent.incarnation == incarnation:
        d.note("a restart of the UPF ended a request that is no longer pending")
    else:
        _lost(d, SessionLost(seid, incarnation, restarted=True))


def _silent(session: PduSession) -> str:
    return f"UPF {session.n4.upf} does not answer"


def _lost(d: UeDecision, lost: SessionLost) -> None:
    """Process the restart or a new association of the UPF (TS 23.527 4.3): establish the session
    again, or delete it."""
    session = n4.find(d, lost.seid)
    if session is None:
        d.note("the session is already deleted")
        return
    sent, incarnation = session.n4.sent, lost.recovery_time_stamp
    if lost.kept and session.stage == "released" and session.n4.up_seid:
        d.note("the UPF may have kept the session, which is being deleted")
        n4.ask_again(d, session, incarnation)  # it has refused the deletion without association
        return
    if lost.at and session.n4.since > lost.at:
        d.note("the session was established after the restart of its UPF")
        return
    if lost.restarted and session.n4.up_seid and session.n4.incarnation == incarnation:
        d.note("the session is already established at the restarted UPF")
        return
    if sent is not None and sent.message == "establish":
        d.note("the UPF restarted, and a request is pending")
        if not lost.at or sent.at <= lost.at:
            # It may have refused before it was associated, or never got the request.
            n4.ask_again(d, session, incarnation)
    elif lost.kept and session.n4.up_seid:
        # A UPF that has kept the session refuses to establish another one with its F-TEID.
        n4.delete(d, session)
    else:
        # Its SEID may be that of another session there by now: nothing is asked by it any more.
        d.emit(N4Lost(lost.seid, "the UPF restarted", incarnation))


def _release(d: UeDecision, psi: int) -> None:
    """The operator's wish: the UE may have the session again if it asks."""
    session = user_plane.by_id(d, psi)
    if session is None:
        d.note(f"there is no PDU session {psi} to release")
    else:
        release.by_network(d, session, GsmCause.REACTIVATION_REQUESTED)


def _expired(d: UeDecision, name: str, count: int) -> None:
    kind, _, psi = name.partition("/")
    if kind == n4.TIMER:
        _n4_expired(d)
        return
    session = user_plane.by_id(d, int(psi))
    if session is None:
        d.note(f"{name} expired without a session")
    elif kind == "T3592":
        release.expired(d, session, count)
    else:
        modification.expired(d, session, count)


def _n4_expired(d: UeDecision) -> None:
    for session in d.ue.sessions:
        sent = session.n4.sent
        if sent is None or n4.due(d, sent) > d.env.now:
            continue
        if session.stage == "establishing" and sent.count >= n4.REPETITIONS:
            establishment.failed(d, session, _silent(session))
        if session.stage == "released" and sent.message == "establish" and sent.count >= n4.GIVE_UP:
            d.emit(SessionDeleted(session.n4.seid, "its UPF never responded"))
            continue
        # What may have reached the UPF is asked for until it answers: then it can be deleted.
        n4.repeat(d, session)
