"""The PFCP session of a PDU session (TS 29.244 6.3): requests to its UPF, and their answers."""

from typing import Final, Literal

from msgspec.structs import replace

import wire
from functions.decision.ue_decision import UeDecision
from functions.gsm import rejection, user_plane
from functions.messages import pfcp
from functions.messages.pfcp import rules
from functions.messages.trees import Tree
from schemas.aggregates import upf_aggregate, upfs_of_source
from schemas.cloudevents import CloudEvent, EventType, SessionLeft
from schemas.gsm.events import (
    N4Answered,
    N4Failed,
    N4Replaced,
    N4Sent,
    SessionDeleted,
    UplinkReplaced,
    UserPlaneOff,
)
from schemas.gsm.state import N4Request, PduSession, Tunnel
from schemas.identity import index_seid, slot_of, slot_of_seid
from schemas.procedures import Procedure
from schemas.step import HandOff, SendPfcp, encode

TIMER: Final = "n4"

REPETITIONS: Final = 3
"""Number of times that an establishment is given to the gateway again before it fails."""

GIVE_UP: Final = 10
"""The same for a session that was released meanwhile. An answer after that is deleted at the
UPF."""

_SLOWEST: Final = 1024
"""Longest interval between repetitions, in first intervals."""


def find(d: UeDecision, seid: int) -> PduSession | None:
    """Return the session of a SEID of the core, None if there is none."""
    return next((s for s in d.ue.sessions if s.n4.seid == seid), None)


def establish(d: UeDecision, session: PduSession) -> None:
    """Ask the UPF to establish a session, or to establish it again after a loss (TS 23.527
    4.3.2)."""
    request = _request(d, session, "establish")
    _send(d, session, replace(request, downlink=session.access, ambr=session.ambr))


def modify(d: UeDecision, session: PduSession) -> None:
    """Ask the UPF to use the downlink tunnel and the AMBR of the session."""
    to, before = session.access, session.n4.downlink
    request = replace(_request(d, session, "modify"), downlink=to, ambr=session.ambr)
    if to is not None and before not in (None, to):
        # An end marker tells the first gNB that no packet follows (TS 23.502 4.9.1.2).
        features = d.env.upf_features(session.n4.upf)
        request = replace(request, end_marker="EMPU" in features)
    _send(d, session, request)


def delete(d: UeDecision, session: PduSession) -> None:
    """Ask the UPF to delete the session. A session that is not released is then established
    again."""
    _send(d, session, _request(d, session, "delete"))


def _request(
    d: UeDecision, session: PduSession, message: Literal["establish", "modify", "delete"]
) -> N4Request:
    """Return a new request to the incarnation of the UPF that the session belongs to."""
    number = d.ue.n4_requests + 1
    return N4Request(message, number, d.env.now, incarnation=session.n4.incarnation)


def renew(d: UeDecision, session: PduSession) -> None:
    """Delete the session at the UPF and establish it again.

    A UPF then buffers from the start and reports the first packet. TS 29.244 has lighter ways that
    not every UPF implements: most releases of Open5GS ignore DROBU (8.2.31), and do not report
    again after DROP (8.2.26).
    """
    if session.n4.sent is None and session.n4.up_seid:
        delete(d, session)


def established_twice(d: UeDecision, session: PduSession, tree: Tree, number: int | None) -> None:
    """Delete one of two PFCP sessions of a PDU session, after an establishment that was repeated or
    given up.

    The UPF is asked to delete it as a leftover until it has. A UPF that was asked to restore the
    session has replaced the earlier one by the later one, or has both. If gNBs send to both, the
    later one is the session. An answer without a `number`, which its gateway could not match, is
    late and belongs to the earlier one.
    """
    ies = pfcp.ies_of(tree["ies"])
    up_seid, mine = ies.get("F-SEID", {}).get("seid", 0), session.n4.up_seid
    if ies.get("Cause") != pfcp.ACCEPTED or up_seid in (0, mine):
        return
    same = session.uplink is not None and rules.created(tree) in (None, session.uplink)
    if mine and same and number is not None and session.stage not in ("released", "releasing"):
        d.emit(N4Replaced(session.n4.seid, up_seid))
        up_seid = mine
    upf, data = session.n4.upf, encode(SessionLeft(up_seid, session.n4.incarnation))
    kind, to = EventType.SESSION_LEFT, Procedure.UPF
    d.hand_off(HandOff(kind, to, upf_aggregate(upf), data, slot_of(upf)))


