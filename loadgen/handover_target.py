"""The target of an N2 handover (TS 38.413 8.4.2, 8.4.3, 8.4.7)."""

from typing import TYPE_CHECKING

from loadgen import handover_checks as checks
from loadgen import handover_messages
from loadgen.as_security import physical_cell
from loadgen.handover_stage import Stage
from loadgen.trees import Tree, items, number
from loadgen.ue_context import UeContext
from loadgen.ue_model import Procedure
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.cell import Cell
    from loadgen.handovers import Handover

_CONTAINER = 40
_NOT_THERE = "ho-target-not-allowed"
_FAILED = "ho-failure-in-target-5GC-ngran-node-or-target-system"


def requested(cell: "Cell", ies: Tree, digest: int, stream: int, now: float) -> None:
    """HANDOVER REQUEST: admit the UE, or refuse it (8.4.2)."""
    container = checks.octets_of(ies, "SourceToTarget-TransparentContainer")
    handover = cell.neighbours.preparing.get(container)
    amf = number(ies, "AMF-UE-NGAP-ID") or 0
    if handover is None and container in cell.neighbours.cancelled:
        _reserve(cell, ies, amf, now, disturbed=cell.neighbours.cancelled[container])
        return
    if handover is None or handover.cell is not cell:
        text = f"HANDOVER REQUEST with a container of {len(container)} octets that no source sent"
        cell.violate(Kind.HANDOVER_CONTAINER, text)
        cell.send(stream, handover_messages.handover_failure(amf, _FAILED))
        return
    if handover.target is not None:
        _again(handover, handover.target, digest)
        return
    if handover.request == digest:
        # It was refused, and comes again.
        cell.contexts.refused(amf, disturbed=handover.camped.ue.disturbance.active(now))
        cell.send(stream, handover_messages.handover_failure(amf))
        return
    handover.request = digest
    ue, source = handover.camped.ue, handover.source
    ue.now = now
    keys = checks.check_request(ue, ies, source, cell)
    refuses = handover.kind is Procedure.HANDOVER_REFUSED
    if refuses or keys is None:
        cause = handover_messages.REFUSED if refuses else _FAILED
        cell.contexts.refused(amf, disturbed=ue.disturbance.active(now))
        cell.send(stream, handover_messages.handover_failure(amf, cause))
        return
    target = handover.target = cell.contexts.open(None)
    target.handover = handover
    target.disturbed = ue.disturbance.active(now)
    target.stream_down = stream
    if stream == 0 and cell.contexts.streams > 1:
        text = "HANDOVER REQUEST on stream 0, which is for what is of no UE"
        handover.blame(Kind.NGAP_STREAM, text)
    if not cell.contexts.name(target, amf):
        text = f"HANDOVER REQUEST gives AMF-UE-NGAP-ID {amf} to a second UE"
        handover.blame(Kind.NGAP_IDS, text)
    target.keys = keys.handed_over(physical_cell(cell.config.gnb_id))
    target.initial_sent, target.set_up = True, source.set_up
    target.lost_cause = _NOT_THERE
    _admit(handover, target, ies)


def _reserve(cell: "Cell", ies: Tree, amf: int, now: float, *, disturbed: bool) -> None:
    """The request crossed the cancel, which the AMF has acknowledged to the source already.

    The target, which knows nothing of that, admits the UE, and the AMF releases it again.
    """
    target = cell.contexts.open(None)
    target.disturbed = disturbed
    cell.contexts.name(target, amf)
    target.lost_cause = _NOT_THERE
    for item in items(ies, "PDUSessionResourceSetupListHOReq"):
        cell.resources.reserve(target.resources, item)
    pdu = handover_messages.handover_request_acknowledge(
        cell.ids(target), target.resources.values(), (), cell.neighbours.rng.randbytes(_CONTAINER)
    )
    cell.send(target.stream, pdu)
    cell.expect_release(target, now)


def _admit(handover: "Handover", target: UeContext, ies: Tree) -> None:
    """Set up what the target admits, and tell the AMF."""
    cell, ue = handover.cell, handover.camped.ue
    wanted = items(ies, "PDUSessionResourceSetupListHOReq")
    refused: set[int] = set()
    if handover.kind is Procedure.HANDOVER_PARTIAL and len(wanted) > 1:
        refused.add(number(wanted.pop(), "pDUSessionID") or 0)
    for item in wanted:
        if cell.resources.admit(ue, target.resources, item) is not None:
            refused.add(number(item, "pDUSessionID") or 0)
    handover.refused = frozenset(refused)
    if not target.resources:
        target.handover = handover.target = None
        cell.forget(target)
        amf = target.amf_ue_ngap_id or 0
        cell.send(target.stream, handover_messages.handover_failure(amf))
        return
    handover.answer = b"\x00" + cell.neighbours.rng.randbytes(_CONTAINER)
    _acknowledge(handover, target)


def _acknowledge(handover: "Handover", target: UeContext) -> None:
    cell = handover.cell
    pdu = handover_messages.handover_request_acknowledge(
        cell.ids(target), target.resources.values(), sorted(handover.refused), handover.answer
    )
    cell.send(target.stream, pdu)


def _again(handover: "Handover", target: UeContext, digest: int) -> None:
    """A second HANDOVER REQUEST with the container of the first one."""
    if digest == handover.request:
        _acknowledge(handover, target)
    else:
        handover.blame(Kind.NGAP_UNEXPECTED, "a second HANDOVER REQUEST, which is another one")


def status_transferred(handover: "Handover", context: UeContext, ies: Tree, now: float) -> None:
    """DOWNLINK RAN STATUS TRANSFER (8.4.7): what the source sent, and now the UE comes."""
    if context is not handover.target or handover.stage is not Stage.EXECUTING:
        handover.blame(Kind.NGAP_UNEXPECTED, "DOWNLINK RAN STATUS TRANSFER out of place")
        return
    if ies.get("RANStatusTransfer-TransparentContainer") != handover.status:
        handover.blame(Kind.HANDOVER_STATUS, "the RAN status is not what the source sent")
    arrive(handover, now)


def no_status(handover: "Handover", now: float) -> None:
    """The UE comes without it."""
    handover.blame(Kind.HANDOVER_STATUS, "no DOWNLINK RAN STATUS TRANSFER before the UE came")
    arrive(handover, now)


def arrive(handover: "Handover", now: float) -> None:
    """The UE is in the target: HANDOVER NOTIFY (8.4.3)."""
    camped, target, cell = handover.camped, handover.target, handover.cell
    if target is None or target.keys is None:
        handover.finish("target-released", now)
        return
    handover.stage = Stage.COMPLETING
    target.camped = camped
    camped.context = target
    cell.take(camped)
    camped.ue.handed_over(target.keys, physical_cell(cell.config.gnb_id), target.resources)
    cell.send(target.stream, handover_messages.handover_notify(cell.ids(target), cell.config))
    cell.neighbours.stirred(cell)
    handover.wait(camped.ue.values.handover, now)
