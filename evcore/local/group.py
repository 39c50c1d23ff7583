"""Groups of procedures that are scaled together, and their state."""

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
    """Messages for each worker."""
    cooldown: float = 5.0
    """Seconds without a message before the last workers are stopped."""
    objectives: Objectives | None = None
    """Objectives to scale by; None for those of the configuration, empty for `target` only."""
    arguments: tuple[str, ...] = ()
    """Further arguments of its workers, after their procedures."""
    python: str = ""
    """The Python of the environment that its workers run in; empty for this one."""


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
    """The state of a group."""

    def __init__(self, group: Group, objectives: Objectives) -> None:
        self.group = group
        found = objectives if group.objectives is None else group.objectives
        self.forecast = Forecast(group.procedures, found) if found.procedures else None
        self.running: list[RunningWorker] = []
        self.lag = 0
        """Waiting and delivered messages at the last reading."""
        self.woken = False
        """Whether an event has come while no worker ran."""
        self.active_until = 0.0
        self.backoff = Backoff()
        self.not_before = 0.0
        """Earliest start of the next worker after a failure (monotonic time)."""
        self.failed = ""
        """How the last failed worker ended, as a sentence."""
        self.ends = 0
        """Number of workers that ended unexpectedly."""
        self.removed = False
        self.cold_starts = 0
        self.cold_start_pid = 0
        """The process of the last worker that was started from zero; 0 for none."""

    def free_number(self) -> int:
        """Return the lowest free worker number. Its log file is reused."""
        taken = {one.number for one in self.running}
        return next(number for number in range(1, len(taken) + 2) if number not in taken)
