"""The source of an N2 handover (TS 38.413 8.4.1, 8.4.5, 8.4.6; TS 23.502 4.9.1.3)."""

from typing import TYPE_CHECKING

from loadgen import handover_checks as checks
from loadgen import handover_messages
from loadgen.handover_stage import Stage
from loadgen.trees import Tree, part
from loadgen.ue_context import RADIO_LOST
from loadgen.ue_model import Procedure
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.handovers import Handover

_CONTAINER = 48
_TRIGGERED = "ng-intra-system-handover-triggered"


def begin(handover: "Handover", now: float) -> None:
    """HANDOVER REQUIRED, with a container that no other handover has."""
    camped, source, target = handover.camped, handover.source, handover.cell
    cell = source.cell
    handover.container = b"\x40" + target.neighbours.rng.randbytes(_CONTAINER)
    source.handover = handover
    target.neighbours.preparing[handover.container] = handover
    pdu = handover_messages.handover_required(
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
    source.cell.send(source.stream, handover_messages.handover_cancel(source.cell.ids(source)))
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
    handover.status = handover_messages.drb_status(admitted, ue.rng.randrange(1 << 20))
    cell = source.cell
    pdu = handover_messages.uplink_ran_status_transfer(cell.ids(source), handover.status)
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
