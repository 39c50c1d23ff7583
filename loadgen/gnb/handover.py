"""How far a handover is."""

from math import inf
from typing import TYPE_CHECKING

from loadgen.gnb import n2_handover, xn_handover
from loadgen.gnb.context import RADIO_LOST, Camped, UeContext
from loadgen.gnb.handover_stage import Stage
from loadgen.trees import Tree, part
from loadgen.ue.model import SKIPPED, Procedure
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.gnb.cell import Cell

NO_NEIGHBOUR = "no-neighbour"


class Handover:
    """One handover of one UE, and its guard timer."""

    def __init__(
        self, kind: Procedure, camped: Camped, source: UeContext, target: "Cell", stage: Stage
    ) -> None:
        """From the context `source` to the cell `target`."""
        self.kind = kind
        self.camped = camped
        self.source = source
        self.cell = target
        self.stage = stage
        self.target: UeContext | None = None
        """The context in the target, once there is one."""
        self.request = 0
        """The digest of the HANDOVER REQUEST that made it."""
        self.container = b""
        """From source to target, which the AMF passes on unread."""
        self.answer = b""
        """From target to source, in the same way."""
        self.refused: frozenset[int] = frozenset()
        """The sessions that the target did not admit."""
        self.acknowledged = False
        """Whether the AMF has acknowledged HANDOVER CANCEL."""
        self.status: Tree = {}
        """What the RAN status transfer had."""
        self.guard = inf
        self.queued = inf

    def deadline(self) -> float:
        """When the AMF is overdue."""
        return self.guard

    def advance(self, now: float) -> None:
        """The AMF has not done what it should."""
        self.guard = inf
        if self.stage is Stage.SWITCHING:
            xn_handover.overdue(self, now)
        elif self.stage is Stage.PREPARING and self.kind is Procedure.XN_HANDOVER:
            xn_handover.execute(self, now)
        elif self.stage is Stage.EXECUTING:
            n2_handover.no_status(self, now)
        elif self.stage is not Stage.OVER:
            n2_handover.overdue(self, now)

    def wait(self, seconds: float, now: float) -> None:
        """Give the AMF so many seconds from now."""
        self.guard = now + seconds
        self.cell.deadlines.touch(self)

    def blame(self, kind: Kind, text: str) -> None:
        """A violation that spoils the procedure of the UE."""
        self.camped.ue.violate(kind, text)

    def releasing(self, context: UeContext, ies: Tree) -> None:
        """UE CONTEXT RELEASE COMMAND for the source or the target."""
        cause = part(ies, "Cause").get("radioNetwork")
        if context is self.source and self.stage is Stage.COMPLETING:
            if cause != "successful-handover":
                text = f"the source is released with cause {ies.get('Cause')} after a handover"
                self.blame(Kind.HANDOVER_RELEASE, text)
        elif context is self.source and self.stage is Stage.EXECUTING:
            text = f"the source is released with {ies.get('Cause')} before HANDOVER NOTIFY"
            self.blame(Kind.HANDOVER_RELEASE, text)

    def lost(self, context: UeContext) -> None:
        """The context of the source or the target is no more."""
        context.handover = None
        if self.stage is Stage.OVER:
            return
        now = self.camped.ue.now
        if context is self.source and self.stage is Stage.COMPLETING:
            self.finish(None, now)
        elif context is self.source and self.stage is not Stage.SWITCHING:
            # The UE is released where it is; there is no more to hand over.
            self.finish("source-released", now)
        elif context is self.target:
            self.target = None
            if self.stage is Stage.CANCELLING:
                n2_handover.cancelled(self, now)
            elif self.stage is not Stage.PREPARING:
                self.finish("target-released", now)

    def finish(self, cause: str | None, now: float) -> None:
        """The handover is over; the procedure of the UE ends with it."""
        stage, self.stage = self.stage, Stage.OVER
        self.guard = inf
        cancelled = stage is Stage.CANCELLING
        disturbed = self.camped.ue.disturbance.active(now)
        self.cell.neighbours.over(self.container, cancelled=cancelled, disturbed=disturbed)
        for context in (self.source, self.target):
            if context is not None:
                context.handover = None
        camped, target = self.camped, self.target
        if target is not None and target.camped is None:
            target.cell.request_release(target, RADIO_LOST, now)
        if stage is Stage.EXECUTING:
            # The UE is in no cell: its radio link has failed.
            camped.cell.leave(camped, now)
            camped.ue.released(now, cause)
        running = camped.ue.running_procedure
        if running is not None:
            running.moved(cause, now)
        camped.cell.pump(camped, now)
        camped.cell.neighbours.stirred(camped.cell)


class Handovers:
    """Begins the handovers of a cell's UEs, and takes what the AMF says of them."""

    def __init__(self, cell: "Cell") -> None:
        self._cell = cell

    def begin(self, camped: Camped, kind: Procedure, now: float) -> None:
        """Hand a UE over, if it has a user plane; NGAP has no handover without one."""
        context, cell = camped.context, self._cell
        running = camped.ue.running_procedure
        if context is None or running is None:
            return
        if kind is Procedure.HANDOVER:
            kinds = Procedure.XN_HANDOVER, Procedure.N2_HANDOVER
            kind = cell.neighbours.rng.choice(kinds)
        target = cell.neighbours.choose(cell, None)
        partial = kind is Procedure.HANDOVER_PARTIAL and len(context.resources) < 2
        if context.keys is None or not context.resources or partial:
            running.moved(SKIPPED, now)
        elif target is None:
            running.moved(NO_NEIGHBOUR, now)
        elif kind is Procedure.XN_HANDOVER:
            xn_handover.begin(Handover(kind, camped, context, target, Stage.PREPARING), now)
        else:
            n2_handover.begin(Handover(kind, camped, context, target, Stage.PREPARING), now)

    def requested(self, ies: Tree, digest: int, stream: int, now: float) -> None:
        """HANDOVER REQUEST: this cell is the target."""
        n2_handover.requested(self._cell, ies, digest, stream, now)

    def receive(self, message: str, context: UeContext, ies: Tree, now: float) -> None:
        """Take a message that answers a handover."""
        handover = context.handover
        if handover is None:
            text = f"{message}, and there is no handover"
            self._cell.blame(context, Kind.NGAP_UNEXPECTED, text)
        elif message.startswith("PathSwitch"):
            xn_handover.receive(handover, message, ies, now)
        elif message == "DownlinkRANStatusTransfer":
            n2_handover.status_transferred(handover, context, ies, now)
        else:
            n2_handover.receive(handover, message, ies, now)
