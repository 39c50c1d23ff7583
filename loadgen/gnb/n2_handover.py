"""N2 handover: its source and its target (TS 38.413 8.4.1 to 8.4.7, TS 23.502 4.9.1.3)."""

from loadgen.gnb import assistance, checks, messages
from loadgen.gnb.cell import Cell
from loadgen.gnb.context import RADIO_LOST, CampedUe, UeContext
from loadgen.gnb.handover import Handover, HandoverState
from loadgen.gnb.transfers import transfer_ies
from loadgen.session_model import Tunnel
from loadgen.trees import Tree, items, number, part, without_extensions
from loadgen.ue.as_security import GnbKeys, physical_cell
from loadgen.ue.model import Procedure
from loadgen.violation import Kind

_REQUEST_OCTETS = 48
_ANSWER_OCTETS = 40
_TRIGGERED = "ng-intra-system-handover-triggered"
_NOT_THERE = "ho-target-not-allowed"
_FAILED = "ho-failure-in-target-5GC-ngran-node-or-target-system"


def handle_request(cell: Cell, ies: Tree, digest: int, stream: int, now: float) -> None:
    """Handle HANDOVER REQUEST in the target cell: admit the UE, or refuse it (8.4.2)."""
    container = checks.octets_of(ies, "SourceToTarget-TransparentContainer")
    handover = cell.neighbours.preparing.get(container)
    amf = number(ies, "AMF-UE-NGAP-ID") or 0
    if handover is None and container in cell.neighbours.cancelled:
        met_fault = cell.neighbours.cancelled[container]
        _admit_cancelled(cell, ies, amf, now, met_fault=met_fault)
    elif handover is None or not handover.targets(cell):
        text = f"HANDOVER REQUEST with a container of {len(container)} octets that no source sent"
        cell.violate(Kind.HANDOVER_CONTAINER, text)
        cell.send(stream, messages.handover_failure(amf, _FAILED))
    else:
        handover.requested(ies, digest, stream, now)


def _admit_cancelled(cell: Cell, ies: Tree, amf: int, now: float, *, met_fault: bool) -> None:
    """Admit the UE of a handover that the AMF has already acknowledged as cancelled.

    The request crossed the cancel. The target does not know of the cancel, so it admits the UE,
    and the AMF must release the UE again.
    """
    target = cell.contexts.open(None)
    target.met_fault = met_fault
    cell.contexts.set_amf_id(target, amf)
    target.lost_cause = _NOT_THERE
    for item in items(ies, "PDUSessionResourceSetupListHOReq"):
        cell.resources.reserve(target.resources, item)
    pdu = messages.handover_request_acknowledge(
        cell.ids(target),
        target.resources.values(),
        (),
        cell.neighbours.rng.randbytes(_ANSWER_OCTETS),
    )
    cell.send(target.stream, pdu)
    cell.expect_release(target, now)


