"""What is scaled together, and how it runs."""

from msgspec import Struct

from evcore.local.forecast import Forecast
from evcore.local.process import Backoff, Process
from schemas.config.objectives import Objectives
from schemas.procedures import Procedure


class Group(Struct, frozen=True):
    """Procedures that are hosted together: a Deployment with its ScaledObject."""

    name: str
    procedures: tuple[Procedure, ...]
    max_workers: int = 2
    min_workers: int = 0
    target: int = 8
    """Messages a worker is wanted for."""
    cooldown: float = 5.0
    """Seconds without a message before the last workers go."""
    objectives: Objectives | None = None
    """What it is scaled by; None for those of the configuration, none at all for `target` alone."""
    arguments: tuple[str, ...] = ()
    """What its workers are told beside their procedures, on the command line."""


class Scale(Struct, frozen=True):
    """One change of a group's number of workers."""

    at: float
    group: str
    workers: int
    before: int = 0


class RunningWorker(Struct):
    """A worker, its number and when it was started."""

    number: int
    since: float
    process: Process


class ScaledGroup:
    """A group as it runs."""

    def __init__(self, group: Group, objectives: Objectives) -> None:
        self.group = group
        found = objectives if group.objectives is None else group.objectives
        self.forecast = Forecast(group.procedures, found) if found.procedures else None
        self.running: list[RunningWorker] = []
        self.lag = 0
        self.active_until = 0.0
        self.backoff = Backoff()
        self.not_before = 0.0
        """When the next worker may be started, after one that failed."""
        self.failed = ""
        """How the last one that failed ended, in a sentence."""
        self.ends = 0
        """How many have ended unasked."""
        self.removed = False
        self.cold_starts = 0
        self.coldly_started = 0
        """The process of the last worker that was started while none ran; 0 for none."""

    def free_number(self) -> int:
        """The lowest number that no worker has: its log file is used again."""
        taken = {one.number for one in self.running}
        return next(number for number in range(1, len(taken) + 2) if number not in taken)
