"""The preparation of a handover by N2 (TS 23.502 4.9.1.3.2, TS 38.413 8.4.1, 8.4.2).

`procedure` has the rest: HANDOVER NOTIFY, HANDOVER CANCEL and the expiry of the timer.
"""

from typing import Final

from functions.decision import connection, ran_parameters
from functions.decision.collisions import Start
from functions.decision.ue_decision import UeDecision
from functions.gsm import user_plane
from functions.messages import ngap
from functions.messages.ngap import Cause
from functions.messages.ngap import handover as messages
from functions.messages.ngap.handover import Target
from functions.messages.trees import Tree
from functions.mobility import end
from functions.mobility.keys import may_go, next_hop
from functions.mobility.target import area_of
from schemas.connection.events import ConnectionReleasing
from schemas.connection.state import NO_RAN_UE_NGAP_ID, Connection
from schemas.gsm.state import PduSession
from schemas.mobility.events import HandoverAdmitted, HandoverPrepared
from schemas.mobility.state import Moving
from schemas.network import TrackingArea
from schemas.subscriber import Ambr
from schemas.ue.state import inactive_of

MOVABLE: Final = ("active", "modifying")
"""Stages of a session that a handover can move."""


def required(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process HANDOVER REQUIRED. It replaces a handover that the same gNB has started before."""
    source = connection.find(d, amf_ue_ngap_id)
    if source is None or source.releasing:
        d.note("HANDOVER REQUIRED crosses the UE CONTEXT RELEASE COMMAND")
        return
    ongoing = d.ue.handover
    own = ongoing is not None and ongoing.source == amf_ue_ngap_id
    if ongoing is not None and own and ongoing.stage in ("preparing", "executing"):
        end.end(d, "the gNB starts another one", messages.CANCELLED)
    refusal = _refusal(d, source) or _prepare(d, ies)
    if refusal is not None:
        d.note(f"HANDOVER REQUIRED: {ngap.cause_text(refusal)}")
        d.send(messages.handover_preparation_failure(source, refusal), source)
        if d.ue.handover is not None and own and d.ue.handover.stage == "triggered":
            end.end(d, "it cannot be prepared", refusal)


def _refusal(d: UeDecision, source: Connection) -> Cause | None:
    """Return the reason that a UE cannot be handed over from a connection, None if it can."""
    here = d.connection_is(source.amf_ue_ngap_id)
    return None if here and may_go(d, Start.N2_HANDOVER) else ngap.WRONG_STATE


def _prepare(d: UeDecision, ies: Tree) -> Cause | None:
    """Ask the target for resources. Return the reason if it cannot be asked, None if it is."""
    found, subscriber = messages.target_of(ies), d.env.subscriber
    if found is None:
        return messages.UNKNOWN_TARGET
    area = area_of(d, found.tai)
    if area is None or subscriber is None:
        return messages.NOT_ALLOWED
    association = d.env.association(found.tai, found.gnb)
    if not association:
        return messages.UNKNOWN_TARGET
    asked = dict.fromkeys(item["pDUSessionID"] for item in ies.get(_SESSIONS, ()))
    sessions = [s for psi in asked if (s := _movable(d, psi, area)) is not None]
    if not sessions:
        return messages.UNKNOWN_SESSION
    target = _target(d, found, association, subscriber.ambr)
    hop = next_hop(d)
    pdu = messages.handover_request(d.ue, target, hop, ies, sessions, d.env.network, subscriber)
    along = tuple(Moving(s.n4.seid, s.id) for s in sessions)
    left = tuple(psi for psi in asked if psi not in {s.id for s in sessions})
    d.emit(HandoverPrepared(target, along, left))
    d.send(pdu, target)
    d.start_timer(connection.HANDOVER_TIMER, d.env.network.timers.handover_preparation)
    return None


_SESSIONS: Final = "PDUSessionResourceListHORqd"


def _movable(d: UeDecision, psi: int, area: TrackingArea) -> PduSession | None:
    """Return a session that can move to a tracking area: it has resources, and the area its
    slice."""
    session = user_plane.by_id(d, psi)
    if session is None or session.stage not in MOVABLE or session.nssai not in area.slices:
        return None
    here = session.user_plane in ("on", "requested") and session.uplink is not None
    return session if here and session.n4.up_seid else None


def _target(d: UeDecision, found: Target, association: str, ambr: Ambr) -> Connection:
    return Connection(
        gnb=found.gnb,
        association=association,
        ran_ue_ngap_id=NO_RAN_UE_NGAP_ID,
        amf_ue_ngap_id=connection.new_amf_ue_ngap_id(d),
        sequence=-1,
        tai=found.tai,
        ambr=ambr,
        rekeyed=d.connection.rekeyed,
        restrictions=ran_parameters.restrictions(d, found.tai.plmn),
        rfsp=d.connection.rfsp,
        inactive=inactive_of(d.ue),
    )


def acknowledged(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process HANDOVER REQUEST ACKNOWLEDGE: send HANDOVER COMMAND."""
    ongoing, target = d.ue.handover, d.ue.target
    if ongoing is None or target is None or target.amf_ue_ngap_id != amf_ue_ngap_id:
        _too_late(d, amf_ue_ngap_id)
        return
    if ongoing.stage != "preparing":
        d.note("the same HANDOVER REQUEST ACKNOWLEDGE again")
        return
    asked = {moving.psi: moving.seid for moving in ongoing.sessions}
    taken = [a for a in messages.admitted(ies) if a.psi in asked and a.access is not None]
    along = tuple(Moving(asked[a.psi], a.psi, a.access) for a in taken)
    ran_ue_ngap_id = ies.get("RAN-UE-NGAP-ID")  # its criticality has it ignored if it is malformed
    if ran_ue_ngap_id is not None:
        d.emit(HandoverAdmitted(ran_ue_ngap_id, along, d.order))
    if not taken or ran_ue_ngap_id is None:
        end.fail(d, "no session is admitted", messages.FAILED_IN_TARGET)
        return
    why = messages.failures(ies)
    left: dict[int, Cause] = dict.fromkeys(ongoing.refused, messages.UNKNOWN_SESSION)
    for psi in asked.keys() - {a.psi for a in taken}:
        left[psi] = why.get(psi, messages.FAILED_IN_TARGET)
    container = ies["TargetToSource-TransparentContainer"]
    command = messages.handover_command(d.connection, taken, dict(sorted(left.items())), container)
    d.send(command)
    d.start_timer(connection.HANDOVER_TIMER, d.env.network.timers.handover_execution)


def _too_late(d: UeDecision, amf_ue_ngap_id: int) -> None:
    """Release the resources of a target for a handover that has ended.

    The target has had a UE CONTEXT RELEASE COMMAND. If that came before the request, it gets
    another.
    """
    d.note("HANDOVER REQUEST ACKNOWLEDGE of an ended handover")
    found = connection.find(d, amf_ue_ngap_id)
    if found is not None and found.releasing == end.UNKNOWN_TO_TARGET:
        d.send(ngap.ue_context_release_command(found, messages.CANCELLED), found)
        d.emit(ConnectionReleasing(amf_ue_ngap_id, ngap.cause_text(messages.CANCELLED)))


def failed(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process HANDOVER FAILURE: the target has no resources."""
    ongoing, target = d.ue.handover, d.ue.target
    found = connection.find(d, amf_ue_ngap_id)
    if found is None or found.ran_ue_ngap_id != NO_RAN_UE_NGAP_ID:
        d.note("HANDOVER FAILURE of a handover that is not being prepared")
        return
    connection.released(d, amf_ue_ngap_id, "HANDOVER FAILURE")
    if ongoing is None or target is None or target.amf_ue_ngap_id != amf_ue_ngap_id:
        d.note("HANDOVER FAILURE of an ended handover")
        return
    cause = ies.get("Cause", messages.FAILED_IN_TARGET)
    container = ies.get("TargettoSource-Failure-TransparentContainer")
    end.fail(d, ngap.cause_text(cause), cause, container)
