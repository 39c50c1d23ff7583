"""PDU session modification, by the UE (TS 24.501 6.4.2) or by the network (6.3.2)."""

from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import RETRANSMISSIONS, UeDecision
from functions.gsm import user_plane
from functions.messages.nas import gsm
from functions.messages.ngap import ue_context
from functions.messages.trees import Tree
from schemas.causes import GsmCause
from schemas.gsm.events import ResourcesAsked, SessionModified, SessionModifying
from schemas.gsm.state import PduSession
from schemas.subscriber import Ambr


def requested(d: UeDecision, session: PduSession, request: Tree) -> None:
    """Process a PDU SESSION MODIFICATION REQUEST.

    A request that only informs (capability, filters) is accepted without a change. A request for
    other QoS than the subscribed one is rejected with #26 (6.4.2.4).
    """
    psi, pti = request["pdu-session-identity"], request["procedure-transaction-identity"]
    verdict = check(d, Start.SESSION_MODIFICATION_BY_UE, session)
    if verdict is Verdict.IGNORE:
        d.note("a modification of a session that is being released")  # 6.3.3.5
    elif verdict is Verdict.REJECT:
        cause = GsmCause.MESSAGE_NOT_COMPATIBLE_WITH_STATE
        d.send_nas(gsm.transport(gsm.refusal(request, cause), psi))
    elif "requested-qos-rules" in request or "requested-qos-flow-descriptions" in request:
        cause = GsmCause.INSUFFICIENT_RESOURCES
        d.send_nas(gsm.transport(gsm.refusal(request, cause), psi))
    else:
        _command(d, session, pti, session.ambr)


def subscribed(d: UeDecision, session: PduSession, ambr: Ambr) -> None:
    """Give the UE, the gNB and the UPF the session AMBR of a changed subscription (TS 23.502
    4.3.3.2).

    It waits as the table of collisions says.
    """
    if session.ambr == ambr:
        return
    if check(d, Start.SESSION_MODIFICATION_BY_NETWORK, session) is Verdict.START:
        _command(d, session, 0, ambr)


def reconcile(d: UeDecision) -> None:
    """Give each session the session AMBR that is subscribed now."""
    if d.env.subscriber is None:
        return
    slices = d.env.subscriber.slices
    for session in user_plane.live(d):
        if session.emergency:
            continue
        for dnn in (dnn for one in slices if one.nssai == session.nssai for dnn in one.dnns):
            if dnn.name == session.dnn:
                what = f"another session AMBR of PDU session {session.id}"
                d.attempt(what, subscribed, d, session, dnn.ambr)


def _command(d: UeDecision, session: PduSession, pti: int, ambr: Ambr, count: int = 0) -> None:
    message = gsm.transport(gsm.modification_command(session, pti, ambr), session.id)
    if session.user_plane == "on" and ambr != session.ambr:
        nas = d.seal_nas(message)
        d.send(ue_context.pdu_session_resource_modify_request(d.connection, session, ambr, nas))
        d.emit(ResourcesAsked(d.connection.amf_ue_ngap_id, "modify", d.env.now))
    else:
        d.send_nas(message)
    if count == 0:
        d.emit(SessionModifying(session.n4.seid, ambr, pti))
    d.start_timer(f"T3591/{session.id}", d.env.network.timers.t3591, count)


def completed(d: UeDecision, session: PduSession, message: Tree) -> None:
    """Process a PDU SESSION MODIFICATION COMPLETE or COMMAND REJECT: each ends the procedure."""
    if session.stage != "modifying":
        d.note(f"{message['message-type']} without a pending command")
        return
    if "5gsm-cause" in message:
        d.note(f"the UE refuses the modification: {message['5gsm-cause']}")
    d.stop_timer(f"T3591/{session.id}")
    d.emit(SessionModified(session.n4.seid))


def answered(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process a PDU SESSION RESOURCE MODIFY RESPONSE. A session that the gNB did not modify is
    only noted."""
    for item in ies.get("PDUSessionResourceFailedToModifyListModRes", ()):
        d.note(f"the gNB did not modify the PDU session {item['pDUSessionID']}")
    user_plane.ended(d, "modify", amf_ue_ngap_id)


def expired(d: UeDecision, session: PduSession, count: int) -> None:
    """T3591: send the command again, four times; then end the procedure (6.3.2.5)."""
    if session.stage != "modifying":
        d.note("T3591 expired for a session that is not being modified")
    elif count >= RETRANSMISSIONS or not user_plane.reachable(d):
        d.emit(SessionModified(session.n4.seid))
    else:
        _command(d, session, session.pti, session.ambr, count + 1)
