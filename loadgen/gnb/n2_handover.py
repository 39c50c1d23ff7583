"""The source of an N2 handover (TS 38.413 8.4.1, 8.4.5, 8.4.6; TS 23.502 4.9.1.3)."""

from typing import TYPE_CHECKING

from loadgen.gnb import checks, messages
from loadgen.gnb.context import RADIO_LOST, UeContext
from loadgen.gnb.handover_stage import Stage
from loadgen.trees import Tree, items, number, part
from loadgen.ue.as_security import physical_cell
from loadgen.ue.model import Procedure
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.gnb.handover import Handover

_CONTAINER = 48
_TRIGGERED = "ng-intra-system-handover-triggered"


def begin(handover: "Handover", now: float) -> None:
    """HANDOVER REQUIRED, with a container that no other handover has."""
    camped, source, target = handover.camped, handover.source, handover.cell
    cell = source.cell
    handover.container = b"\x40" + target.neighbours.rng.randbytes(_CONTAINER)
    source.handover = handover
    target.neighbours.preparing[handover.container] = handover
    pdu = messages.handover_required(
        cell.ids(source), target.config, source.resources, handover.container
    )
    cell.send(source.stream, pdu)
    handover.wait(camped.ue.values.handover, now)
    if handover.kind is Procedure.HANDOVER_CANCEL and target.neighbours.rng.random() < 0.5:
        _cancel(handover, now)


def _cancel(handover: "Handover", now: float) -> None:
    """HANDOVER CANCEL (8.4.5)."""
    source = handover.source
    handover.stage = Stage.CANCELLING
    source.cell.send(source.stream, messages.handover_cancel(source.cell.ids(source)))
    source.cell.neighbours.stirred(source.cell)
    handover.wait(handover.camped.ue.values.handover, now)


def receive(handover: "Handover", message: str, ies: Tree, now: float) -> None:
    """The answer to HANDOVER REQUIRED, or to HANDOVER CANCEL."""
    cancelling = handover.stage is Stage.CANCELLING
    if message == "HandoverCancelAcknowledge":
        if not cancelling:
            handover.blame(Kind.NGAP_UNEXPECTED, "HANDOVER CANCEL ACKNOWLEDGE without a cancel")
            return
        handover.acknowledged = True
        cancelled(handover, now)
    elif cancelling:
        # It crossed the cancel on its way (8.4.5.2).
        return
    elif handover.stage is not Stage.PREPARING:
        handover.blame(Kind.NGAP_UNEXPECTED, f"a second {message}")
    elif message == "HandoverPreparationFailure":
        _refused(handover, ies, now)
    elif handover.kind is Procedure.HANDOVER_CANCEL:
        _cancel(handover, now)
    else:
        _execute(handover, ies, now)


def _refused(handover: "Handover", ies: Tree, now: float) -> None:
    """HANDOVER PREPARATION FAILURE: the UE stays, with all that it has (8.4.1.3)."""
    cause = next(iter(part(ies, "Cause").values()), None)
    if handover.kind is Procedure.HANDOVER_REFUSED:
        handover.finish(None, now)
    else:
        handover.finish(f"preparation-failure-{cause}", now)


def _execute(handover: "Handover", ies: Tree, now: float) -> None:
    """HANDOVER COMMAND: the UE leaves for the target (8.4.1.2)."""
    source, ue = handover.source, handover.camped.ue
    if not checks.check_command(handover, ies):
        _cancel(handover, now)
        return
    handover.stage = Stage.EXECUTING
    source.camped, source.lost_cause = None, _TRIGGERED
    admitted = [psi for psi in source.resources if psi not in handover.refused]
    handover.status = messages.drb_status(admitted, ue.rng.randrange(1 << 20))
    cell = source.cell
    pdu = messages.uplink_ran_status_transfer(cell.ids(source), handover.status)
    cell.send(source.stream, pdu)
    handover.wait(ue.values.status_transfer, now)
    cell.neighbours.stirred(cell)


def cancelled(handover: "Handover", now: float) -> None:
    """A part of the cancel is done: the acknowledgement, or the release of the target."""
    if not handover.acknowledged or handover.stage is not Stage.CANCELLING:
        return
    if handover.target is None:
        handover.finish(None if handover.kind is Procedure.HANDOVER_CANCEL else "cancelled", now)


def overdue(handover: "Handover", now: float) -> None:
    """The AMF did not answer in time."""
    source = handover.source
    match handover.stage:
        case Stage.PREPARING:
            # TNGRELOCprep expires: the preparation is cancelled (8.4.1.2).
            handover.blame(Kind.HANDOVER_UNANSWERED, "HANDOVER REQUIRED is not answered")
            _cancel(handover, now)
        case Stage.COMPLETING:
            text = "the source is not released after HANDOVER NOTIFY"
            handover.blame(Kind.HANDOVER_RELEASE, text)
            source.handover = None
            handover.finish("source-not-released", now)
            source.cell.request_release(source, RADIO_LOST, now)
            source.cell.neighbours.stirred(source.cell)
        case _:
            what = "HANDOVER CANCEL is not acknowledged"
            if handover.acknowledged:
                what = "the target is not released after HANDOVER CANCEL"
            handover.blame(Kind.HANDOVER_UNANSWERED, what)
            handover.finish("not-cancelled", now)


if TYPE_CHECKING:
    from loadgen.gnb.cell import Cell
    from loadgen.gnb.handover import Handover

_ANSWER_CONTAINER = 40
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
        cell.send(stream, messages.handover_failure(amf, _FAILED))
        return
    if handover.target is not None:
        _again(handover, handover.target, digest)
        return
    if handover.request == digest:
        # It was refused, and comes again.
        cell.contexts.refused(amf, disturbed=handover.camped.ue.disturbance.active(now))
        cell.send(stream, messages.handover_failure(amf))
        return
    handover.request = digest
    ue, source = handover.camped.ue, handover.source
    ue.now = now
    keys = checks.check_request(ue, ies, source, cell)
    refuses = handover.kind is Procedure.HANDOVER_REFUSED
    if refuses or keys is None:
        cause = messages.REFUSED if refuses else _FAILED
        cell.contexts.refused(amf, disturbed=ue.disturbance.active(now))
        cell.send(stream, messages.handover_failure(amf, cause))
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
    pdu = messages.handover_request_acknowledge(
        cell.ids(target),
        target.resources.values(),
        (),
        cell.neighbours.rng.randbytes(_ANSWER_CONTAINER),
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
        cell.send(target.stream, messages.handover_failure(amf))
        return
    handover.answer = b"\x00" + cell.neighbours.rng.randbytes(_ANSWER_CONTAINER)
    _acknowledge(handover, target)


def _acknowledge(handover: "Handover", target: UeContext) -> None:
    cell = handover.cell
    pdu = messages.handover_request_acknowledge(
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
    cell.send(target.stream, messages.handover_notify(cell.ids(target), cell.config))
    cell.neighbours.stirred(cell)
    handover.wait(camped.ue.values.handover, now)
