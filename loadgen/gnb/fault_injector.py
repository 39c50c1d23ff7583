"""Injects faults between a gNB and its association."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from random import Random

from msgspec import Struct

import wire
from loadgen.faults import NO_FAULTS, Direction, Draws, FaultKind, Faults
from loadgen.gnb import messages
from loadgen.gnb.cell import Cell
from loadgen.gnb.checks import octets_of
from loadgen.gnb.context import CampedUe, UeContext
from loadgen.gnb.transfers import unsuccessful
from loadgen.timers import Deadlines
from loadgen.trees import Tree, items, number

_CAUSE = "failure-in-radio-interface-procedure"


def wrong_answer(cell: Cell, context: UeContext, message: str, pdu: bytes) -> bytes | None:
    """Return a PDU that reports a failure instead of the success in `pdu` (TS 38.413 8.2 to 8.4).

    The gNB releases the resources that the PDU reports as failed.

    Returns:
        None if the message has no failure.
    """
    ids = cell.ids(context)
    match message:
        case "InitialContextSetupResponse":
            cause = {"radioNetwork": _CAUSE}
            return messages.initial_context_setup_failure(ids, cause)
        case "UEContextModificationResponse":
            cause = {"Cause": {"radioNetwork": _CAUSE}}
            return messages.encode("UEContextModificationFailure", *ids, cause)
        case "PDUSessionResourceSetupResponse":
            return _sessions_failed(cell, context, ids, pdu)
        case "HandoverRequestAcknowledge":
            amf, handover = context.amf_ue_ngap_id or 0, context.handover
            if handover is None:
                return None
            handover.discard_target()
            context.handover, context.met_fault = None, True
            cell.forget(context)
            return messages.handover_failure(amf)
        case _:
            return None


def _sessions_failed(
    cell: Cell, context: UeContext, ids: tuple[Tree, Tree], pdu: bytes
) -> bytes | None:
    done = items(messages.ies_of(pdu), "PDUSessionResourceSetupListSURes")
    psis = [number(item, "pDUSessionID") or 0 for item in done]
    if not psis:
        return None
    for psi in psis:
        cell.resources.drop(context.resources, psi)
    transfer = "pDUSessionResourceSetupUnsuccessfulTransfer"
    failed = [{"pDUSessionID": psi, transfer: unsuccessful(_CAUSE)} for psi in psis]
    name = "PDUSessionResourceFailedToSetupListSURes"
    return messages.encode("PDUSessionResourceSetupResponse", *ids, {name: failed})


class HeldMessage(Struct, order=True):
    """A delayed message."""

    due: float
    order: int
    direction: Direction
    stream: int
    pdu: bytes
    ran: int | None
    """RAN UE NGAP ID for a reordered message: the next message of the UE releases it."""


class FaultInjector:
    """Injects the faults of one gNB, and marks the UEs of the messages for tolerance."""

    def __init__(
        self,
        cell: Cell,
        deadlines: Deadlines,
        rng: Random,
        transmit: Callable[[int, bytes], None],
        deliver: Callable[[int, bytes], None],
    ) -> None:
        """Start without faults; `transmit` sends a message up, `deliver` gives one to the gNB."""
        self.draws = Draws(rng)
        self.queued = inf
        self._cell = cell
        self._deadlines = deadlines
        self._transmit, self._deliver = transmit, deliver
        self._held: list[HeldMessage] = []
        self._held_for: dict[int, CampedUe] = {}
        """The UE of each delayed message, by the message's order."""
        self._order = count()

    def inject(self, faults: Faults) -> None:
        """Inject these faults from now on."""
        self.draws.faults = faults if faults.uplink.all or faults.downlink.all else NO_FAULTS

    def forget(self) -> None:
        """Drop all delayed messages: the association is lost."""
        self._held.clear()

    def deadline(self) -> float:
        """Return when the next delayed message is due."""
        return self._held[0].due if self._held else inf

    def advance(self, now: float) -> None:
        """Pass on the delayed messages that are due."""
        while self._held and self._held[0].due <= now:
            self._pass_held(heappop(self._held), now)

    def uplink(self, stream: int, pdu: bytes, now: float) -> None:
        """Pass on a message to the AMF, or inject a fault."""
        self._pass("uplink", stream, pdu, now)

    def downlink(self, stream: int, pdu: bytes, now: float) -> None:
        """Pass on a message to the gNB, or inject a fault."""
        self._pass("downlink", stream, pdu, now)

    def _pass(self, direction: Direction, stream: int, pdu: bytes, now: float) -> None:
        send = self._transmit if direction == "uplink" else self._deliver
        kind = self.draws.draw(direction)
        peek = None if kind is None and not self._held else messages.peek(pdu)
        ran = None if peek is None else peek.ran_ue_ngap_id
        found = None if kind is None or peek is None else self._ue_of(peek, pdu)
        if kind is None or peek is None or found is None:
            send(stream, pdu)
        else:
            camped, context = found
            self._inject(kind, direction, stream, pdu, peek, camped, context, now)
        if ran is not None and kind is not FaultKind.REORDER:
            self._pass_overtaken(direction, ran, now)

    def _inject(
        self,
        kind: FaultKind,
        direction: Direction,
        stream: int,
        pdu: bytes,
        peek: wire.NgapPeek,
        camped: CampedUe,
        context: UeContext | None,
        now: float,
    ) -> None:
        send = self._transmit if direction == "uplink" else self._deliver
        changed: bytes | None = None
        if kind is FaultKind.CORRUPT and peek.nas_pdu is not None and len(peek.nas_pdu) > 2:
            changed = pdu.replace(peek.nas_pdu, self.draws.corrupt(peek.nas_pdu), 1)
        elif kind is FaultKind.WRONG and context is not None:
            changed = wrong_answer(self._cell, context, peek.message, pdu)
        if kind in (FaultKind.CORRUPT, FaultKind.WRONG) and changed is None:
            send(stream, pdu)
            return
        self.draws.injected[f"{direction} {kind}"] += 1
        camped.ue.faults.mark(kind, now)
        if context is not None:
            context.met_fault = True
        match kind:
            case FaultKind.DROP:
                return
            case FaultKind.DUPLICATE:
                send(stream, pdu)
                send(stream, pdu)
            case FaultKind.DELAY | FaultKind.REORDER:
                pause = self.draws.pause()
                ran = peek.ran_ue_ngap_id if kind is FaultKind.REORDER else None
                held = HeldMessage(now + pause, next(self._order), direction, stream, pdu, ran)
                self._held_for[held.order] = camped
                heappush(self._held, held)
                self._deadlines.touch(self)
            case _:
                send(stream, changed or pdu)

    def _pass_overtaken(self, direction: Direction, ran: int, now: float) -> None:
        """Pass on the reordered messages of a UE after its next message."""
        mine = [one for one in self._held if one.ran == ran and one.direction == direction]
        if not mine:
            return
        self._held = [one for one in self._held if one not in mine]
        heapify(self._held)
        for one in mine:
            self._pass_held(one, now)

    def _pass_held(self, held: HeldMessage, now: float) -> None:
        camped = self._held_for.pop(held.order, None)
        if camped is not None:
            camped.ue.faults.mark(FaultKind.DELAY, now)
        send = self._transmit if held.direction == "uplink" else self._deliver
        send(held.stream, held.pdu)

    def _ue_of(self, peek: wire.NgapPeek, pdu: bytes) -> tuple[CampedUe, UeContext | None] | None:
        """Return the UE and context of a message; None if it concerns no known UE."""
        cell = self._cell
        if peek.message == "Paging":
            s_tmsi = messages.read_paging(messages.ies_of(pdu)).s_tmsi
            camped = None if s_tmsi is None else cell.find(s_tmsi)
            return None if camped is None else (camped, None)
        if peek.message == "HandoverRequest":
            container = octets_of(messages.ies_of(pdu), "SourceToTarget-TransparentContainer")
            handover = cell.neighbours.preparing.get(container)
            return None if handover is None else (handover.camped, None)
        context = cell.contexts.find(peek.amf_ue_ngap_id, peek.ran_ue_ngap_id)
        if context is None:
            return None
        if context.camped is None and context.handover is not None:
            return context.handover.camped, context
        return None if context.camped is None else (context.camped, context)
