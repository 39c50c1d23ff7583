"""A UE with its place in its programme."""

from math import inf
from typing import Protocol

from loadgen.gnb.cell import Camped
from loadgen.load.phases import Programme


class Leader(Protocol):
    """Who begins the procedures of walkers."""

    def go(self, walker: "Walker", now: float) -> None:
        """Begin the next procedure of a UE."""
        ...


class Walker:
    """A UE with its place in its programme."""

    __slots__ = (
        "at",
        "camped",
        "leader",
        "open",
        "programme",
        "programmes",
        "queued",
        "step",
        "wake",
    )

    def __init__(self, leader: Leader, camped: Camped) -> None:
        """A UE outside of any programme."""
        self.leader = leader
        self.camped = camped
        self.programme: Programme = ()
        self.programmes = 0
        """Programmes begun in this phase."""
        self.open = False
        """Whether the programme began with an arrival."""
        self.step = -1
        """The procedure of the programme that runs or comes next; -1 outside one."""
        self.at = 0.0
        """When the next procedure should begin: its latency counts from here."""
        self.wake = inf
        self.queued = inf

    def deadline(self) -> float:
        """When the next procedure begins."""
        return self.wake

    def advance(self, now: float) -> None:
        """Begin it."""
        self.wake = inf
        self.leader.go(self, now)
