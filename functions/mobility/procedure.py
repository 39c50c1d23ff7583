"""Mobility between gNBs in CM-CONNECTED: by Xn (`xn_handover`) and by N2
(`n2_handover`) (TS 23.502 4.9.1)."""

from typing import Final

from functions.decision import connection, protocol_errors
from functions.decision.inputs import Input, NgapReceived, TimerExpired
from functions.decision.ue_decision import UeDecision
from functions.gsm import user_plane
from functions.messages import ngap
from functions.messages.ngap import handover as messages
from functions.messages.trees import Tree
from functions.mobility import end, n2_handover, xn_handover
from schemas.gsm.events import (
    ResourcesUnneeded,
    UserPlaneOff,
    UserPlaneOn,
    UserPlanePending,
    UserPlaneRequested,
)
from schemas.mobility.events import HandoverCompleted, NasNotDelivered
from schemas.mobility.state import Moving


def decide(d: UeDecision, received: Input) -> None:
    """Decide about one message of a handover, or the timer that guards it."""
    match received:
        case NgapReceived(message, ies, amf_ue_ngap_id):
            handle = _MESSAGES.get(message)
            if handle is None:
                d.note(f"{message} is not a handover message")
            else:
                handle(d, ies, amf_ue_ngap_id)
        case TimerExpired():
            _expired(d)
        case _:
            d.note(f"nothing to do for {received!r}")


def _notified(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """HANDOVER NOTIFY (TS 38.413 8.4.3, TS 23.502 4.9.1.3.3): the UE is at the target."""
    ongoing, target = d.ue.handover, d.ue.target
    if ongoing is None or target is None or target.amf_ue_ngap_id != amf_ue_ngap_id:
        protocol_errors.not_in_this_state(d, "HandoverNotify", amf_ue_ngap_id)
        return
    if ongoing.stage != "executing":
        protocol_errors.not_in_this_state(d, "HandoverNotify", amf_ue_ngap_id)
        return
    source = d.connection
    tai, cell = ngap.location_of(ies) or (target.tai, target.cell)
    d.stop_timer(connection.HANDOVER_TIMER)
    d.emit(HandoverCompleted(tai, cell))
    d.release(messages.SUCCESSFUL, source)
    _move(d, ongoing.sessions)
    if ongoing.undelivered:
        end.repeat(d)


def _move(d: UeDecision, sessions: tuple[Moving, ...]) -> None:
    """Give the sessions that the target has admitted their tunnels there. What the source was
    asked for in vain is wanted of the target; what this has in vain, it is to release."""
    here = d.connection
    along = {moving.seid: moving for moving in sessions}
    for session in user_plane.live(d):
        seid = session.n4.seid
        moving = along.get(seid)
        access = moving.access if moving is not None else None
        goes_on = session.user_plane != "off" and session.stage in n2_handover.MOVABLE
        if access is not None and goes_on:
            d.emit(UserPlaneRequested(seid, here.amf_ue_ngap_id))
            d.emit(UserPlaneOn(seid, access))
            del along[seid]
        elif session.user_plane == "requested":
            d.emit(UserPlaneOff(seid, "the UE left the gNB"))
            d.emit(UserPlanePending(seid))
    for moving in along.values():
        d.emit(ResourcesUnneeded(here.amf_ue_ngap_id, moving.psi))


def _cancelled(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """HANDOVER CANCEL (TS 38.413 8.4.5), which always has its answer."""
    source = connection.find(d, amf_ue_ngap_id)
    if source is None or source.releasing:
        d.note("HANDOVER CANCEL crosses the UE CONTEXT RELEASE COMMAND")
        return
    d.send(messages.handover_cancel_acknowledge(source), source)
    ongoing = d.ue.handover
    if ongoing is None or ongoing.source != amf_ue_ngap_id or ongoing.stage == "switching":
        d.note("HANDOVER CANCEL without a handover")
        return
    cause = ies.get("Cause", messages.CANCELLED)
    end.end(d, f"cancelled: {ngap.cause_text(cause)}", messages.CANCELLED)


def _status(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """UPLINK RAN STATUS TRANSFER (TS 38.413 8.4.6, 8.4.7): for the target."""
    ongoing, target = d.ue.handover, d.ue.target
    executing = ongoing is not None and ongoing.stage == "executing"
    if target is None or ongoing is None or not executing or ongoing.source != amf_ue_ngap_id:
        protocol_errors.not_in_this_state(d, "UplinkRANStatusTransfer", amf_ue_ngap_id)
        return
    container = ies["RANStatusTransfer-TransparentContainer"]
    d.send(messages.downlink_ran_status_transfer(target, container), target)


def _not_delivered(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """NAS NON DELIVERY INDICATION (TS 38.413 8.6.4): after a handover what a NAS timer guards is
    sent again; otherwise the timer sees to it."""
    cause = ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    d.note(f"NAS NON DELIVERY INDICATION: {cause}")
    if not d.connection_is(amf_ue_ngap_id):
        old = connection.find(d, amf_ue_ngap_id)
        if old is not None and old.releasing == ngap.cause_text(messages.SUCCESSFUL):
            end.repeat(d)
        return
    if cause in messages.TRIGGERED and not d.connection.releasing:
        connection.handover_triggered(d)
    if d.ue.handover is not None:
        d.emit(NasNotDelivered())


def _expired(d: UeDecision) -> None:
    """What should have come has not: the target's answer, the UE, the UPFs', the handover."""
    ongoing = d.ue.handover
    if ongoing is None:
        d.note("the timer of an ended handover")
    elif ongoing.stage == "preparing":
        end.fail(d, "the target does not respond", messages.FAILED_IN_TARGET)
    elif ongoing.stage == "executing":
        end.end(d, "the UE did not arrive at the target", messages.OVERDUE)
    elif ongoing.stage == "switching":
        xn_handover.conclude(d)
    else:
        end.end(d, "no handover followed", messages.OVERDUE)


_MESSAGES: Final = {
    "PathSwitchRequest": xn_handover.requested,
    "HandoverRequired": n2_handover.required,
    "HandoverRequestAcknowledge": n2_handover.acknowledged,
    "HandoverFailure": n2_handover.failed,
    "HandoverNotify": _notified,
    "HandoverCancel": _cancelled,
    "UplinkRANStatusTransfer": _status,
    "NASNonDeliveryIndication": _not_delivered,
}
