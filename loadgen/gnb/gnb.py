"""A gNB without I/O: NGAP PDUs and time in, PDUs out (TS 38.413). No input raises."""

from collections.abc import Callable
from math import inf
from random import Random
from typing import Literal, TypeAlias

from msgspec import Struct, field

import wire
from loadgen.foreign import ForeignNgap
from loadgen.gnb import assistance, messages
from loadgen.gnb.behaviour import reordered
from loadgen.gnb.cell import Cell
from loadgen.gnb.context import CampedUe
from loadgen.gnb.fault_injector import FaultInjector
from loadgen.gnb.interface import NON_UE_STREAM, NgInterface
from loadgen.gnb.messages import GnbConfig, read_paging
from loadgen.gnb.n2_handover import N2Handover, handle_request
from loadgen.gnb.neighbours import Neighbours
from loadgen.gnb.ue_messages import UE_MESSAGES, UeMessages
from loadgen.gnb.xn_handover import XnHandover
from loadgen.timers import Deadlines, TimerValues
from loadgen.trees import Tree, part
from loadgen.ue.model import SKIPPED, Procedure
from loadgen.violation import Kind, Violation, violation

PduDirection: TypeAlias = Literal["sent", "received"]
PduHook: TypeAlias = Callable[[PduDirection, str, bytes], int]
"""Returns how many copies of a PDU pass: 0 loses the PDU. Takes direction, message name and PDU."""

NO_NEIGHBOUR = "no-neighbour"
_ERROR_INDICATION = b"\x00\x09"
"""The first octets of its PDU: initiating message, procedure code 9."""
_COUNTED_ONLY = frozenset({"AMFStatusIndication", "RANConfigurationUpdateAcknowledge"})


class GnbCounts(Struct):
    """Counters of a gNB, beside those of its NG interface."""

    sent: int = 0
    received: int = 0
    error_indications_sent: int = 0
    error_indications_received: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    """ERROR INDICATIONs received, by cause."""
    pagings: int = 0
    paged: int = 0
    """PAGINGs for a UE on its cell."""


