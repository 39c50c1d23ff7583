"""Answers of a gNB that say it has failed, where it has not (TS 38.413 8.2, 8.3, 8.4)."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct

import wire
from loadgen.faults import NO_FAULTS, Direction, Draws, Faults
from loadgen.gnb import messages
from loadgen.gnb.cell import Cell
from loadgen.gnb.checks import octets_of
from loadgen.gnb.context import Camped, UeContext
from loadgen.gnb.messages import read_paging
from loadgen.gnb.transfers import unsuccessful
from loadgen.timers import Deadlines
from loadgen.tolerated import FaultKind
from loadgen.trees import Tree, items, number

if TYPE_CHECKING:
    from loadgen.gnb.cell import Cell

_CAUSE = "failure-in-radio-interface-procedure"


def wrong_answer(cell: "Cell", context: UeContext, message: str, pdu: bytes) -> bytes | None:
    """The PDU to send instead of an answer; None for one that is always right.

    What the gNB says it does not have, it gives up.
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
            handover.target = None
            context.handover, context.disturbed = None, True
            cell.forget(context)
            return messages.handover_failure(amf)
        case _:
            return None


def _sessions_failed(
    cell: "Cell", context: UeContext, ids: tuple[Tree, Tree], pdu: bytes
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


class Held(Struct, order=True):
    """A message that is held back."""

    due: float
    order: int
    direction: Direction
    stream: int
    pdu: bytes
    ran: int | None
    """The connection, whose next message lets this one go."""


class Disturber:
    """The faults of one gNB. A UE whose message met with one is told, for what comes of it."""

    def __init__(
        self,
        cell: Cell,
        deadlines: Deadlines,
        rng: Random,
        transmit: Callable[[int, bytes], None],
        deliver: Callable[[int, bytes], None],
    ) -> None:
        """No faults yet; `transmit` and `deliver` take a message on its way up and down."""
        self.draws = Draws(rng)
        self.queued = inf
        self._cell = cell
        self._deadlines = deadlines
        self._transmit, self._deliver = transmit, deliver
        self._held: list[Held] = []
        self._touched: dict[int, Camped] = {}
        """Whose the messages are that are held back, by their order."""
        self._order = count()

    def inject(self, faults: Faults) -> None:
        """From now on, these."""
        self.draws.faults = faults if faults.uplink.all or faults.downlink.all else NO_FAULTS

    def forget(self) -> None:
        """The association is lost, and what is held with it."""
        self._held.clear()

    def deadline(self) -> float:
        """When the next message is let go."""
        return self._held[0].due if self._held else inf

    def advance(self, now: float) -> None:
        """Let go what is due."""
        while self._held and self._held[0].due <= now:
            self._let_go(heappop(self._held), now)

    def uplink(self, stream: int, pdu: bytes, now: float) -> None:
        """A message of the gNB, on its way to the AMF."""
        self._pass("uplink", stream, pdu, now)

    def downlink(self, stream: int, pdu: bytes, now: float) -> None:
        """A message of the AMF, on its way to the gNB."""
        self._pass("downlink", stream, pdu, now)

    def _pass(self, direction: Direction, stream: int, pdu: bytes, now: float) -> None:
        send = self._transmit if direction == "uplink" else self._deliver
        kind = self.draws.draw(direction)
        peek = None if kind is None and not self._held else _peek(pdu)
        ran = None if peek is None else peek.ran_ue_ngap_id
        found = None if kind is None or peek is None else self._whose(peek, pdu)
        if kind is None or peek is None or found is None:
            send(stream, pdu)
        else:
            camped, context = found
            self._inject(kind, direction, stream, pdu, peek, camped, context, now)
        if ran is not None and kind is not FaultKind.REORDER:
            self._overtaken(direction, ran, now)

    def _inject(
        self,
        kind: FaultKind,
        direction: Direction,
        stream: int,
        pdu: bytes,
        peek: wire.NgapPeek,
        camped: Camped,
        context: UeContext | None,
        now: float,
    ) -> None:
        send = self._transmit if direction == "uplink" else self._deliver
        instead: bytes | None = None
        if kind is FaultKind.CORRUPT and peek.nas_pdu is not None and len(peek.nas_pdu) > 2:
            instead = pdu.replace(peek.nas_pdu, self.draws.corrupt(peek.nas_pdu), 1)
        elif kind is FaultKind.WRONG and context is not None:
            instead = wrong_answer(self._cell, context, peek.message, pdu)
        if kind in (FaultKind.CORRUPT, FaultKind.WRONG) and instead is None:
            send(stream, pdu)
            return
        self.draws.injected[f"{direction} {kind}"] += 1
        self._mark(camped, context, kind, now)
        match kind:
            case FaultKind.DROP:
                return
            case FaultKind.DUPLICATE:
                send(stream, pdu)
                send(stream, pdu)
            case FaultKind.DELAY | FaultKind.REORDER:
                pause = self.draws.pause()
                ran = peek.ran_ue_ngap_id if kind is FaultKind.REORDER else None
                held = Held(now + pause, next(self._order), direction, stream, pdu, ran)
                self._touched[held.order] = camped
                heappush(self._held, held)
                self._deadlines.touch(self)
            case _:
                send(stream, instead or pdu)

    def _mark(self, camped: Camped, context: UeContext | None, kind: FaultKind, now: float) -> None:
        camped.ue.disturbance.mark(kind, now)
        if context is not None:
            context.disturbed = True

    def _overtaken(self, direction: Direction, ran: int, now: float) -> None:
        """A message has passed: what was held until then comes after it."""
        mine = [one for one in self._held if one.ran == ran and one.direction == direction]
        if not mine:
            return
        self._held = [one for one in self._held if one not in mine]
        heapify(self._held)
        for one in mine:
            self._let_go(one, now)

    def _let_go(self, held: Held, now: float) -> None:
        camped = self._touched.pop(held.order, None)
        if camped is not None:
            camped.ue.disturbance.mark(FaultKind.DELAY, now)
        send = self._transmit if held.direction == "uplink" else self._deliver
        send(held.stream, held.pdu)

    def _whose(self, peek: wire.NgapPeek, pdu: bytes) -> tuple[Camped, UeContext | None] | None:
        """The UE that a message is about; None for what is of no UE, or of one that is gone."""
        cell = self._cell
        if peek.message == "Paging":
            s_tmsi = read_paging(messages.ies_of(pdu)).s_tmsi
            camped = None if s_tmsi is None else cell.camping(s_tmsi)
            return None if camped is None else (camped, None)
        if peek.message == "HandoverRequest":
            container = octets_of(messages.ies_of(pdu), "SourceToTarget-TransparentContainer")
            handover = cell.neighbours.preparing.get(container)
            return None if handover is None else (handover.camped, None)
        context = cell.contexts.named(peek.amf_ue_ngap_id, peek.ran_ue_ngap_id)
        if context is None:
            return None
        if context.camped is None and context.handover is not None:
            return context.handover.camped, context
        return None if context.camped is None else (context.camped, context)


def _peek(pdu: bytes) -> wire.NgapPeek | None:
    try:
        return wire.ngap_peek(pdu)
    except wire.WireError:
        return None
