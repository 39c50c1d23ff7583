"""UEs on a cell, and their UE-associated logical NG-connections in the gNB (TS 38.413 3.1).

The cell and the handovers are built on top of this module. It knows them by two protocols,
`ServingCell` and `OngoingHandover`.
"""

from collections.abc import Callable
from math import inf
from typing import Protocol

from loadgen.gnb.messages import GnbConfig
from loadgen.session_model import Resource
from loadgen.trees import Tree
from loadgen.ue.as_security import GnbKeys
from loadgen.ue.model import Connect, Output, Procedure
from loadgen.ue.ue import Ue

RADIO_LOST = "radio-connection-with-ue-lost"
_REMEMBERED = 20_000


class ServingCell(Protocol):
    """What a UE, its driver and a handover need of the UE's cell: see `loadgen.gnb.cell.Cell`."""

    config: GnbConfig

    def admit(self, camped: "CampedUe", now: float) -> None:
        """Establish the RRC connection that a UE wants, or make the UE wait."""
        ...

    def begin(
        self, camped: "CampedUe", procedure: Procedure, now: float, since: float | None = None
    ) -> None:
        """Start a procedure of a UE."""
        ...

    def pump(self, camped: "CampedUe", now: float) -> None:
        """Execute the outputs of a UE."""
        ...

    def execute(self, camped: "CampedUe", output: Output, now: float) -> None:
        """Execute one output of a UE."""
        ...

    def identify(self, camped: "CampedUe") -> None:
        """Index a UE by its current 5G-S-TMSI, for paging."""
        ...

    def remove(self, camped: "CampedUe") -> None:
        """Remove a UE that moves to another cell."""
        ...

    def leave(self, camped: "CampedUe", now: float) -> None:
        """Handle a UE that dropped its radio link without signalling."""
        ...

    def notify_driver(self) -> None:
        """Tell the driver that this cell has something to send or to report."""
        ...


class OngoingHandover(Protocol):
    """What a cell needs of a handover: see `loadgen.gnb.handover.Handover`."""

    @property
    def camped(self) -> "CampedUe":
        """The UE."""
        ...

    def receive(self, message: str, context: "UeContext", ies: Tree, now: float) -> None:
        """Handle a handover message of the AMF for the source or the target."""
        ...

    def release_commanded(self, context: "UeContext", ies: Tree) -> None:
        """Check a UE CONTEXT RELEASE COMMAND for the source or the target."""
        ...

    def context_closed(self, context: "UeContext") -> None:
        """Handle the end of the source or target context."""
        ...

    def discard_target(self) -> None:
        """Forget the target context, which the gNB reported as failed."""
        ...


class PreparedHandover(OngoingHandover, Protocol):
    """What a target cell needs of an N2 handover that it prepares."""

    def targets(self, cell: ServingCell) -> bool:
        """Whether `cell` is the target."""
        ...

    def requested(self, ies: Tree, digest: int, stream: int, now: float) -> None:
        """Handle a HANDOVER REQUEST for this handover in the target."""
        ...


class CampedUe:
    """A UE and the cell it camps on."""

    __slots__ = ("cell", "context", "held", "queued", "recommended", "s_tmsi", "ue", "wanted")

    def __init__(self, cell: ServingCell, ue: Ue) -> None:
        self.cell = cell
        self.ue = ue
        self.context: UeContext | None = None
        self.s_tmsi: tuple[int, int, int] | None = None
        """The 5G-S-TMSI that the cell has indexed."""
        self.wanted: Connect | None = None
        self.recommended = False
        """Whether the gNB recommended its cell for the next paging of the UE."""
        self.held = inf
        """When a UE that was refused a connection tries again."""
        self.queued = inf

    def deadline(self) -> float:
        """Return when the next timer of the UE or its next connection attempt is due."""
        return min(self.ue.deadline(), self.held)

    def advance(self, now: float) -> None:
        """Run the timers that are due."""
        if self.held <= now:
            self.cell.admit(self, now)
        self.ue.advance(now)
        self.cell.pump(self, now)