class Gnb:
    """One gNB and its cell. `out` has the PDUs to send; the driver must empty it."""

    def __init__(
        self,
        config: GnbConfig,
        deadlines: Deadlines,
        *,
        timers: TimerValues | None = None,
        rng: Random | None = None,
        on_violation: Callable[[Violation], None] | None = None,
        pdu_hook: PduHook | None = None,
        neighbours: Neighbours | None = None,
        seed: int = 0,
        foreign: ForeignNgap | None = None,
    ) -> None:
        """Create a gNB without an association.

        Args:
            config: what the gNB broadcasts.
            deadlines: the heap for the deadlines of the gNB and its UEs.
            timers: timer values.
            rng: for values that must be random.
            on_violation: called with each violation; by default `violations` keeps them.
            pdu_hook: loses or duplicates PDUs, for tests.
            neighbours: the gNBs that UEs can be handed over to.
            seed: of the injected faults.
            foreign: adds optional IEs to the PDUs of the gNB.
        """
        self.config = config
        self.violations: list[Violation] = []
        self.counts = GnbCounts()
        self.out: list[tuple[int, bytes]] = []
        """Streams and PDUs to send."""
        self.errors_expected = False
        """Whether a test expects ERROR INDICATION, so that it is not a violation."""
        self.pdu_hook = pdu_hook
        self.now = 0.0
        self.queued = inf
        self._on_violation = on_violation or self.violations.append
        self._associated = False
        self._order = Random(f"{seed} order {config.gnb_id}")
        self._foreign = foreign
        rng = rng or Random(config.gnb_id)
        self.cell = Cell(
            config,
            self._send,
            self._violate,
            deadlines,
            timers=timers or TimerValues(),
            rng=rng,
            begin_handover=begin_handover,
            neighbours=neighbours,
        )
        self._ue_messages = UeMessages(self.cell)
        self.interface = NgInterface(self.cell, lambda: deadlines.touch(self))
        seeded = Random(f"{seed} faults {config.gnb_id}")
        self.fault_injector = FaultInjector(
            self.cell, deadlines, seeded, self._transmit, self._take
        )

    @property
    def ready(self) -> bool:
        """Whether NG SETUP succeeded on the current association."""
        return self.cell.admission.interface_up

    # association and time

    def association_up(self, streams: int, now: float) -> None:
        """Handle the new SCTP association with its number of outbound streams: send NG SETUP
        REQUEST."""
        self.now = now
        self._associated = True
        self.cell.contexts.streams = streams
        self.interface.setup(now)

    def association_down(self, now: float) -> None:
        """Handle the loss of the association: release all UEs."""
        self.now = now
        self._associated = False
        self.interface.down()
        self.out.clear()
        self.cell.lose_all(now)
        self.out.clear()
        self.fault_injector.forget()

    def deadline(self) -> float:
        """Return when NG SETUP REQUEST is repeated, inf for never."""
        return self.interface.setup_at

    def advance(self, now: float) -> None:
        """Repeat NG SETUP REQUEST."""
        self.now = now
        if self.interface.setup_at <= now:
            self.interface.setup(now)

    # operator actions

    def reset(self, pairs: list[tuple[int | None, int]] | None, now: float) -> None:
        """Send NG RESET for the interface, or for pairs of AMF and RAN UE NGAP IDs; release their
        UEs."""
        self.now = now
        self.interface.reset(pairs, now)

    def update_configuration(self, config: GnbConfig, now: float) -> None:
        """Send RAN CONFIGURATION UPDATE with another name, tracking area or slices (8.7.2)."""
        self.now = now
        self.config = config
        self.interface.update_configuration(config)

    # downlink

    def receive(self, stream: int, payload: bytes, now: float) -> None:
        """Handle a PDU from the AMF."""
        self.now = now
        if self.fault_injector.draws.idle:
            self._take(stream, payload)
        else:
            self.fault_injector.downlink(stream, payload, now)

    def _take(self, stream: int, payload: bytes) -> None:
        peek = messages.peek(payload)
        copies = 1
        if self.pdu_hook is not None:
            copies = self.pdu_hook("received", "unknown" if peek is None else peek.message, payload)
        for _ in range(copies):
            self.counts.received += 1
            self._receive(peek, stream, payload)

    def _receive(self, peek: wire.NgapPeek | None, stream: int, payload: bytes) -> None:
        if peek is None:
            self._violate(Kind.NGAP_MALFORMED, f"{len(payload)} octets that are not an NGAP PDU")
            self._error({"protocol": "transfer-syntax-error"})
            return
        if self._faulty(peek, payload):
            return
        try:
            if peek.message in UE_MESSAGES:
                self._ue_messages.receive(peek, stream, payload, self.now)
            else:
                self._receive_of_node(peek, stream, payload)
        except wire.WireError as error:
            # An IE with criticality ignore does not decode, so the PDU has no tree.
            self._violate(Kind.NGAP_MALFORMED, f"{peek.message}: {error}")

    def _faulty(self, peek: wire.NgapPeek, payload: bytes) -> bool:
        """Check the syntax. Return True if the message must be rejected (10.3)."""
        try:
            fault = wire.ngap_check(payload)
        except wire.WireError as error:
            self._violate(Kind.NGAP_MALFORMED, f"{peek.message}: {error}")
            self._error({"protocol": "transfer-syntax-error"})
            return True
        if fault is None:
            return False
        self._violate(Kind.NGAP_SYNTAX, f"{peek.message}: {'; '.join(fault['deviations'])}")
        if fault["reject"] and peek.message != "ErrorIndication":
            ids = peek.amf_ue_ngap_id, peek.ran_ue_ngap_id
            self._error(fault["cause"], *ids, fault["diagnostics"])
        return bool(fault["reject"])

    def _receive_of_node(self, peek: wire.NgapPeek, stream: int, payload: bytes) -> None:
        handler = self.interface.handlers.get(peek.message)
        if peek.message == "HandoverRequest":
            ies = messages.ies_of(payload)
            handle_request(self.cell, ies, hash(payload), stream, self.now)
        elif peek.message == "ErrorIndication":
            self._error_indication(peek, messages.ies_of(payload))
        elif handler is not None:
            handler(messages.ies_of(payload), self.now)
        elif peek.message == "Paging":
            self._page(messages.ies_of(payload))
        elif peek.message not in _COUNTED_ONLY:
            self._unexpected(peek)

    def _unexpected(self, peek: wire.NgapPeek) -> None:
        ids = peek.amf_ue_ngap_id, peek.ran_ue_ngap_id
        self._violate(Kind.NGAP_UNEXPECTED, f"unexpected {peek.message}")
        self._error({"protocol": "message-not-compatible-with-receiver-state"}, *ids)

    def _page(self, ies: Tree) -> None:
        """Handle PAGING (8.5.1): check it, and page the UE if it is on this cell."""
        self.counts.pagings += 1
        paging = read_paging(ies)
        own = self.cell.tais
        if own.isdisjoint(paging.areas):
            text = f"PAGING in {sorted(paging.areas)}; the cell is in {sorted(own)}"
            self._violate(Kind.PAGING_AREA, text)
        s_tmsi, guamis = paging.s_tmsi, self.cell.guamis
        if s_tmsi is None or s_tmsi[:2] not in {(one.set, one.pointer) for one in guamis}:
            text = f"PAGING of {s_tmsi}; the AMF serves {', '.join(map(str, guamis))}"
            self._violate(Kind.PAGING_IDENTITY, text)
            return
        camped = self.cell.find(s_tmsi)
        if camped is not None:
            assistance.check_capability(camped.ue, ies)
            if camped.recommended and self.config.cell not in paging.cells:
                text = f"PAGING without the recommended cell {self.config.cell:#x}"
                self._violate(Kind.PAGING_AREA, text)
        if self.cell.page(s_tmsi, self.now):
            self.counts.paged += 1

    def _error_indication(self, peek: wire.NgapPeek, ies: Tree) -> None:
        self.counts.error_indications_received += 1
        cause = ies.get("Cause", ies.get("CriticalityDiagnostics"))
        name = next(iter(part(ies, "Cause").values()), "no cause")
        self.counts.errors[str(name)] = self.counts.errors.get(str(name), 0) + 1
        text = None if self.errors_expected else f"ERROR INDICATION with {cause}"
        ids = peek.amf_ue_ngap_id, peek.ran_ue_ngap_id
        if self.cell.error(*ids, text, self.now) or text is None:
            return
        if self.cell.contexts.met_fault(*ids):
            self.cell.tolerate(Kind.NGAP_ERROR_INDICATION)
        else:
            self._violate(Kind.NGAP_ERROR_INDICATION, text)

    # sending

    def _error(
        self,
        cause: Tree,
        amf: int | None = None,
        ran: int | None = None,
        diagnostics: Tree | None = None,
    ) -> None:
        self._send(NON_UE_STREAM, messages.error_indication(amf, ran, cause, diagnostics))

    def _send(self, stream: int, pdu: bytes) -> None:
        if not self._associated:
            return
        if self._foreign is not None:
            pdu = self._foreign.message(pdu)
        if self.fault_injector.draws.idle:
            self._transmit(stream, pdu)
        else:
            self.fault_injector.uplink(stream, pdu, self.now)

    def _transmit(self, stream: int, pdu: bytes) -> None:
        if self.config.behaviour.ie_order == "random":
            pdu = reordered(pdu, self._order)
        copies = 1
        if self.pdu_hook is not None:
            peek = messages.peek(pdu)
            copies = self.pdu_hook("sent", "unknown" if peek is None else peek.message, pdu)
        for _ in range(copies):
            self.counts.sent += 1
            self.counts.error_indications_sent += pdu[:2] == _ERROR_INDICATION
            self.out.append((stream, pdu))

    def _violate(self, kind: Kind, text: str) -> None:
        self._on_violation(violation(kind, text, self.config.name, self.now))


def begin_handover(cell: Cell, camped: CampedUe, kind: Procedure, now: float) -> None:
    """Hand a UE over to another cell. NGAP has no handover without a user plane."""
    context = camped.context
    running = camped.ue.running_procedure
    if context is None or running is None:
        return
    if kind is Procedure.HANDOVER:
        kind = cell.neighbours.rng.choice((Procedure.XN_HANDOVER, Procedure.N2_HANDOVER))
    target = cell.neighbours.choose(cell, None)
    partial = kind is Procedure.HANDOVER_PARTIAL and len(context.resources) < 2
    if context.keys is None or not context.resources or partial:
        running.moved(SKIPPED, now)
    elif target is None:
        running.moved(NO_NEIGHBOUR, now)
    else:
        handover = XnHandover if kind is Procedure.XN_HANDOVER else N2Handover
        handover(kind, camped, context, cell, target).begin(now)