class N2Handover(Handover):
    """A handover through the AMF."""

    def __init__(
        self, kind: Procedure, camped: CampedUe, source: UeContext, source_cell: Cell, cell: Cell
    ) -> None:
        super().__init__(kind, camped, source, source_cell, cell)
        self.request = 0
        """The digest of the HANDOVER REQUEST."""
        self.answer = b""
        """The transparent container from target to source."""
        self.refused: frozenset[int] = frozenset()
        """The PSIs of the sessions that the target did not admit."""
        self.acknowledged = False
        """Whether the AMF acknowledged HANDOVER CANCEL."""
        self.status: Tree = {}
        """The RAN status transfer container that the source sent."""

    # the source

    def begin(self, now: float) -> None:
        """Send HANDOVER REQUIRED, with a container that no other handover has."""
        source, target = self.source, self.cell
        cell = self.source_cell
        self.container = b"\x40" + target.neighbours.rng.randbytes(_REQUEST_OCTETS)
        source.handover = self
        target.neighbours.preparing[self.container] = self
        pdu = messages.handover_required(
            cell.ids(source), target.config, self.camped.ue.plmn, source.resources, self.container
        )
        cell.send(source.stream, pdu)
        self.wait(self.camped.ue.values.handover, now)
        if self.kind is Procedure.HANDOVER_CANCEL and target.neighbours.rng.random() < 0.5:
            self._cancel(now)

    def _cancel(self, now: float) -> None:
        """Send HANDOVER CANCEL (8.4.5)."""
        cell, source = self.source_cell, self.source
        self.state = HandoverState.CANCELLING
        cell.send(source.stream, messages.handover_cancel(cell.ids(source)))
        cell.notify_driver()
        self.wait(self.camped.ue.values.handover, now)

    def receive(self, message: str, context: UeContext, ies: Tree, now: float) -> None:
        """Handle an answer to the source, or DOWNLINK RAN STATUS TRANSFER to the target."""
        if message.startswith("PathSwitch"):
            return
        if message == "DownlinkRANStatusTransfer":
            self._receive_status(context, ies, now)
            return
        cancelling = self.state is HandoverState.CANCELLING
        if message == "HandoverCancelAcknowledge":
            if not cancelling:
                text = "HANDOVER CANCEL ACKNOWLEDGE without a cancel"
                self.blame(Kind.NGAP_UNEXPECTED, text)
                return
            self.acknowledged = True
            self._check_cancelled(now)
        elif cancelling:
            # The message crossed the cancel (8.4.5.2).
            return
        elif self.state is not HandoverState.PREPARING:
            self.blame(Kind.NGAP_UNEXPECTED, f"a second {message}")
        elif message == "HandoverPreparationFailure":
            self._preparation_failed(ies, now)
        elif self.kind is Procedure.HANDOVER_CANCEL:
            self._cancel(now)
        else:
            self._execute(ies, now)

    def _preparation_failed(self, ies: Tree, now: float) -> None:
        """Handle HANDOVER PREPARATION FAILURE: the UE stays in the source (8.4.1.3)."""
        cause = next(iter(part(ies, "Cause").values()), None)
        if self.kind is Procedure.HANDOVER_REFUSED:
            self.finish(None, now)
        else:
            self.finish(f"preparation-failure-{cause}", now)

    def _execute(self, ies: Tree, now: float) -> None:
        """Handle HANDOVER COMMAND: the UE leaves for the target (8.4.1.2)."""
        source, ue = self.source, self.camped.ue
        if not self._check_command(ies):
            self._cancel(now)
            return
        self.state = HandoverState.EXECUTING
        source.camped, source.lost_cause = None, _TRIGGERED
        admitted = [psi for psi in source.resources if psi not in self.refused]
        self.status = messages.drb_status(admitted, ue.rng.randrange(1 << 20))
        cell = self.source_cell
        pdu = messages.uplink_ran_status_transfer(cell.ids(source), self.status)
        cell.send(source.stream, pdu)
        self.wait(ue.values.status_transfer, now)
        cell.notify_driver()

    def _check_command(self, ies: Tree) -> bool:
        """Check HANDOVER COMMAND. Return False if the UE cannot follow it."""
        ue, target = self.camped.ue, self.target
        if target is None:
            text = "HANDOVER COMMAND, but the target admitted no UE"
            self.blame(Kind.HANDOVER_CONTAINER, text)
            return False
        container = checks.octets_of(ies, "TargetToSource-TransparentContainer")
        if container != self.answer:
            text = f"{len(container)} octets for the source that differ from those of the target"
            self.blame(Kind.HANDOVER_CONTAINER, text)
        if ies.get("HandoverType") != "intra5gs":
            self.blame(Kind.HANDOVER_CONTAINER, f"handover type {ies.get('HandoverType')}")
        going = {
            number(item, "pDUSessionID") or 0
            for item in items(ies, "PDUSessionResourceHandoverList")
        }
        left = {
            number(item, "pDUSessionID") or 0
            for item in items(ies, "PDUSessionResourceToReleaseListHOCmd")
        }
        if (going | left) - set(self.source.resources) or left & set(target.resources):
            text = (
                f"sessions {sorted(going)} handed over and {sorted(left)} released; the target "
                f"admitted {sorted(target.resources)} of {sorted(self.source.resources)}"
            )
            ue.violate(Kind.HANDOVER_SESSIONS, text)
        elif not self.refused <= left:
            text = f"{sorted(self.refused)} were refused, but only {sorted(left)} are released"
            ue.violate(Kind.HANDOVER_SESSIONS, text)
        return True

    def _check_cancelled(self, now: float) -> None:
        """End the handover once the cancel is acknowledged and the target is released."""
        if not self.acknowledged or self.state is not HandoverState.CANCELLING:
            return
        if self.target is None:
            self.finish(None if self.kind is Procedure.HANDOVER_CANCEL else "cancelled", now)

    def release_commanded(self, context: UeContext, ies: Tree) -> None:
        """Check a UE CONTEXT RELEASE COMMAND for the source."""
        if context is not self.source:
            return
        if self.state is HandoverState.COMPLETING:
            if part(ies, "Cause").get("radioNetwork") != "successful-handover":
                text = f"the source is released with cause {ies.get('Cause')} after a handover"
                self.blame(Kind.HANDOVER_RELEASE, text)
        elif self.state is HandoverState.EXECUTING:
            text = f"the source is released with {ies.get('Cause')} before HANDOVER NOTIFY"
            self.blame(Kind.HANDOVER_RELEASE, text)

    def _target_closed(self, now: float) -> None:
        if self.state is HandoverState.CANCELLING:
            self._check_cancelled(now)
        else:
            super()._target_closed(now)

    def _overdue(self, now: float) -> None:
        source, cell = self.source, self.source_cell
        match self.state:
            case HandoverState.PREPARING:
                # TNGRELOCprep expires: the source cancels the preparation (8.4.1.2).
                self.blame(Kind.HANDOVER_UNANSWERED, "HANDOVER REQUIRED is not answered")
                self._cancel(now)
            case HandoverState.EXECUTING:
                text = "no DOWNLINK RAN STATUS TRANSFER before the UE arrived"
                self.blame(Kind.HANDOVER_STATUS, text)
                self._arrive(now)
            case HandoverState.COMPLETING:
                text = "the source is not released after HANDOVER NOTIFY"
                self.blame(Kind.HANDOVER_RELEASE, text)
                source.handover = None
                self.finish("source-not-released", now)
                cell.request_release(source, RADIO_LOST, now)
                cell.notify_driver()
            case _:
                text = "HANDOVER CANCEL is not acknowledged"
                if self.acknowledged:
                    text = "the target is not released after HANDOVER CANCEL"
                self.blame(Kind.HANDOVER_UNANSWERED, text)
                self.finish("not-cancelled", now)

    # the target

    def targets(self, cell: object) -> bool:
        """Whether `cell` is the target."""
        return cell is self.cell

    def requested(self, ies: Tree, digest: int, stream: int, now: float) -> None:
        """Handle HANDOVER REQUEST in the target (8.4.2)."""
        cell, ue, source = self.cell, self.camped.ue, self.source
        amf = number(ies, "AMF-UE-NGAP-ID") or 0
        if self.target is not None:
            self._requested_again(self.target, digest)
            return
        if self.request == digest:
            # A repetition of a request that was refused.
            cell.contexts.refused(amf, met_fault=ue.faults.active(now))
            cell.send(stream, messages.handover_failure(amf))
            return
        self.request = digest
        ue.now = now
        keys = self._check_request(ies)
        refuses = self.kind is Procedure.HANDOVER_REFUSED
        if refuses or keys is None:
            cause = messages.REFUSED if refuses else _FAILED
            cell.contexts.refused(amf, met_fault=ue.faults.active(now))
            cell.send(stream, messages.handover_failure(amf, cause))
            return
        target = self.target = cell.contexts.open(None)
        target.handover = self
        target.met_fault = ue.faults.active(now)
        target.stream_down = stream
        if stream == 0 and cell.contexts.streams > 1:
            text = "HANDOVER REQUEST on stream 0, which is for non-UE-associated signalling"
            self.blame(Kind.NGAP_STREAM, text)
        if not cell.contexts.set_amf_id(target, amf):
            text = f"HANDOVER REQUEST gives AMF-UE-NGAP-ID {amf} to a second UE"
            self.blame(Kind.NGAP_IDS, text)
        target.keys = keys.handed_over(physical_cell(cell.config.gnb_id))
        target.initial_sent, target.set_up = True, source.set_up
        target.lost_cause = _NOT_THERE
        target.identity_index = assistance.identity_index(ies)
        self._admit(target, ies)

    def _check_request(self, ies: Tree) -> GnbKeys | None:
        """Check HANDOVER REQUEST.

        Returns:
            The pair {NH, NCC} of the target, as the keys to derive from; None without a pair.
        """
        ue, cell = self.camped.ue, self.cell
        pair = checks.check_pair(ue, ies)
        if pair is None:
            return None
        checks.check_capabilities(ue, ies)
        checks.check_allowed(ue, ies)
        if "UEAggregateMaximumBitRate" not in ies:
            ue.violate(Kind.RESOURCE_AMBR, "HANDOVER REQUEST without a UE AMBR")
        checks.check_guami(ue, ies, cell.guamis)
        checks.check_imeisv(ue, ies)
        assistance.check_restrictions(ue, ies, (ue.tai[0], cell.config.tac))
        self._check_sessions(ies)
        return GnbKeys(b"", fresh=pair)

    def _check_sessions(self, ies: Tree) -> None:
        """Check that the sessions and their tunnels at the UPF are those of the source."""
        ue, source = self.camped.ue, self.source
        wanted = items(ies, "PDUSessionResourceSetupListHOReq")
        psis = {number(item, "pDUSessionID") or 0 for item in wanted}
        if psis != set(source.resources):
            text = f"sessions {sorted(psis)} for the target; the source has {[*source.resources]}"
            ue.violate(Kind.HANDOVER_SESSIONS, text)
        for item in wanted:
            one = source.resources.get(number(item, "pDUSessionID") or 0)
            transfer = transfer_ies(item, "handoverRequestTransfer")
            ul = Tunnel.of_ngap(transfer.get("UL-NGU-UP-TNLInformation"))
            if one is not None and ul is not None and ul != one.ul:
                text = f"UL tunnel {ul} of PDU session {one.psi} for the target, not {one.ul}"
                ue.violate(Kind.HANDOVER_SESSIONS, text)

    def _admit(self, target: UeContext, ies: Tree) -> None:
        """Set up the sessions that the target admits, and answer the AMF."""
        cell, ue = self.cell, self.camped.ue
        wanted = items(ies, "PDUSessionResourceSetupListHOReq")
        refused: set[int] = set()
        if self.kind is Procedure.HANDOVER_PARTIAL and len(wanted) > 1:
            refused.add(number(wanted.pop(), "pDUSessionID") or 0)
        for item in wanted:
            if cell.resources.admit(ue, target.resources, item) is not None:
                refused.add(number(item, "pDUSessionID") or 0)
        self.refused = frozenset(refused)
        if not target.resources:
            target.handover = self.target = None
            cell.forget(target)
            amf = target.amf_ue_ngap_id or 0
            cell.send(target.stream, messages.handover_failure(amf))
            return
        self.answer = b"\x00" + cell.neighbours.rng.randbytes(_ANSWER_OCTETS)
        self._acknowledge(target)

    def _acknowledge(self, target: UeContext) -> None:
        cell = self.cell
        pdu = messages.handover_request_acknowledge(
            cell.ids(target), target.resources.values(), sorted(self.refused), self.answer
        )
        cell.send(target.stream, pdu)

    def _requested_again(self, target: UeContext, digest: int) -> None:
        """Handle a second HANDOVER REQUEST with the same container."""
        if digest == self.request:
            self._acknowledge(target)
        else:
            self.blame(Kind.NGAP_UNEXPECTED, "a second, different HANDOVER REQUEST")

    def _receive_status(self, context: UeContext, ies: Tree, now: float) -> None:
        """Handle DOWNLINK RAN STATUS TRANSFER (8.4.7): then the UE arrives."""
        if context is not self.target or self.state is not HandoverState.EXECUTING:
            self.blame(Kind.NGAP_UNEXPECTED, "DOWNLINK RAN STATUS TRANSFER out of place")
            return
        told = part(ies, "RANStatusTransfer-TransparentContainer")
        if without_extensions(told) != self.status:
            self.blame(Kind.HANDOVER_STATUS, "the RAN status differs from that of the source")
        self._arrive(now)

    def _arrive(self, now: float) -> None:
        """Move the UE to the target and send HANDOVER NOTIFY (8.4.3)."""
        camped, target, cell = self.camped, self.target, self.cell
        if target is None or target.keys is None:
            self.finish("target-released", now)
            return
        self.state = HandoverState.COMPLETING
        target.camped = camped
        camped.context = target
        cell.take(camped)
        camped.ue.handed_over(target.keys, physical_cell(cell.config.gnb_id), target.resources)
        cell.send(
            target.stream, messages.handover_notify(cell.ids(target), cell.location(camped.ue))
        )
        cell.notify_driver()
        self.wait(camped.ue.values.handover, now)
