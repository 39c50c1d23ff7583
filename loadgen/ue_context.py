"""A UE on a cell, and the gNB's side of its NG-connection."""

from math import inf
from typing import TYPE_CHECKING

from loadgen.as_security import GnbKeys
from loadgen.session_model import Resource
from loadgen.ue import Ue
from loadgen.ue_model import Connect

if TYPE_CHECKING:
    from loadgen.cell import Cell
    from loadgen.handovers import Handover

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
