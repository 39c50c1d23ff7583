"""A UE on a cell, and the gNB's side of its NG-connection."""

from math import inf
from typing import TYPE_CHECKING

from loadgen.session_model import Resource
from loadgen.ue.as_security import GnbKeys
from loadgen.ue.model import Connect
from loadgen.ue.ue import Ue

if TYPE_CHECKING:
    from loadgen.gnb.cell import Cell
    from loadgen.gnb.handover import Handover

RADIO_LOST = "radio-connection-with-ue-lost"


class Camped:
    """A UE on this cell."""

    __slots__ = ("cell", "context", "held", "queued", "s_tmsi", "ue", "wanted")

    def __init__(self, cell: "Cell", ue: Ue) -> None:
        self.cell = cell
        self.ue = ue
        self.context: UeContext | None = None
        self.s_tmsi: tuple[int, int, int] | None = None
        """Under which the cell finds it."""
        self.wanted: Connect | None = None
        self.held = inf
        """When a UE that was turned away tries again."""
        self.queued = inf

    def deadline(self) -> float:
        """The next timer of the UE, or its next try to connect."""
        return min(self.ue.deadline(), self.held)

    def advance(self, now: float) -> None:
        """Run what is due."""
        if self.held <= now:
            self.cell.admit(self, now)
        self.ue.advance(now)
        self.cell.pump(self, now)


class UeContext:
    """A UE-associated logical NG-connection, the gNB's side."""

    __slots__ = (
        "amf_ue_ngap_id",
        "camped",
        "cell",
        "disturbed",
        "guard",
        "handover",
        "initial_sent",
        "keys",
        "lost_cause",
        "queued",
        "ran_ue_ngap_id",
        "release_cause",
        "resources",
        "set_up",
        "setups",
        "stream",
        "stream_down",
        "tries",
    )

    def __init__(
        self, cell: "Cell", ran_ue_ngap_id: int, stream: int, camped: Camped | None
    ) -> None:
        self.cell = cell
        self.ran_ue_ngap_id = ran_ue_ngap_id
        self.amf_ue_ngap_id: int | None = None
        self.camped: Camped | None = camped
        """None once the UE is gone from it, or before it has arrived."""
        self.lost_cause = RADIO_LOST
        """Why nothing can be delivered while there is no UE: a radio network layer cause."""
        self.disturbed = False
        """Whether a fault was injected into its signalling."""
        self.keys: GnbKeys | None = None
        """Those of AS security, once there is some."""
        self.handover: Handover | None = None
        """What this is the source or the target of."""
        self.stream = stream
        self.stream_down: int | None = None
        self.initial_sent = False
        self.set_up: int | None = None
        """The digest of the INITIAL CONTEXT SETUP REQUEST that was accepted."""
        self.setups: set[int] = set()
        """The digests of the PDU SESSION RESOURCE SETUP REQUESTs that were taken."""
        self.resources: dict[int, Resource] = {}
        """What is set up for PDU sessions, by PSI."""
        self.release_cause: str | None = None
        """That of the UE CONTEXT RELEASE REQUEST which the AMF has to answer."""
        self.tries = 0
        self.guard = inf
        self.queued = inf

    def deadline(self) -> float:
        """When the release is overdue."""
        return self.guard

    def advance(self, now: float) -> None:
        """Ask for the release again."""
        self.cell.release_overdue(self, now)


if TYPE_CHECKING:
    from loadgen.gnb.cell import Cell

_REMEMBERED = 20_000


class Contexts:
    """The contexts of one gNB."""

    __slots__ = ("_by_amf", "_cell", "_disturbed", "_last", "by_ran", "streams")

    def __init__(self, cell: "Cell") -> None:
        """Of a cell without UEs."""
        self._cell = cell
        self._last = 0
        self._disturbed: dict[tuple[str, int], None] = {}
        """The IDs of contexts that are gone, and whose signalling met with faults."""
        self._by_amf: dict[int, UeContext] = {}
        self.by_ran: dict[int, UeContext] = {}
        self.streams = 1
        """The outbound streams of the association."""

    def open(self, camped: Camped | None) -> UeContext:
        """A new context, with a RAN UE NGAP ID and a stream of its own; None for no UE yet."""
        self._last += 1
        stream = 0 if self.streams < 2 else 1 + self._last % (self.streams - 1)
        context = UeContext(self._cell, self._last, stream, camped)
        self.by_ran[self._last] = context
        if camped is not None:
            context.disturbed = camped.ue.disturbance.active(camped.ue.now)
        return context

    def disturbed(self, amf: int | None, ran: int | None) -> bool:
        """Whether faults were injected into the signalling of a context that is gone."""
        return ("amf", amf) in self._disturbed or ("ran", ran) in self._disturbed

    def named(self, amf: int | None, ran: int | None) -> UeContext | None:
        """The context of some IDs: that of the gNB's own ID, where there is one."""
        if ran is not None:
            return self.by_ran.get(ran)
        return None if amf is None else self._by_amf.get(amf)

    def name(self, context: UeContext, amf: int) -> bool:
        """Take the AMF's ID of a context; whether no other one has it."""
        free = self._by_amf.get(amf, context) is context
        self._unname(context)
        context.amf_ue_ngap_id = amf
        self._by_amf[amf] = context
        return free

    def close(self, context: UeContext) -> None:
        """A context is no more."""
        self.by_ran.pop(context.ran_ue_ngap_id, None)
        if context.disturbed:
            self._disturb("ran", context.ran_ue_ngap_id)
            if context.amf_ue_ngap_id is not None:
                self._disturb("amf", context.amf_ue_ngap_id)
        self._unname(context)

    def refused(self, amf: int, *, disturbed: bool) -> None:
        """A HANDOVER REQUEST with this ID has come to nothing; maybe it comes twice by a fault."""
        if disturbed:
            self._disturb("amf", amf)

    def _disturb(self, side: str, number: int) -> None:
        self._disturbed[side, number] = None
        while len(self._disturbed) > _REMEMBERED:
            del self._disturbed[next(iter(self._disturbed))]

    def _unname(self, context: UeContext) -> None:
        amf = context.amf_ue_ngap_id
        if amf is not None and self._by_amf.get(amf) is context:
            del self._by_amf[amf]
