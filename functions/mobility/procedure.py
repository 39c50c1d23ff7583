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
from schemas.connection.state import Connection
from schemas.gsm.events import (
    ResourcesUnneeded,
    UserPlaneOff,
    UserPlaneOn,
    UserPlanePending,
    UserPlaneRequested,
)
from schemas.mobility.events import HandoverCompleted, NasNotDelivered
from schemas.mobility.state import Handover, Moving

LATE: Final = 1000
"""Milliseconds after its time at which the decision about a timer shows a stall of the core, or a
backlog. A wake-up for several UEs comes up to half a second after the time."""
RESTARTS: Final = 3
"""How often the timer of a handover starts again for that."""


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
            _expired(d, received)
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
    if "NotifySourceNGRANNode" in ies and not source.releasing:
        d.send(messages.handover_success(source), source)  # it still sends to the UE (8.4.8)
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


def _target(d: UeDecision, message: str, amf_ue_ngap_id: int) -> Connection | None:
    """Return the target that a `message` of the source is for. In another state than the execution
    of the handover, the gNB gets an ERROR INDICATION; return None."""
    ongoing, target = d.ue.handover, d.ue.target
    executing = ongoing is not None and ongoing.stage == "executing"
    if target is None or ongoing is None or not executing or ongoing.source != amf_ue_ngap_id:
        protocol_errors.not_in_this_state(d, message, amf_ue_ngap_id)
        return None
    return target


def _status(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """UPLINK RAN STATUS TRANSFER (TS 38.413 8.4.6, 8.4.7): for the target."""
    ongoing, target = d.ue.handover, _target(d, "UplinkRANStatusTransfer", amf_ue_ngap_id)
    if ongoing is None or target is None:
        return
    container = ies["RANStatusTransfer-TransparentContainer"]
    d.send(messages.downlink_ran_status_transfer(target, container), target)
    timer, limit = d.ue.timers.get(connection.HANDOVER_TIMER), _time_limit(d, ongoing)
    if timer is None or timer.count >= RESTARTS:
        return
    if timer.at - d.env.now < limit * 1000 / 2:
        # The target learns so late of it that the UE needs more time, for example after a stall.
        d.start_timer(connection.HANDOVER_TIMER, limit, timer.count + 1)


def _early_status(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process UPLINK RAN EARLY STATUS TRANSFER (TS 38.413 8.4.9, 8.4.10), of a source that goes on
    sending to the UE during a DAPS handover: forward it to the target."""
    target = _target(d, "UplinkRANEarlyStatusTransfer", amf_ue_ngap_id)
    if target is None:
        return
    container = ies["EarlyStatusTransfer-TransparentContainer"]
    d.send(messages.downlink_ran_early_status_transfer(target, container), target)


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


def _expired(d: UeDecision, timer: TimerExpired) -> None:
    """What should have come has not: the target's answer, the UE, the UPFs', the handover.

    The core's own delay is not counted against them: after it, what is missing may be on its way.
    """
    ongoing = d.ue.handover
    if ongoing is None:
        d.note("the timer of an ended handover")
    elif timer.late >= LATE and timer.count < RESTARTS:
        d.note("the timer of the handover was late, and starts again")
        d.start_timer(timer.name, _time_limit(d, ongoing), timer.count + 1)
    elif ongoing.stage == "preparing":
        end.fail(d, "the target does not respond", messages.FAILED_IN_TARGET)
    elif ongoing.stage == "executing":
        end.end(d, "the UE did not arrive at the target", messages.OVERDUE)
    elif ongoing.stage == "switching":
        xn_handover.conclude(d)
    else:
        end.end(d, "no handover followed", messages.OVERDUE)


def _time_limit(d: UeDecision, ongoing: Handover) -> int:
    """Return the seconds for the stage of a handover."""
    timers, by_ue = d.env.network.timers, ongoing.stage in ("triggered", "executing")
    return timers.handover_execution if by_ue else timers.handover_preparation


_MESSAGES: Final = {
    "PathSwitchRequest": xn_handover.requested,
    "HandoverRequired": n2_handover.required,
    "HandoverRequestAcknowledge": n2_handover.acknowledged,
    "HandoverFailure": n2_handover.failed,
    "HandoverNotify": _notified,
    "HandoverCancel": _cancelled,
    "UplinkRANStatusTransfer": _status,
    "UplinkRANEarlyStatusTransfer": _early_status,
    "NASNonDeliveryIndication": _not_delivered,
}
