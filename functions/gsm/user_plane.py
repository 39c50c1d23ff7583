"""The resources of PDU sessions at the gNB: their setup and their loss (TS 23.502 4.2.3, TS
38.413 8.2)."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import wire
from functions.decision import connection, ran_parameters
from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import UeDecision
from functions.gsm import rejection, user_plane_security
from functions.messages import ngap
from functions.messages.nas import codec, gsm
from functions.messages.ngap import ue_context
from functions.messages.ngap.handover import TRIGGERED
from functions.messages.trees import Tree, subtree
from schemas.causes import GsmCause
from schemas.connection.events import ContextRequested
from schemas.gsm.events import (
    ResourcesAnswered,
    ResourcesAsked,
    ResourcesUnneeded,
    UserPlaneOff,
    UserPlaneOn,
    UserPlanePending,
    UserPlaneRequested,
)
from schemas.gsm.state import PduSession
from schemas.ue import states
from schemas.ue.state import connections

OVERDUE: Final = 10_000
"""Milliseconds for a gNB to answer a request: T3517 gives the network 15 seconds, and T3580 16 (TS
24.501 10.2.1, 10.3.1)."""


def live(d: UeDecision) -> list[PduSession]:
    """Return the sessions that are not released."""
    return [session for session in d.ue.sessions if session.stage != "released"]


def by_id(d: UeDecision, psi: int) -> PduSession | None:
    """Return the session of a PDU session identity that is not released, None if there is none."""
    return next((session for session in live(d) if session.id == psi), None)


def reachable(d: UeDecision) -> bool:
    """Whether the UE has a connection that NAS messages can be sent on."""
    return states.reachable(d.ue)


def activate(d: UeDecision, ids: Iterable[int]) -> list[PduSession]:
    """Mark sessions as in need of resources. Return those that had none and needed none."""
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
    """Record that the resources of sessions were lost with their connection.

    A connection that the UE has left keeps them until the UE has proved its identity on another.
    """
    if all(session.user_plane == "off" for session in d.ue.sessions):
        return
    alive = {c.amf_ue_ngap_id for c in connections(d.ue) if not c.releasing}
    for session in live(d):
        by = session.amf_ue_ngap_id
        asked = session.user_plane in ("requested", "on")
        if (asked and by not in alive) or (session.user_plane == "pending" and not alive):
            d.emit(UserPlaneOff(session.n4.seid, "the connection is released"))
            if session.stage == "establishing" and alive:
                d.emit(UserPlanePending(session.n4.seid))  # its accept goes on the other connection


def wanted(d: UeDecision) -> list[PduSession]:
    """Return the sessions that the gNB can be asked for: they need resources, and their UPF has
    them."""
    return [s for s in live(d) if s.user_plane == "pending" and s.n4.up_seid and s.uplink]


def request(d: UeDecision) -> None:
    """Ask the gNB for the resources that sessions need, if the table of collisions lets it
    start."""
    sessions = wanted(d)
    if not sessions or check(d, Start.RESOURCE_SETUP) is not Verdict.START:
        return
    if len(sessions) > 1 and d.attempt("a request for resources", _request, d, sessions):
        return
    for session in sessions:
        if d.attempt(f"PDU session {session.id} at the gNB", _request, d, [session]):
            return  # the others wait for the answer
        _failed(d, session, "no request can be made")


def _request(d: UeDecision, sessions: Sequence[PduSession]) -> None:
    here = d.connection
    if here.context == "none":
        _request_context(d, b"", sessions, here.kgnb_count)
    else:
        _request_resources(d, sessions)


def unneeded(d: UeDecision, session: PduSession) -> None:
    """Have the gNB release the resources of a session if it has any, or may have them soon."""
    if session.user_plane in ("on", "requested") and reachable(d):
        d.emit(ResourcesUnneeded(d.connection.amf_ue_ngap_id, session.id))


def release(d: UeDecision, nas: bytes = b"") -> bool:
    """Ask the gNB to release the resources that are not needed, if the table of collisions lets it
    start. Return whether the request was sent, with the NAS message of a UE if there is one."""
    here = d.ue.connection
    if here is None or not here.unneeded:
        return False
    if check(d, Start.RESOURCE_RELEASE) is not Verdict.START:
        return False
    d.send(ue_context.pdu_session_resource_release_command(here, here.unneeded, nas))
    d.emit(ResourcesAsked(here.amf_ue_ngap_id, "release", d.env.now))
    return True


def reconcile(d: UeDecision) -> None:
    """Send the gNB the release of resources that has waited for its answer."""
    release(d)


def request_context(
    d: UeDecision,
    nas: bytes = b"",
    *,
    sessions: Sequence[PduSession] = (),
    kgnb_count: int | None = None,
) -> None:
    """Ask the gNB to set up the UE context (TS 38.413 8.3.1), with sessions that their UPFs have.

    The connection has no context, and no request for it waits. A session that is being established
    has its accept in the request. `kgnb_count` is the NAS COUNT that K_gNB is derived with, if it
    is another than that of the connection. If a session cannot be encoded, the UE gets its context
    without sessions, and `request` asks for them one by one.
    """
    count = d.connection.kgnb_count if kgnb_count is None else kgnb_count
    what = "the PDU sessions of the UE context"
    if not sessions or not d.attempt(what, _request_context, d, nas, sessions, count):
        _request_context(d, nas, (), count)


def _request_context(d: UeDecision, nas: bytes, sessions: Sequence[PduSession], count: int) -> None:
    if d.ue.security is None:
        return
    restrictions = ran_parameters.restrictions(d, d.plmn)
    d.emit(ContextRequested(count, d.env.now, restrictions, ran_parameters.rfsp(d)))
    here, security = d.connection, d.ue.security
    subscriber = d.env.subscriber
    ambr = subscriber.ambr if subscriber is not None else None
    d.send(
        ue_context.initial_context_setup_request(
            here,
            security,
            wire.kgnb(security.kamf, here.kgnb_count),
            d.guami,
            d.ue.allowed_nssai,
            d.ue.radio_capability,
            d.ue.paging_capability,
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
    d.emit(ResourcesAsked(d.connection.amf_ue_ngap_id, "setup", d.env.now))
    for session in sessions:
        d.emit(UserPlaneRequested(session.n4.seid, d.connection.amf_ue_ngap_id, ambr))


def _accept(d: UeDecision, session: PduSession) -> bytes:
    """Return the protected PDU SESSION ESTABLISHMENT ACCEPT, empty for a session that is
    established."""
    if session.stage != "establishing":
        return b""
    asked = codec.decode(session.request)
    return d.protect(gsm.accept(session, asked, d.env.network.data_network(session.dnn)))


def is_overdue(d: UeDecision) -> bool:
    """Whether the gNB has had time enough to answer a request that resources wait for.

    NGAP has no timer for it, so a message of the UE is the occasion to ask. The time counts from
    the request, and what the gNB has sent before the UE's message is decided before it. So a stall
    of the core is not counted against the gNB.
    """
    waits = [at for kind, at in d.connection.asked.items() if kind != "modify"]
    return bool(waits) and d.env.now - min(waits) >= OVERDUE


def established(d: UeDecision) -> list[int]:
    """Return the PDU session status: the sessions that the UE has (9.11.3.44)."""
    return sorted(s.id for s in live(d) if s.stage in ("active", "modifying"))


def not_reactivated(d: UeDecision, asked: list[int]) -> list[int]:
    """Return the PDU session reactivation result: the sessions without resources (9.11.3.42)."""
    coming = {s.id for s in live(d) if s.user_plane != "off"}
    return [psi for psi in asked if psi not in coming]


# The answers of the gNB


def ended(d: UeDecision, kind: Literal["setup", "modify", "release"], amf_ue_ngap_id: int) -> None:
    """Record that the gNB of a connection has answered a request about resources.

    Sessions that the answer to a setup does not have get no resources.
    """
    here = connection.find(d, amf_ue_ngap_id)
    if here is None or kind not in here.asked:
        d.note(f"an answer about resources without a pending request: {kind}")
        return
    if kind == "setup":
        unanswered(d, amf_ue_ngap_id)
    d.emit(ResourcesAnswered(amf_ue_ngap_id, kind))


def answered(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> list[PduSession]:
    """Process the answer of the gNB about the sessions of a request (9.2.1.2, 9.2.2.2, 9.2.2.3).

    It does not apply to a session that another gNB was asked for since. Return the established
    sessions that must be released, because the gNB cannot enforce their security policies (TS
    23.501 5.10.3).
    """
    insecure: list[PduSession] = []
    for suffix in ("SURes", "CxtRes"):
        for item in ies.get(f"PDUSessionResourceSetupList{suffix}", ()):
            transfer = subtree(item, "pDUSessionResourceSetupResponseTransfer")
            flows = subtree(transfer, "dLQosFlowPerTNLInformation")
            tunnel = ue_context.read_tunnel(subtree(flows, "uPTransportLayerInformation"))
            session = _asked(d, item["pDUSessionID"], amf_ue_ngap_id)
            if session is None:
                d.note(f"the gNB set up the PDU session {item['pDUSessionID']} without a request")
            elif tunnel is None:
                _failed(d, session, "no DL NG-U tunnel")
            elif (cause := user_plane_security.not_performed(session, transfer)) is not None:
                unneeded(d, session)
                insecure += _failed(d, session, ngap.cause_text(cause))
            else:
                d.emit(UserPlaneOn(session.n4.seid, tunnel))
    for suffix in ("SURes", "CxtRes", "CxtFail"):
        for item in ies.get(f"PDUSessionResourceFailedToSetupList{suffix}", ()):
            transfer = subtree(item, "pDUSessionResourceSetupUnsuccessfulTransfer")
            session = _asked(d, item["pDUSessionID"], amf_ue_ngap_id)
            if session is not None:
                reason = ngap.cause_text(transfer.get("cause", ngap.UNSPECIFIED))
                insecure += _failed(d, session, reason)
    return insecure


def _asked(d: UeDecision, psi: int, amf_ue_ngap_id: int) -> PduSession | None:
    """Return a session that the gNB of a connection was asked for, and has not answered about."""
    session = by_id(d, psi)
    if session is None or session.user_plane != "requested":
        return None
    return session if session.amf_ue_ngap_id == amf_ue_ngap_id else None


def unanswered(d: UeDecision, amf_ue_ngap_id: int) -> None:
    """Fail the sessions that the answer of the gNB does not have."""
    for session in live(d):
        if session.user_plane == "requested" and session.amf_ue_ngap_id == amf_ue_ngap_id:
            _failed(d, session, "not in the response of the gNB")


def _failed(d: UeDecision, session: PduSession, reason: str) -> list[PduSession]:
    """Record that the gNB has no resources for a session. Return the session if it must be
    released.

    The UE gets a reject for a session that is being established (TS 23.502 4.3.2.2.1). If a
    handover is the reason, the session needs resources again after it.
    """
    if reason in TRIGGERED and reachable(d):
        connection.handover_triggered(d)
    if reason in TRIGGERED and d.ue.handover is not None:
        d.emit(UserPlaneOff(session.n4.seid, reason))
        d.emit(UserPlanePending(session.n4.seid))
        return []
    cause = user_plane_security.refused(reason)
    if session.stage != "establishing":
        d.emit(UserPlaneOff(session.n4.seid, reason))
        return [] if cause is None else [session]
    told = cause or GsmCause.INSUFFICIENT_RESOURCES
    reason = f"the gNB has no resources: {reason}"
    rejection.insufficient(d, session, reason, reachable=reachable(d), cause=told)
    return []