class UeContext:
    """The gNB's side of a UE-associated logical NG-connection."""

    __slots__ = (
        "_release_overdue",
        "amf_ue_ngap_id",
        "camped",
        "guard",
        "handover",
        "identity_index",
        "initial_sent",
        "keys",
        "lost_cause",
        "met_fault",
        "queued",
        "ran_ue_ngap_id",
        "release_cause",
        "release_since",
        "resources",
        "set_up",
        "setups",
        "stream",
        "stream_down",
        "tries",
    )

    def __init__(
        self,
        ran_ue_ngap_id: int,
        stream: int,
        camped: CampedUe | None,
        release_overdue: Callable[["UeContext", float], None],
    ) -> None:
        """Open a context.

        Args:
            ran_ue_ngap_id: the gNB's ID.
            stream: the SCTP stream of its uplink messages.
            camped: the UE; None before the UE of a handover arrives.
            release_overdue: called if the AMF does not command the release in time.
        """
        self._release_overdue = release_overdue
        self.ran_ue_ngap_id = ran_ue_ngap_id
        self.amf_ue_ngap_id: int | None = None
        self.camped = camped
        """None after the UE left, or before it arrives."""
        self.lost_cause = RADIO_LOST
        """Radio network layer cause for messages that cannot be delivered without a UE."""
        self.met_fault = False
        """Whether a fault was injected into its signalling."""
        self.keys: GnbKeys | None = None
        """AS security keys, once security is established."""
        self.handover: OngoingHandover | None = None
        """The handover that this context is the source or the target of."""
        self.identity_index: int | None = None
        """The UE identity index value, for paging in RRC_INACTIVE; None if the AMF sent none."""
        self.stream = stream
        self.stream_down: int | None = None
        self.initial_sent = False
        self.set_up: int | None = None
        """The digest of the INITIAL CONTEXT SETUP REQUEST that was accepted."""
        self.setups: set[int] = set()
        """The digests of the PDU SESSION RESOURCE SETUP REQUESTs that were processed."""
        self.resources: dict[int, Resource] = {}
        """PDU session resources by PSI."""
        self.release_cause: str | None = None
        """The cause of the UE CONTEXT RELEASE REQUEST that the AMF must answer."""
        self.release_since = inf
        """When the gNB first requested the release."""
        self.tries = 0
        self.guard = inf
        self.queued = inf

    def deadline(self) -> float:
        """Return when the release is overdue."""
        return self.guard

    def advance(self, now: float) -> None:
        """Report that the release is overdue."""
        self._release_overdue(self, now)


class Contexts:
    """The contexts of one gNB, by the IDs of both sides."""

    __slots__ = ("_by_amf", "_last", "_met_fault", "_release_overdue", "by_ran", "streams")

    def __init__(self, release_overdue: Callable[[UeContext, float], None]) -> None:
        self._release_overdue = release_overdue
        self._last = 0
        self._met_fault: dict[tuple[str, int], None] = {}
        """IDs of closed contexts with faults injected into their signalling."""
        self._by_amf: dict[int, UeContext] = {}
        self.by_ran: dict[int, UeContext] = {}
        self.streams = 1
        """The outbound streams of the association."""

    def open(self, camped: CampedUe | None) -> UeContext:
        """Return a new context with its own RAN UE NGAP ID and stream."""
        self._last += 1
        stream = 0 if self.streams < 2 else 1 + self._last % (self.streams - 1)
        context = UeContext(self._last, stream, camped, self._release_overdue)
        self.by_ran[self._last] = context
        if camped is not None:
            context.met_fault = camped.ue.faults.active(camped.ue.now)
        return context

    def met_fault(self, amf: int | None, ran: int | None) -> bool:
        """Whether faults were injected into the signalling of a context closed since."""
        return ("amf", amf) in self._met_fault or ("ran", ran) in self._met_fault

    def find(self, amf: int | None, ran: int | None) -> UeContext | None:
        """Return the context of the gNB's ID if there is one, else that of the AMF's ID."""
        if ran is not None:
            return self.by_ran.get(ran)
        return None if amf is None else self._by_amf.get(amf)

    def set_amf_id(self, context: UeContext, amf: int) -> bool:
        """Store the AMF's ID of a context. Return False if another context has this ID."""
        free = self._by_amf.get(amf, context) is context
        self._forget_amf_id(context)
        context.amf_ue_ngap_id = amf
        self._by_amf[amf] = context
        return free

    def close(self, context: UeContext) -> None:
        """Remove a context."""
        self.by_ran.pop(context.ran_ue_ngap_id, None)
        if context.met_fault:
            self._remember_fault("ran", context.ran_ue_ngap_id)
            if context.amf_ue_ngap_id is not None:
                self._remember_fault("amf", context.amf_ue_ngap_id)
        self._forget_amf_id(context)

    def refused(self, amf: int, *, met_fault: bool) -> None:
        """Remember a refused HANDOVER REQUEST with this ID: a fault may make it arrive twice."""
        if met_fault:
            self._remember_fault("amf", amf)

    def _remember_fault(self, side: str, number: int) -> None:
        self._met_fault[side, number] = None
        while len(self._met_fault) > _REMEMBERED:
            del self._met_fault[next(iter(self._met_fault))]

    def _forget_amf_id(self, context: UeContext) -> None:
        amf = context.amf_ue_ngap_id
        if amf is not None and self._by_amf.get(amf) is context:
            del self._by_amf[amf]