def due(d: UeDecision, sent: N4Request) -> int:
    """Return the time at which a request is given to the gateway again. The interval doubles
    each time."""
    return sent.at + d.env.network.timers.n4 * 1000 * min(2 ** min(sent.count, 10), _SLOWEST)


def repeat(d: UeDecision, session: PduSession) -> None:
    """Give the waiting request to the gateway again: the gateway may have stopped."""
    sent = session.n4.sent
    if sent is not None:
        _send(d, session, replace(sent, at=d.env.now, count=sent.count + 1))


def ask_again(d: UeDecision, session: PduSession, incarnation: int) -> None:
    """Give the waiting request to the gateway again, for a UPF that was associated again since.

    `incarnation` is the Recovery Time Stamp of the UPF.
    """
    sent = session.n4.sent
    if sent is not None:
        _send(d, session, replace(sent, at=d.env.now, incarnation=incarnation))


def replace_uplink(d: UeDecision, session: PduSession, cause: str) -> None:
    """Establish a session again with another F-TEID: the UPF refuses the earlier one.

    The UPF allocates the F-TEID if it can (FTUP), or the core does. The gNB gets it with new
    resources: the current ones are released (TS 23.502 4.3.7), and needed again.
    """
    uplink = None
    if session.n4.allocates and session.uplink is not None:
        uplink = Tunnel(1 + d.env.random_int(32) % 0xFFFF_FFFF, session.uplink.address)
    d.emit(UplinkReplaced(session.n4.seid, cause, uplink))
    if session.user_plane in ("on", "requested"):
        user_plane.unneeded(d, session)
        d.emit(UserPlaneOff(session.n4.seid, "the UPF has another F-TEID"))
        if user_plane.reachable(d):
            user_plane.activate(d, [session.id])


def reconcile(d: UeDecision) -> None:
    """Ask each UPF for the session as it is to be."""
    for session in d.ue.sessions:
        _reconcile(d, session)


def _reconcile(d: UeDecision, session: PduSession) -> None:
    """Send the next request of a session, if no request waits for its answer."""
    current = session.n4
    if current.sent is not None:
        waited = d.env.now - current.sent.at
        if current.sent.count and d.from_gnb and waited >= d.env.network.timers.n4 * 1000:
            repeat(d, session)  # The UE is connected: do not wait for the long interval.
        if session.stage == "released" and d.env.network.upf(current.upf) is None:
            d.emit(SessionDeleted(current.seid, "its UPF is no longer configured"))
    elif session.stage == "released":
        if current.up_seid and d.env.network.upf(current.upf) is not None:
            delete(d, session)
        else:
            d.emit(SessionDeleted(current.seid, "it is not at a UPF"))
    elif session.stage == "releasing":
        return  # The UE answers first, or T3592 expires.
    elif not current.up_seid:
        if not d.attempt(f"PDU session {session.id} at {current.upf}", establish, d, session):
            _not_requested(d, session)
    elif (current.downlink, current.ambr) != (session.access, session.ambr):
        d.attempt(f"a change of PDU session {session.id} at {current.upf}", modify, d, session)


def _not_requested(d: UeDecision, session: PduSession) -> None:
    """Reject a session that no request to its UPF can be made for."""
    if session.stage == "establishing":
        reason = f"no request to UPF {session.n4.upf} can be made"
        rejection.insufficient(d, session, reason, reachable=user_plane.reachable(d))
        d.emit(SessionDeleted(session.n4.seid, "it is not at a UPF"))


def rearm(d: UeDecision) -> None:
    """Start the timer for the waiting request that is due first."""
    dues = [due(d, s.n4.sent) for s in d.ue.sessions if s.n4.sent is not None]
    timer = d.ue.timers.get(TIMER)
    if not dues:
        d.stop_timer(TIMER)
    elif timer is None or timer.at != min(dues):
        d.start_timer(TIMER, (min(dues) - d.env.now) / 1000)


def answered(d: UeDecision, session: PduSession, tree: Tree) -> str:
    """Process the answer of the UPF. Return its fault, empty for none."""
    sent, ies = session.n4.sent, pfcp.ies_of(tree["ies"])
    cause = ies.get("Cause", "no cause")
    seid = session.n4.seid
    if sent is None:
        return "no pending request"
    if sent.message == "delete" and cause == pfcp.NOT_FOUND:
        cause = pfcp.ACCEPTED
    if cause != pfcp.ACCEPTED:
        d.emit(N4Failed(seid, str(cause)))
        return str(cause)
    if sent.message != "establish":
        d.emit(N4Answered(seid))
        return ""
    up_seid = ies.get("F-SEID", {}).get("seid", 0)
    uplink = rules.created(tree) or session.uplink
    named = pfcp.named_node(ies)
    reason = ""
    if named not in ("", session.n4.upf):
        reason = f"it has the Node ID of another UPF: {named}"
    elif not up_seid:
        reason = "no F-SEID of the UPF"
    elif uplink is None:
        reason = "no F-TEID of the UPF"
    if reason or uplink is None:
        d.emit(N4Failed(seid, reason))
        established_twice(d, session, tree, sent.number)
        return reason
    d.emit(N4Answered(seid, up_seid, uplink))
    return ""


