"""Whether a gNB admits a new RRC connection: the NG interface and the AMF's overload decide."""

from collections.abc import Callable
from math import inf
from random import Random
from typing import TYPE_CHECKING

from loadgen.gnb import messages
from loadgen.gnb.context import RADIO_LOST, Camped, Contexts, UeContext
from loadgen.gnb.handover import Handovers
from loadgen.gnb.messages import GnbConfig
from loadgen.gnb.resources import Resources
from loadgen.identity import Guami
from loadgen.timers import Deadlines, TimerValues
from loadgen.trees import Tree, number, part
from loadgen.ue.model import (
    CONNECTION_LOST,
    NOT_RELEASED,
    Connect,
    Ended,
    Inactive,
    Leave,
    Move,
    Output,
    Procedure,
    Reselect,
    Send,
)
from loadgen.ue.ue import Ue
from loadgen.violation import Kind

_SPARES_SIGNALLING = "reject-non-emergency-mo-dt"


class Admission:
    """Admission of RRC connections for signalling (TS 38.413 8.7.6, 9.3.1.105)."""

    def __init__(self) -> None:
        self.interface_up = False
        self.refused = 0
        """How many attempts were turned away."""
        self._reduction = 0
        self._credit = 0

    @property
    def overloaded(self) -> bool:
        """Whether the AMF asked for less signalling."""
        return self._reduction > 0

    def overload_start(self, ies: Tree) -> None:
        """Take OVERLOAD START: all signalling, or the percentage that it says, is turned away."""
        action = part(ies, "AMFOverloadResponse").get("overloadAction")
        percent = number(ies, "AMFTrafficLoadReductionIndication")
        everything = 100 if percent is None else percent
        self._reduction = 0 if action == _SPARES_SIGNALLING else everything
        self._credit = 0

    def overload_stop(self) -> None:
        """Take OVERLOAD STOP."""
        self._reduction = 0

    def admits(self) -> bool:
        """Whether one more connection may be established now."""
        if not self.interface_up:
            return False
        self._credit += 100 - self._reduction
        if self._credit >= 100:
            self._credit -= 100
            return True
        self.refused += 1
        return False


if TYPE_CHECKING:
    from loadgen.gnb.handover import Handover

_REMEMBERED = 4096


class Neighbours:
    """The cells of a run."""

    def __init__(self, rng: Random | None = None) -> None:
        """No cells; `rng` chooses among them."""
        self.cells: list[Cell] = []
        self.preparing: dict[bytes, Handover] = {}
        """N2 handovers by the transparent container of their source."""
        self.cancelled: dict[bytes, bool] = {}
        """The containers of handovers that were cancelled, for a request may come after that;
        and whether faults were injected into the signalling of their UEs."""
        self.rng = rng or Random(0)  # noqa: S311
        self.stirred: Callable[[Cell], None] = _nobody
        """Told of a cell that has something to send, or to report, by the doing of another."""

    def join(self, cell: "Cell") -> None:
        """A cell of the run."""
        self.cells.append(cell)

    def over(self, container: bytes, *, cancelled: bool, disturbed: bool) -> None:
        """An N2 handover is over, maybe because its source has cancelled it."""
        self.preparing.pop(container, None)
        if cancelled:
            self.cancelled[container] = disturbed
            if len(self.cancelled) > _REMEMBERED:
                del self.cancelled[next(iter(self.cancelled))]

    def choose(self, source: "Cell", areas: frozenset[tuple[str, int]] | None) -> "Cell | None":
        """Another cell with an AMF, by chance; None where there is none.

        Args:
            source: the one to leave.
            areas: the registration area, to leave it where that is possible; None for anywhere.
        """
        others = [one for one in self.cells if one is not source and one.admission.interface_up]
        if areas is not None:
            others = [one for one in others if one.tai not in areas] or others
        return self.rng.choice(others) if others else None


def _nobody(cell: "Cell") -> None:
    del cell


USER_INACTIVITY = "user-inactivity"
_RELEASE_TRIES = 3


