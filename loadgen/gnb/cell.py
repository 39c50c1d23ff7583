"""The cell of a gNB without I/O: its UEs, their RRC connections and their NGAP contexts."""

from collections.abc import Callable
from math import inf
from random import Random
from typing import TypeAlias

from loadgen.gnb import messages
from loadgen.gnb.admission import Admission
from loadgen.gnb.context import RADIO_LOST, CampedUe, Contexts, UeContext
from loadgen.gnb.messages import GnbConfig
from loadgen.gnb.neighbours import Neighbours
from loadgen.gnb.resources import Resources
from loadgen.identity import Guami
from loadgen.timers import Deadlines, TimerValues
from loadgen.trees import Tree, number
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

USER_INACTIVITY = "user-inactivity"
_RELEASE_TRIES = 3
_LONGEST_WAIT = 16
"""The longest wait time of an RRCReject, in units (TS 38.331 6.2.2)."""
_RESUMPTION = 2
"""The time over which UEs come back after NG SETUP, in units."""


BeginHandover: TypeAlias = Callable[["Cell", CampedUe, Procedure, float], None]
"""Starts a handover of this kind for a UE of the cell."""


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
        begin_handover: BeginHandover,
        neighbours: Neighbours | None = None,
    ) -> None:
        """Create a cell without UEs.

        Args:
            config: what the gNB broadcasts.
            send: sends a PDU on a stream.
            violate: reports a violation that concerns no UE.
            deadlines: the heap of deadlines.
            timers: timer values.
            rng: for values that must be random.
            begin_handover: starts a handover.
            neighbours: the cells of the run.
        """
        self.config = config
        self.admission = Admission()
        self.contexts = Contexts(self._release_overdue)
        self.guamis: frozenset[Guami] = frozenset()
        self.ended: list[tuple[CampedUe, Ended]] = []
        """Ended procedures; the driver empties the list."""
        self.tolerated: dict[Kind, int] = {}
        """Violations that concern no UE and that injected faults may have caused."""
        self.undelivered = 0
        """Messages of UEs that could not be sent because the AMF had not given an ID yet."""
        self.repeated_contexts = 0
        """INITIAL CONTEXT SETUP REQUESTs that were repeated octet for octet."""
        self.send = send
        self.violate = violate
        self.deadlines = deadlines
        self.timers = timers
        self.rng = rng
        self._begin_handover = begin_handover
        self._locations = {plmn: messages.location(config, plmn) for plmn in config.broadcast}
        self._held: dict[CampedUe, None] = {}
        self._by_s_tmsi: dict[tuple[int, int, int], CampedUe] = {}
        self.resources = Resources(config.n3_address)
        self.neighbours = Neighbours() if neighbours is None else neighbours
        self.neighbours.join(self)

    @property
    def tais(self) -> frozenset[tuple[str, int]]:
        """PLMN and TAC of each tracking area of the cell: one for each PLMN that it broadcasts."""
        return frozenset((plmn, self.config.tac) for plmn in self.config.broadcast)

    def location(self, ue: Ue | None) -> Tree:
        """Return the User Location Information IE of a UE; None for a context that has lost it."""
        return self._locations[ue.plmn if ue is not None else self.config.plmn]

    # called by the driver

    def camp(self, ue: Ue) -> CampedUe:
        """Add a UE to this cell."""
        return CampedUe(self, ue)

    def begin(
        self, camped: CampedUe, procedure: Procedure, now: float, since: float | None = None
    ) -> None:
        """Start a procedure of a UE."""
        camped.ue.begin(procedure, now, since)
        self.pump(camped, now)

    def pump(self, camped: CampedUe, now: float) -> None:
        """Execute the outputs of a UE."""
        out = camped.ue.out
        while out:
            outputs, camped.ue.out = out, []
            for output in outputs:
                camped.cell.execute(camped, output, now)
            out = camped.ue.out
        self.deadlines.touch(camped)
        guti = camped.ue.guti
        if (None if guti is None else guti.s_tmsi) != camped.s_tmsi:
            camped.cell.identify(camped)
        if camped.cell is not self:
            camped.cell.notify_driver()

    def execute(self, camped: CampedUe, output: Output, now: float) -> None:
        """Execute one output of a UE of this cell."""
        match output:
            case Send(nas):
                self._uplink(camped, nas)
            case Ended():
                self.ended.append((camped, output))
            case Connect():
                camped.wanted = output
                self.admit(camped, now)
            case Leave():
                self.leave(camped, now)
            case Inactive():
                if camped.context is not None:
                    self.request_release(camped.context, USER_INACTIVITY, now)
            case Move(kind):
                self._begin_handover(self, camped, kind, now)
            case Reselect():
                self._reselect(camped)

    def notify_driver(self) -> None:
        """Tell the driver that this cell has something to send or to report."""
        self.neighbours.on_activity(self)

    def _reselect(self, camped: CampedUe) -> None:
        """Move an idle UE to another cell, in another tracking area if there is one, and to any of
        the equivalent PLMNs (TS 23.122 4.4.3)."""
        ue = camped.ue
        target = self.neighbours.choose(self, ue.areas) or self
        there = [one for one in target.config.broadcast if one in ue.equivalent_plmns]
        ue.plmn = self.neighbours.rng.choice([ue.plmn, *there])
        target.take(camped)

    def take(self, camped: CampedUe) -> None:
        """Move a UE from its cell to this one."""
        camped.cell.remove(camped)
        camped.cell = self
        camped.ue.tac = self.config.tac
        self.identify(camped)

    def remove(self, camped: CampedUe) -> None:
        """Remove a UE that moves to another cell."""
        self._held.pop(camped, None)
        if camped.s_tmsi is not None and self._by_s_tmsi.get(camped.s_tmsi) is camped:
            del self._by_s_tmsi[camped.s_tmsi]
        camped.s_tmsi = None

    def identify(self, camped: CampedUe) -> None:
        """Index a UE by its current 5G-S-TMSI, for paging."""
        if camped.s_tmsi is not None and self._by_s_tmsi.get(camped.s_tmsi) is camped:
            del self._by_s_tmsi[camped.s_tmsi]
        guti = camped.ue.guti
        camped.s_tmsi = None if guti is None else guti.s_tmsi
        if camped.s_tmsi is not None:
            self._by_s_tmsi[camped.s_tmsi] = camped

    def find(self, s_tmsi: tuple[int, int, int]) -> CampedUe | None:
        """Return the UE of this cell with a 5G-S-TMSI, or None."""
        return self._by_s_tmsi.get(s_tmsi)

    def page(self, s_tmsi: tuple[int, int, int], now: float) -> bool:
        """Page a UE (8.5.1). Return False if the UE is not on this cell."""
        camped = self._by_s_tmsi.get(s_tmsi)
        if camped is None:
            return False
        camped.ue.paged(now)
        self.pump(camped, now)
        return True

    # RRC

    def admit(self, camped: CampedUe, now: float) -> None:
        """Establish the RRC connection that a UE wants, or make the UE wait.

        The UE waits for T302, the wait time of the RRCReject (TS 38.331 5.3.15.2).
        """
        if camped.wanted is None:
            camped.held = inf
        elif self.admission.admits(camped.wanted.cause):
            camped.held = inf
            self._held.pop(camped, None)
            context = camped.context = self.contexts.open(camped)
            camped.recommended = False
            camped.ue.user_plane = context.resources
            camped.ue.connected(now)
        else:
            camped.held = now + self.timers.rrc_wait * self.rng.randint(1, _LONGEST_WAIT)
            if not self.admission.interface_up:
                self._held[camped] = None

    def resume(self, now: float) -> None:
        """Let the UEs that found no AMF try again: there is one. T302 of the others runs on."""
        spread = self.timers.rrc_wait * _RESUMPTION
        for camped in self._held:
            camped.held = min(camped.held, now + self.rng.random() * spread)
            self.deadlines.touch(camped)
        self._held.clear()

    def leave(self, camped: CampedUe, now: float) -> None:
        """Handle a radio link failure: the UE dropped its connection without signalling."""
        camped.wanted = None
        camped.held = inf
        self._held.pop(camped, None)
        context, camped.context = camped.context, None
        if context is None:
            return
        context.camped = None
        if context.amf_ue_ngap_id is None:
            # A release request needs the AMF's ID. Late messages have an unknown ID (10.6).
            self.forget(context)
        else:
            self.request_release(context, RADIO_LOST, now)

    def lose(self, context: UeContext, now: float, why: str | None) -> None:
        """Close a context and release the RRC connection of its UE."""
        self.forget(context)
        camped, context.camped = context.camped, None
        if camped is not None:
            camped.context = None
            camped.wanted = None
            camped.ue.released(now, why)
            self.pump(camped, now)

    def forget(self, context: UeContext) -> None:
        """Close a context without telling its UE."""
        context.guard = inf
        self.resources.forget(context.resources)
        self.contexts.close(context)
        if context.handover is not None:
            context.handover.context_closed(context)

    def lose_all(self, now: float) -> None:
        """Close every context, after the loss of the association or a reset."""
        for context in list(self.contexts.by_ran.values()):
            self.lose(context, now, CONNECTION_LOST)

    def lose_some(self, some: list[Tree], now: float) -> None:
        """Close the contexts that a partial NG RESET names."""
        for item in some:
            context = self.contexts.find(
                number(item, "aMF-UE-NGAP-ID"), number(item, "rAN-UE-NGAP-ID")
            )
            if context is not None:
                self.lose(context, now, CONNECTION_LOST)

    # uplink

    def ids(self, context: UeContext) -> tuple[Tree, Tree]:
        """Return the IEs with the two NGAP IDs of a context."""
        return messages.ue_ids(context.amf_ue_ngap_id or 0, context.ran_ue_ngap_id)

    def _uplink(self, camped: CampedUe, nas: bytes) -> None:
        context = camped.context
        if context is None:
            self.undelivered += 1
        elif not context.initial_sent:
            self._initial(context, camped, nas)
        elif context.amf_ue_ngap_id is None:
            self.undelivered += 1
        else:
            uli = self.location(camped.ue)
            pdu = messages.uplink_nas_transport(self.ids(context), nas, uli)
            self.send(context.stream, pdu)

    def _initial(self, context: UeContext, camped: CampedUe, nas: bytes) -> None:
        wanted, camped.wanted = camped.wanted, None
        context.initial_sent = True
        if wanted is not None:
            uli = self.location(camped.ue)
            pdu = messages.initial_ue_message(
                context.ran_ue_ngap_id, nas, uli, *wanted[:2], context=wanted.context
            )
            self.send(context.stream, pdu)

    def request_release(self, context: UeContext, cause: str, now: float) -> None:
        """Send UE CONTEXT RELEASE REQUEST (8.3.2), and repeat it until the AMF commands it.

        By its behaviour, the gNB sends INITIAL CONTEXT SETUP FAILURE (8.3.1.3) instead.
        """
        if context.amf_ue_ngap_id is None:
            return
        context.release_cause = cause
        context.release_since = min(context.release_since, now)
        context.tries += 1
        context.guard = now + self.timers.ng_release
        self.deadlines.touch(context)
        ids = self.ids(context)
        pdu = messages.ue_context_release_request(ids, cause, context.resources)
        if self.config.behaviour.lost_ue == "context-failure":
            pdu = messages.initial_context_setup_failure(ids, {"radioNetwork": cause})
        self.send(context.stream, pdu)

    def expect_release(self, context: UeContext, now: float) -> None:
        """Request the release of a context without a UE if the AMF does not command it."""
        context.release_cause = RADIO_LOST
        context.guard = now + self.timers.handover
        self.deadlines.touch(context)

    def _release_overdue(self, context: UeContext, now: float) -> None:
        context.guard = inf
        cause = context.release_cause
        if cause is None:
            return
        if context.tries < _RELEASE_TRIES:
            self.request_release(context, cause, now)
        else:
            self.lose(context, now, NOT_RELEASED)

    # errors

    def blame(self, context: UeContext, kind: Kind, text: str) -> None:
        """Report a violation. The running procedure of the context's UE fails."""
        camped = context.camped
        if camped is None and context.handover is not None:
            camped = context.handover.camped
        if camped is not None:
            camped.ue.violate(kind, text)
        elif context.met_fault:
            self.tolerate(kind)
        else:
            self.violate(kind, text)

    def tolerate(self, kind: Kind) -> None:
        """Count a violation that injected faults may have caused."""
        self.tolerated[kind] = self.tolerated.get(kind, 0) + 1

    def error(self, amf: int | None, ran: int | None, text: str | None, now: float) -> bool:
        """Handle an ERROR INDICATION: release the UE that it names locally (10.6).

        Args:
            amf: the AMF UE NGAP ID in the message.
            ran: the RAN UE NGAP ID in the message.
            text: the violation to report for the UE; None if the error was expected.
            now: seconds.

        Returns:
            False if the message names no UE.
        """
        context = None if amf is None and ran is None else self.contexts.find(amf, ran)
        if context is None:
            return False
        if text is not None:
            self.blame(context, Kind.NGAP_ERROR_INDICATION, text)
        self.lose(context, now, CONNECTION_LOST)
        return True
