"""A virtual user: a UE and its place in its programme."""

from collections.abc import Callable
from math import inf

from loadgen.gnb.context import CampedUe
from loadgen.load.phases import Programme


class VirtualUser:
    """A UE and its place in its programme."""

    __slots__ = (
        "_begin",
        "at",
        "camped",
        "open",
        "programme",
        "programmes",
        "queued",
        "step",
        "wake",
    )

    def __init__(self, begin: Callable[["VirtualUser", float], None], camped: CampedUe) -> None:
        """Create a virtual user outside of any programme; `begin` starts its next procedure."""
        self._begin = begin
        self.camped = camped
        self.programme: Programme = ()
        self.programmes = 0
        """Programmes started in this phase."""
        self.open = False
        """Whether the programme started with an arrival."""
        self.step = -1
        """The index of the procedure that runs or comes next; -1 outside a programme."""
        self.at = 0.0
        """When the next procedure should start: its latency counts from here."""
        self.wake = inf
        self.queued = inf

    def deadline(self) -> float:
        """Return when the next procedure starts."""
        return self.wake

    def advance(self, now: float) -> None:
        """Start the next procedure."""
        self.wake = inf
        self._begin(self, now)