class Cell:
    """The UE-associated half of a gNB."""

    def __init__(
        self,
        config: GnbConfig,
        send: Callable[[int, bytes], None],
        violate: Callable[[Kind, str], None],
        deadlines: Deadlines,
        *,
        timers: TimerValues,
        rng: Random,
        neighbours: Neighbours | None = None,
    ) -> None:
        """A cell without UEs; `send` takes a stream and a PDU."""
        self.config = config
        self.admission = Admission()
        self.contexts = Contexts(self)
        self.guamis: frozenset[Guami] = frozenset()
        self.ended: list[tuple[Camped, Ended]] = []
        """The procedures that came to their end; the driver empties it."""
        self.excused: dict[Kind, int] = {}
        """Violations of nobody's UE that injected faults may have caused."""
        self.undelivered = 0
        """Messages of UEs that could not be sent: the AMF had given them no ID yet."""
        self.repeated_contexts = 0
        """INITIAL CONTEXT SETUP REQUESTs that came again, octet for octet."""
        self.send = send
        self.violate = violate
        self.deadlines = deadlines
        self.timers = timers
        self.rng = rng
        self._uli = messages.location(config)
        self._held: dict[Camped, None] = {}
        self._by_s_tmsi: dict[tuple[int, int, int], Camped] = {}
        self.resources = Resources(config.n3_address)
        self.neighbours = Neighbours() if neighbours is None else neighbours
        self.neighbours.join(self)
        self.handovers = Handovers(self)

    @property
    def tai(self) -> tuple[str, int]:
        """PLMN and TAC of the cell."""
        return self.config.plmn, self.config.tac

    # the driver's side

    def camp(self, ue: Ue) -> Camped:
        """A UE on this cell, from now on."""
        return Camped(self, ue)

    def begin(
        self, camped: Camped, procedure: Procedure, now: float, since: float | None = None
    ) -> None:
        """Start a procedure of a UE."""
        camped.ue.begin(procedure, now, since)
        self.pump(camped, now)

    def pump(self, camped: Camped, now: float) -> None:
        """Do what a UE wants done."""
        out = camped.ue.out
        while out:
            wants, camped.ue.out = out, []
            for want in wants:
                camped.cell.do(camped, want, now)
            out = camped.ue.out
        self.deadlines.touch(camped)
        guti = camped.ue.guti
        if (None if guti is None else guti.s_tmsi) != camped.s_tmsi:
            camped.cell.identify(camped)
        if camped.cell is not self:
            self.neighbours.stirred(camped.cell)

    def do(self, camped: Camped, want: Output, now: float) -> None:
        """Do one thing that a UE of this cell wants done."""
        match want:
            case Send(nas):
                self._uplink(camped, nas)
            case Ended():
                self.ended.append((camped, want))
            case Connect():
                camped.wanted = want
                self.admit(camped, now)
            case Leave():
                self.leave(camped, now)
            case Inactive():
                if camped.context is not None:
                    self.request_release(camped.context, USER_INACTIVITY, now)
            case Move(kind):
                self.handovers.begin(camped, kind, now)
            case Reselect():
                self._reselect(camped)

    def _reselect(self, camped: Camped) -> None:
        """An idle UE goes to another cell, of another tracking area where there is one."""
        target = self.neighbours.choose(self, camped.ue.areas)
        if target is not None:
            target.take(camped)

    def take(self, camped: Camped) -> None:
        """A UE comes to this cell from another."""
        camped.cell.give_up(camped)
        camped.cell = self
        camped.ue.tai = self.tai
        self.identify(camped)

    def give_up(self, camped: Camped) -> None:
        """A UE is no longer here, to be paged."""
        self._held.pop(camped, None)
        if camped.s_tmsi is not None and self._by_s_tmsi.get(camped.s_tmsi) is camped:
            del self._by_s_tmsi[camped.s_tmsi]
        camped.s_tmsi = None

    def identify(self, camped: Camped) -> None:
        """Know a UE by its 5G-S-TMSI of now, to page it."""
        if camped.s_tmsi is not None and self._by_s_tmsi.get(camped.s_tmsi) is camped:
            del self._by_s_tmsi[camped.s_tmsi]
        guti = camped.ue.guti
        camped.s_tmsi = None if guti is None else guti.s_tmsi
        if camped.s_tmsi is not None:
            self._by_s_tmsi[camped.s_tmsi] = camped

    def camping(self, s_tmsi: tuple[int, int, int]) -> Camped | None:
        """The UE with a 5G-S-TMSI, None for one that is not here."""
        return self._by_s_tmsi.get(s_tmsi)

    def page(self, s_tmsi: tuple[int, int, int], now: float) -> bool:
        """Page a UE (8.5.1); False for one that is not here."""
        camped = self._by_s_tmsi.get(s_tmsi)
        if camped is None:
            return False
        camped.ue.paged(now)
        self.pump(camped, now)
        return True

    # RRC

    def admit(self, camped: Camped, now: float) -> None:
        """Establish the RRC connection that a UE wants, or let it wait."""
        if camped.wanted is None:
            camped.held = inf
        elif self.admission.admits():
            camped.held = inf
            self._held.pop(camped, None)
            context = camped.context = self.contexts.open(camped)
            camped.ue.user_plane = context.resources
            camped.ue.connected(now)
        else:
            camped.held = now + self.timers.rrc_wait * self.rng.uniform(1.0, 2.0)
            self._held[camped] = None

    def resume(self, now: float) -> None:
        """The AMF can be reached again: let the UEs that wait try, spread over a moment."""
        for camped in self._held:
            camped.held = min(camped.held, now + self.rng.random() * self.timers.rrc_wait)
            self.deadlines.touch(camped)
        self._held.clear()

    def leave(self, camped: Camped, now: float) -> None:
        """The UE is gone without a word: the gNB sees its radio link fail."""
        camped.wanted = None
        camped.held = inf
        self._held.pop(camped, None)
        context, camped.context = camped.context, None
        if context is None:
            return
        context.camped = None
        if context.amf_ue_ngap_id is None:
            # Without the AMF's ID there is nothing to ask: what comes late is unknown (10.6).
            self.forget(context)
        else:
            self.request_release(context, RADIO_LOST, now)

    def lose(self, context: UeContext, now: float, why: str | None) -> None:
        """Release the RRC connection of a context that is no more."""
        self.forget(context)
        camped, context.camped = context.camped, None
        if camped is not None:
            camped.context = None
            camped.wanted = None
            camped.ue.released(now, why)
            self.pump(camped, now)

    def forget(self, context: UeContext) -> None:
        """A context is no more, and nobody is told."""
        context.guard = inf
        self.resources.forget(context.resources)
        self.contexts.close(context)
        if context.handover is not None:
            context.handover.lost(context)

    def lose_all(self, now: float) -> None:
        """Every connection is lost: with the association, or by a reset."""
        for context in list(self.contexts.by_ran.values()):
            self.lose(context, now, CONNECTION_LOST)

    def lose_some(self, some: list[Tree], now: float) -> None:
        """The connections that a partial NG RESET names are lost."""
        for item in some:
            context = self.contexts.named(
                number(item, "aMF-UE-NGAP-ID"), number(item, "rAN-UE-NGAP-ID")
            )
            if context is not None:
                self.lose(context, now, CONNECTION_LOST)

    # uplink

    def ids(self, context: UeContext) -> tuple[Tree, Tree]:
        """The IEs that name the connection of a context."""
        return messages.ue_ids(context.amf_ue_ngap_id or 0, context.ran_ue_ngap_id)

    def _uplink(self, camped: Camped, nas: bytes) -> None:
        context = camped.context
        if context is None:
            self.undelivered += 1
        elif not context.initial_sent:
            self._initial(context, camped, nas)
        elif context.amf_ue_ngap_id is None:
            self.undelivered += 1
        else:
            pdu = messages.uplink_nas_transport(self.ids(context), nas, self._uli)
            self.send(context.stream, pdu)

    def _initial(self, context: UeContext, camped: Camped, nas: bytes) -> None:
        want, camped.wanted = camped.wanted, None
        context.initial_sent = True
        if want is not None:
            pdu = messages.initial_ue_message(
                context.ran_ue_ngap_id, nas, self._uli, *want[:2], context=want.context
            )
            self.send(context.stream, pdu)

    def request_release(self, context: UeContext, cause: str, now: float) -> None:
        """UE CONTEXT RELEASE REQUEST (8.3.2), repeated until the AMF commands it."""
        if context.amf_ue_ngap_id is None:
            return
        context.release_cause = cause
        context.tries += 1
        context.guard = now + self.timers.ng_release
        self.deadlines.touch(context)
        pdu = messages.ue_context_release_request(self.ids(context), cause, context.resources)
        self.send(context.stream, pdu)

    def expect_release(self, context: UeContext, now: float) -> None:
        """The AMF should release a context that has no UE; else it is asked to."""
        context.release_cause = RADIO_LOST
        context.guard = now + self.timers.handover
        self.deadlines.touch(context)

    def release_overdue(self, context: UeContext, now: float) -> None:
        """No UE CONTEXT RELEASE COMMAND came."""
        context.guard = inf
        cause = context.release_cause
        if cause is None:
            return
        if context.tries < _RELEASE_TRIES:
            self.request_release(context, cause, now)
        else:
            self.lose(context, now, NOT_RELEASED)

    # what is lost

    def blame(self, context: UeContext, kind: Kind, text: str) -> None:
        """A violation that spoils what the UE of a context is doing."""
        camped = context.camped
        if camped is None and context.handover is not None:
            camped = context.handover.camped
        if camped is not None:
            camped.ue.violate(kind, text)
        elif context.disturbed:
            self.excuse(kind)
        else:
            self.violate(kind, text)

    def excuse(self, kind: Kind) -> None:
        """Count a violation that injected faults may have caused."""
        self.excused[kind] = self.excused.get(kind, 0) + 1

    def error(self, amf: int | None, ran: int | None, text: str | None, now: float) -> bool:
        """An ERROR INDICATION: a UE that it names is released locally (10.6).

        The violation `text`, if any, is then the UE's. False where it names no UE.
        """
        context = None if amf is None and ran is None else self.contexts.named(amf, ran)
        if context is None:
            return False
        if text is not None:
            self.blame(context, Kind.NGAP_ERROR_INDICATION, text)
        self.lose(context, now, CONNECTION_LOST)
        return True
