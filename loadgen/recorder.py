"""Samples of a run, as they come in."""

from array import array

from msgspec import Struct
from msgspec.structs import replace

from loadgen.ue_model import SKIPPED, Ended, Procedure
from loadgen.violation import Kind, Violation

MAX_VIOLATIONS = 1000
"""How many violations are kept in full; all are counted."""


MAX_FAILURES = 1000
"""How many failures are kept with their UEs; all are counted."""


class Failure(Struct, frozen=True):
    """A procedure that failed."""

    procedure: str
    cause: str
    who: str
    """The SUPI of the UE."""
    at: float
    """When, in seconds since the start of the run."""


class Samples:
    """All that ended of one procedure."""

    def __init__(self) -> None:
        self.latencies = array("d")
        """In seconds, of those that succeeded."""
        self.ends = array("d")
        """When each of them ended."""
        self.failures: dict[str, int] = {}
        self.failed_at = array("d")
        self.skipped = 0
        self.recovered = 0
        """That injected faults had spoilt, and that were done all the same in the end."""

    @property
    def failed(self) -> int:
        """How many failed."""
        return len(self.failed_at)


class Recorder:
    """Counts and samples of one run; exact, nothing is averaged away."""

    def __init__(self) -> None:
        self.procedures: dict[Procedure, Samples] = {}
        self.violations: list[Violation] = []
        self.violation_counts: dict[Kind, int] = {}
        self.failed: list[Failure] = []
        """The first of them, their times on the monotonic clock."""
        self.finished = 0
        """Procedures that ended, well or not."""

    def ended(self, end: Ended, who: str) -> None:
        """Take the end of a procedure of the UE with the SUPI `who`."""
        samples = self.procedures.setdefault(end.procedure, Samples())
        if end.cause == SKIPPED:
            samples.skipped += 1
            return
        self.finished += 1
        if end.recovered and end.cause is None:
            samples.recovered += 1
        elif end.cause is None:
            samples.latencies.append(max(0.0, end.ended - end.began))
            samples.ends.append(end.ended)
        else:
            samples.failures[end.cause] = samples.failures.get(end.cause, 0) + 1
            samples.failed_at.append(end.ended)
            if len(self.failed) < MAX_FAILURES:
                self.failed.append(Failure(str(end.procedure), end.cause, who, end.ended))

    def failed_since(self, start: float) -> list[Failure]:
        """The failures that are kept, of a run that began at `start`."""
        return [replace(failure, at=failure.at - start) for failure in self.failed]

    def violated(self, violation: Violation) -> None:
        """Take a violation."""
        kind = violation.kind
        self.violation_counts[kind] = self.violation_counts.get(kind, 0) + 1
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(violation)

    @property
    def failures(self) -> int:
        """Procedures that failed."""
        return sum(samples.failed for samples in self.procedures.values())