def read(octets: bytes) -> tuple[str, Tree | None, str]:
    """Return the name of a PFCP message, its usable tree if it has one, and its faults."""
    try:
        name, faults = wire.pfcp_peek(octets).message, wire.pfcp_check(octets)
        if faults is None:
            return name, wire.pfcp_decode(octets), ""
        if faults["action"] == "ignore":
            return name, wire.pfcp_decode(octets, lenient=True), faults["text"]
        return name, None, faults["text"]
    except wire.WireError as err:
        return "", None, str(err)


def sender_fault(d: UeDecision, trigger: CloudEvent, seid: int, tree: Tree | None) -> str:
    """Return why the sender of a message about a session is not the UPF of the session; empty if
    it can be.

    The SEID of a report is no proof: another UPF may know it. A response has the SEID of the core,
    or 0 if it refuses (7.2.2.4.2).
    """
    session = find(d, seid)
    senders = upfs_of_source(trigger.source)
    if session is None:
        return ""
    if session.n4.upf not in senders:
        return f"a message of UPF {','.join(senders)} about a session of UPF {session.n4.upf}"
    if tree is None or trigger.sequence is None or tree.get("seid") in (None, seid):
        return ""
    refused = pfcp.ies_of(tree["ies"]).get("Cause") != pfcp.ACCEPTED
    if refused and tree["seid"] == 0:
        return ""
    return f"a response with the SEID {tree['seid']:016x} of another session"


def not_found(d: UeDecision, trigger: CloudEvent) -> None:
    """Answer a request about a session that its sender does not have (8.2.1, #65)."""
    peek = wire.pfcp_peek(trigger.data)
    ies: list[Tree] = [{"Cause": pfcp.NOT_FOUND}]
    pdu = pfcp.response(peek.message, peek.sequence, d.env.network.n4_address, ies)
    sender = upfs_of_source(trigger.source)[0]
    d.outputs.append(SendPfcp(sender, trigger.partitionkey, d.slot, pdu))


def refuse(d: UeDecision, trigger: CloudEvent, seid: int) -> None:
    """Answer a report that cannot be used (7.6)."""
    session = find(d, seid)
    try:
        peek, faults = wire.pfcp_peek(trigger.data), wire.pfcp_check(trigger.data)
    except wire.WireError:
        return
    if session is None or faults is None or faults["action"] != "reject":
        return
    ies: list[Tree] = [{"Cause": faults["cause"]}]
    if faults["offending_ie_type"] is not None:
        ies.append({"Offending IE": faults["offending_ie_type"]})
    name = peek.message.replace("Request", "Response")
    head = {"message": name, "seid": session.n4.up_seid, "sequence": peek.sequence}
    pdu = wire.pfcp_encode({**head, "ies": ies})
    d.outputs.append(SendPfcp(session.n4.upf, trigger.partitionkey, d.slot, pdu))


def _send(d: UeDecision, session: PduSession, request: N4Request) -> None:
    d.emit(N4Sent(session.n4.seid, request))
    d.outputs.append(
        SendPfcp(
            upf=session.n4.upf,
            partitionkey=index_seid(session.n4.seid),
            slot=slot_of_seid(session.n4.seid),
            pdu=_message(d, session, request),
            number=request.number,
            incarnation=request.incarnation,
        )
    )


def _message(d: UeDecision, session: PduSession, request: N4Request) -> bytes:
    n4, network = session.n4, d.env.network
    upf = network.upf(n4.upf)
    n3_instance = upf.n3_instance if upf is not None else ""
    match request.message:
        case "establish":
            name, seid = "SessionEstablishmentRequest", 0
            ies = rules.establishment(network.n4_address, session, request, n3_instance)
        case "modify":
            name, seid = "SessionModificationRequest", n4.up_seid
            ies = rules.modification(n4, request, n3_instance)
        case "delete":
            name, ies, seid = "SessionDeletionRequest", list[Tree](), n4.up_seid
    return pfcp.session_message(name, seid, ies)
