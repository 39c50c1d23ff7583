"""The user plane of PDU sessions at the gNB: set up, and lost (TS 23.502 4.2.3, TS 38.413 8.2)."""

from collections.abc import Iterable, Sequence

import wire
from functions.decision import connection
from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from functions.messages.nas import codec, gsm
from functions.messages.ngap import ue_context
from functions.messages.ngap.handover import TRIGGERED
from functions.messages.trees import Tree, subtree
from schemas.causes import GsmCause
from schemas.connection.events import ContextRequested
from schemas.gsm.events import (
    SessionReleased,
    UserPlaneOff,
    UserPlaneOn,
    UserPlanePending,
    UserPlaneRequested,
)
from schemas.gsm.state import PduSession
from schemas.ue import states
from schemas.ue.state import connections


def live(d: UeDecision) -> list[PduSession]:
    """The sessions that the UE has, or is getting."""
    return [session for session in d.ue.sessions if session.stage != "released"]


def by_id(d: UeDecision, psi: int) -> PduSession | None:
    """The session of a PDU session identity that is not gone."""
    return next((session for session in live(d) if session.id == psi), None)


def reachable(d: UeDecision) -> bool:
    """Whether the UE has a connection that messages can be sent on."""
    return states.reachable(d.ue)


def activate(d: UeDecision, ids: Iterable[int]) -> list[PduSession]:
    """Have the user plane of sessions come up; those that this does something for."""
    chosen = set(ids)
    found = [
        session
        for session in live(d)
        if session.id in chosen
        and session.stage in ("active", "modifying")
        and session.user_plane == "off"
    ]
    for session in found:
        d.emit(UserPlanePending(session.n4.seid))
    return found


def lose(d: UeDecision) -> None:
    """Sessions whose resources went with the connection that they were asked for by.

    A connection that the UE has left keeps them until the UE has proved itself on another.
    """
    if all(session.user_plane == "off" for session in d.ue.sessions):
        return
    alive = {c.amf_ue_ngap_id for c in connections(d.ue) if not c.releasing}
    for session in live(d):
        by = session.amf_ue_ngap_id
        asked = session.user_plane in ("requested", "on")
        if (asked and by not in alive) or (session.user_plane == "pending" and not alive):
            d.emit(UserPlaneOff(session.n4.seid, "the connection is gone"))
            if session.stage == "establishing" and alive:
                d.emit(UserPlanePending(session.n4.seid))  # its accept goes by the other one


def wanted(d: UeDecision) -> list[PduSession]:
    """The sessions that the gNB can be asked for: their UPFs have them."""
    return [s for s in live(d) if s.user_plane == "pending" and s.n4.up_seid and s.uplink]


def request(d: UeDecision) -> None:
    """Ask the gNB for the sessions that are wanted, unless it is busy setting up the context, or
    handing the UE over (TS 23.502 4.9.1.3.2), or the UE is taking another key into use."""
    sessions = wanted(d)
    if not sessions or check(d, Start.RESOURCE_SETUP) is not Verdict.START:
        return
    if d.connection.context == "none":
        request_context(d, sessions=sessions)
    else:
        _request_resources(d, sessions)


def request_context(
    d: UeDecision, nas: bytes = b"", *, sessions: Sequence[PduSession] = ()
) -> None:
    """Have the gNB set the UE context up (TS 38.413 8.3.1), with sessions whose UPFs have them.

    A session that is being established has its accept there.
    """
    if d.ue.security is None:
        return
    if d.connection.context == "none":
        d.emit(ContextRequested(d.connection.kgnb_count))
    here, security = d.connection, d.ue.security
    subscriber = d.env.subscriber
    ambr = subscriber.ambr if subscriber is not None else None
    d.send(
        ue_context.initial_context_setup_request(
            here,
            security,
            wire.kgnb(security.kamf, here.kgnb_count),
            d.env.network.guami,
            d.ue.allowed_nssai,
            d.ue.radio_capability,
            d.ue.pei,
            nas,
            [(session, _accept(d, session)) for session in sessions],
            ambr,
        )
    )
    for session in sessions:
        d.emit(UserPlaneRequested(session.n4.seid, d.connection.amf_ue_ngap_id, ambr))


