"""A handover of one UE between two cells: the part that N2 and Xn handovers share."""

from abc import ABC, abstractmethod
from enum import Enum, auto
from math import inf

from loadgen.gnb.cell import Cell
from loadgen.gnb.context import RADIO_LOST, CampedUe, UeContext
from loadgen.trees import Tree
from loadgen.ue.model import Procedure
from loadgen.violation import Kind


class HandoverState(Enum):
    """The state of a handover."""

    PREPARING = auto()
    """The source prepares the target; the UE is still in the source."""
    EXECUTING = auto()
    """The UE left the source and is not in the target yet."""
    COMPLETING = auto()
    """The UE is in the target and HANDOVER NOTIFY was sent; the source waits for its release."""
    CANCELLING = auto()
    """HANDOVER CANCEL was sent."""
    SWITCHING = auto()
    """The UE is in the target of an Xn handover, and PATH SWITCH REQUEST was sent."""
    ENDED = auto()


class Handover(ABC):
    """One handover of one UE, and its guard timer."""

    def __init__(
        self, kind: Procedure, camped: CampedUe, source: UeContext, source_cell: Cell, cell: Cell
    ) -> None:
        """Prepare a handover from the context `source` in `source_cell` to `cell`."""
        self.kind = kind
        self.camped = camped
        self.source = source
        self.source_cell = source_cell
        self.cell = cell
        """The target cell."""
        self.state = HandoverState.PREPARING
        self.target: UeContext | None = None
        """The context in the target, after the target admitted the UE."""
        self.container = b""
        """The transparent container from source to target; empty for an Xn handover."""
        self.guard = inf
        self.queued = inf

    @abstractmethod
    def begin(self, now: float) -> None:
        """Start the preparation."""

    @abstractmethod
    def receive(self, message: str, context: UeContext, ies: Tree, now: float) -> None:
        """Handle a handover message of the AMF for the source or the target."""

    @abstractmethod
    def _overdue(self, now: float) -> None:
        """Handle the expiry of the guard timer."""

    def deadline(self) -> float:
        """Return when the guard timer expires."""
        return self.guard

    def advance(self, now: float) -> None:
        """Handle the expiry of the guard timer."""
        self.guard = inf
        if self.state is not HandoverState.ENDED:
            self._overdue(now)

    def wait(self, seconds: float, now: float) -> None:
        """Start the guard timer."""
        self.guard = now + seconds
        self.cell.deadlines.touch(self)

    def blame(self, kind: Kind, text: str) -> None:
        """Report a violation. The handover procedure of the UE fails."""
        self.camped.ue.violate(kind, text)

    @abstractmethod
    def release_commanded(self, context: UeContext, ies: Tree) -> None:
        """Check a UE CONTEXT RELEASE COMMAND for the source or the target."""

    def discard_target(self) -> None:
        """Forget the target context, which the gNB reported as failed."""
        self.target = None

    def context_closed(self, context: UeContext) -> None:
        """Handle the end of the source or target context."""
        context.handover = None
        if self.state is HandoverState.ENDED:
            return
        now = self.camped.ue.now
        if context is self.source and self.state is HandoverState.COMPLETING:
            self.finish(None, now)
        elif context is self.source and self.state is not HandoverState.SWITCHING:
            self.finish("source-released", now)
        elif context is self.target:
            self.target = None
            self._target_closed(now)

    def _target_closed(self, now: float) -> None:
        if self.state is not HandoverState.PREPARING:
            self.finish("target-released", now)

    def finish(self, cause: str | None, now: float) -> None:
        """End the handover and the procedure of the UE, with this cause if it failed."""
        state, self.state = self.state, HandoverState.ENDED
        self.guard = inf
        camped, target = self.camped, self.target
        self.cell.neighbours.handover_ended(
            self.container,
            cancelled=state is HandoverState.CANCELLING,
            met_fault=camped.ue.faults.active(now),
        )
        for context in (self.source, target):
            if context is not None:
                context.handover = None
        if target is not None and target.camped is None:
            self.cell.request_release(target, RADIO_LOST, now)
        if state is HandoverState.EXECUTING:
            # The UE is in no cell: its radio link has failed.
            camped.cell.leave(camped, now)
            camped.ue.released(now, cause)
        running = camped.ue.running_procedure
        if running is not None:
            running.moved(cause, now)
        camped.cell.pump(camped, now)
        camped.cell.notify_driver()
