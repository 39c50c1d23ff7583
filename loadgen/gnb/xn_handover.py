"""Xn handover: the UE moves, and the target has the path switched (TS 23.502 4.9.1.2)."""

from typing import TYPE_CHECKING

from loadgen.gnb import checks
from loadgen.gnb.context import RADIO_LOST
from loadgen.gnb.handover_stage import Stage
from loadgen.gnb.messages import path_switch_request
from loadgen.trees import Tree
from loadgen.ue.as_security import physical_cell

if TYPE_CHECKING:
    from loadgen.gnb.handover import Handover

_TRIGGERED = "xn-handover-triggered"
_FAILURE = "path-switch-failure"


def begin(handover: "Handover", now: float) -> None:
    """Prepare the target over Xn, which takes a moment."""
    handover.source.handover = handover
    pause = handover.camped.ue.values.xn_preparation
    if pause > 0:
        handover.wait(pause, now)
    else:
        execute(handover, now)


def execute(handover: "Handover", now: float) -> None:
    """Have the UE come to the target, and ask for the path switch."""
    camped, source, cell = handover.camped, handover.source, handover.cell
    ue, keys = camped.ue, source.keys
    amf = source.amf_ue_ngap_id
    if keys is None or amf is None:
        return
    handover.stage = Stage.SWITCHING
    target = handover.target = cell.contexts.open(camped)
    target.handover = handover
    target.set_up, target.initial_sent = source.set_up, True
    place = physical_cell(cell.config.gnb_id)
    target.keys = keys.handed_over(place)
    for one in source.resources.values():
        cell.resources.take_over(ue, one, target.resources)
    source.camped, source.lost_cause = None, _TRIGGERED
    camped.context = target
    cell.take(camped)
    ue.handed_over(target.keys, place, target.resources)
    pdu = path_switch_request(
        target.ran_ue_ngap_id,
        amf,
        cell.config,
        checks.capabilities_of(ue),
        target.resources.values(),
    )
    cell.send(target.stream, pdu)
    target.amf_ue_ngap_id = amf
    handover.wait(ue.values.handover, now)
    cell.neighbours.stirred(cell)


def receive(handover: "Handover", message: str, ies: Tree, now: float) -> None:
    """The path is switched, or cannot be."""
    ue, source, target = handover.camped.ue, handover.source, handover.target
    if handover.stage is not Stage.SWITCHING or target is None:
        return
    source.handover = None
    if message == "PathSwitchRequestAcknowledge":
        checks.check_pair(ue, ies, target)
        checks.check_acknowledged(ue, ies, target)
        ue.user_plane_changed(now)
        # UE CONTEXT RELEASE of Xn: the source forgets the UE, and tells nobody (TS 38.423 8.2.7).
        if source.cell.contexts.named(None, source.ran_ue_ngap_id) is source:
            source.cell.forget(source)
        handover.finish(None, now)
    else:
        # The AMF has the UE at the source still, and the target has nothing of it.
        handover.target = target.handover = None
        handover.finish(_FAILURE, now)
        target.cell.lose(target, now, _FAILURE)
        _release(handover, now)


def _release(handover: "Handover", now: float) -> None:
    """The source, which has lost the UE, asks for its release."""
    source = handover.source
    source.disturbed = source.disturbed or handover.camped.ue.disturbance.active(now)
    source.cell.request_release(source, RADIO_LOST, now)
    source.cell.neighbours.stirred(source.cell)


def overdue(handover: "Handover", now: float) -> None:
    """No answer: the radio link of the UE is given up on both sides."""
    camped, source, target = handover.camped, handover.source, handover.target
    source.handover = None
    _release(handover, now)
    camped.cell.leave(camped, now)
    camped.ue.released(now, "path-switch-unanswered")
    if target is not None:
        handover.target = target.handover = None
    handover.finish("path-switch-unanswered", now)