def _request_resources(d: UeDecision, sessions: Sequence[PduSession]) -> None:
    items = [(session, _accept(d, session)) for session in sessions]
    subscriber = d.env.subscriber
    ambr = subscriber.ambr if subscriber is not None else None
    d.send(ue_context.pdu_session_resource_setup_request(d.connection, items, ambr))
    for session in sessions:
        d.emit(UserPlaneRequested(session.n4.seid, d.connection.amf_ue_ngap_id, ambr))


def _accept(d: UeDecision, session: PduSession) -> bytes:
    """The protected PDU SESSION ESTABLISHMENT ACCEPT of a session in the making, else nothing."""
    if session.stage != "establishing":
        return b""
    asked = codec.decode(session.request)
    return d.protect(gsm.accept(session, asked, d.env.network.data_network(session.dnn)))


def established(d: UeDecision) -> list[int]:
    """The PDU session status: the sessions that the UE has (9.11.3.44)."""
    return sorted(s.id for s in live(d) if s.stage in ("active", "modifying"))


def not_reactivated(d: UeDecision, asked: list[int]) -> list[int]:
    """The PDU session reactivation result: those that stay without resources (9.11.3.42)."""
    coming = {s.id for s in live(d) if s.user_plane != "off"}
    return [psi for psi in asked if psi not in coming]


# The answers of the gNB


def answered(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Take what the gNB says of the sessions that it was asked for (9.2.1.2, 9.2.2.2, 9.2.2.3).

    Of one that another gNB has been asked for since, it has nothing to say.
    """
    for suffix in ("SURes", "CxtRes"):
        for item in ies.get(f"PDUSessionResourceSetupList{suffix}", ()):
            transfer = subtree(item, "pDUSessionResourceSetupResponseTransfer")
            flows = subtree(transfer, "dLQosFlowPerTNLInformation")
            tunnel = ue_context.read_tunnel(subtree(flows, "uPTransportLayerInformation"))
            session = _asked(d, item["pDUSessionID"], amf_ue_ngap_id)
            if session is None:
                d.note(f"the gNB has set up the PDU session {item['pDUSessionID']} unasked")
            elif tunnel is None:
                _failed(d, session, "no DL NG-U tunnel")
            else:
                d.emit(UserPlaneOn(session.n4.seid, tunnel))
    for suffix in ("SURes", "CxtRes", "CxtFail"):
        for item in ies.get(f"PDUSessionResourceFailedToSetupList{suffix}", ()):
            transfer = subtree(item, "pDUSessionResourceSetupUnsuccessfulTransfer")
            session = _asked(d, item["pDUSessionID"], amf_ue_ngap_id)
            if session is not None:
                _failed(d, session, ngap.cause_text(transfer.get("cause", ngap.UNSPECIFIED)))


def _asked(d: UeDecision, psi: int, amf_ue_ngap_id: int) -> PduSession | None:
    """A session that was asked for on a connection, and has no answer yet."""
    session = by_id(d, psi)
    if session is None or session.user_plane != "requested":
        return None
    return session if session.amf_ue_ngap_id == amf_ue_ngap_id else None


def unanswered(d: UeDecision) -> None:
    """The gNB has said nothing of sessions that it was asked for."""
    for session in live(d):
        if session.user_plane == "requested":
            _failed(d, session, "not in the answer of the gNB")


def _failed(d: UeDecision, session: PduSession, reason: str) -> None:
    """No resources. A session in the making ends, and the UE is told (TS 23.502 4.3.2.2.1); but
    what a handover has come in between is wanted again after that."""
    if reason in TRIGGERED and reachable(d):
        connection.handover_triggered(d)
    if reason in TRIGGERED and d.ue.handover is not None:
        d.emit(UserPlaneOff(session.n4.seid, reason))
        d.emit(UserPlanePending(session.n4.seid))
        return
    if session.stage != "establishing":
        d.emit(UserPlaneOff(session.n4.seid, reason))
        return
    d.emit(SessionReleased(session.n4.seid, reason))
    if reachable(d):
        reject = gsm.reject(session.id, session.pti, GsmCause.INSUFFICIENT_RESOURCES)
        d.send_nas(gsm.transport(reject, session.id))
