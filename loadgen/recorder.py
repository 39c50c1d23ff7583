"""Samples of a run, as they come in."""

from array import array

from loadgen.ue_model import SKIPPED, Ended, Procedure
from loadgen.violation import Kind, Violation

MAX_VIOLATIONS = 1000
"""How many violations are kept in full; all are counted."""


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
        self.finished = 0
        """Procedures that ended, well or not."""

    def ended(self, end: Ended) -> None:
        """Take the end of a procedure."""
        samples = self.procedures.setdefault(end.procedure, Samples())
        if end.cause == SKIPPED:
            samples.skipped += 1
            return
        self.finished += 1
        if end.cause is None:
            samples.latencies.append(max(0.0, end.ended - end.began))
            samples.ends.append(end.ended)
        else:
            samples.failures[end.cause] = samples.failures.get(end.cause, 0) + 1
            samples.failed_at.append(end.ended)

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
