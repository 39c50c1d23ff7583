"""The figures of `make kill`, from what the UEs saw and from when the processes were away."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from loadgen.report.report import Recorder, Report
from loadgen.ue.model import Ended

LIMIT_MS: Final = 5000
"""Every procedure takes less than this many milliseconds beside the outages."""
_OF_THE_CORE: Final = frozenset({"T3550"})
"""Timers of the core among the counted retransmissions: they repeat messages to the UE."""


class Outage(NamedTuple):
    """From the kill of a process until its successor serves, on the monotonic clock in seconds."""

    begun: float
    ended: float


class Procedures(Recorder):
    """A recorder that keeps each successful procedure, with its UE."""

    def __init__(self) -> None:
        super().__init__()
        self.succeeded: list[tuple[Ended, str]] = []
        """The procedures and the SUPIs; times on the monotonic clock in seconds."""

    def ended(self, end: Ended, who: str) -> None:
        """Record the end of a procedure of the UE with the SUPI `who`."""
        super().ended(end, who)
        if end.cause is None:
            self.succeeded.append((end, who))


class Figures(Struct, frozen=True):
    """The figures of one part, or of all parts together."""

    procedures: int = 0
    """Procedures that ended, successful or not."""
    failures: int = 0
    """Failed procedures, errors of the core that a gNB, UE or UPF found, and loads cut off."""
    retransmissions: int = 0
    """Messages that UEs repeated because a timer (T3510 to T3582) expired."""
    longest_ms: int = 0
    """The longest successful procedure, without its time in outages."""
    differences: int = 0
    """Steps of the log that `evcore log verify` decides differently."""

    def plus(self, other: "Figures") -> "Figures":
        """Return the figures of two parts together."""
        return Figures(
            self.procedures + other.procedures,
            self.failures + other.failures,
            self.retransmissions + other.retransmissions,
            max(self.longest_ms, other.longest_ms),
            self.differences + other.differences,
        )

    @property
    def ok(self) -> bool:
        """Whether no UE noticed a kill."""
        wrong = self.failures + self.retransmissions + self.differences
        return self.procedures > 0 and wrong == 0 and self.longest_ms < LIMIT_MS

    @property
    def line(self) -> str:
        """The figures as ``name=value``, for programs."""
        return (
            f"procedures={self.procedures} failures={self.failures} "
            f"retransmissions={self.retransmissions} longest_ms={self.longest_ms} "
            f"differences={self.differences}"
        )


def beside(ended: Ended, outages: Iterable[Outage]) -> float:
    """Return the seconds of a procedure that are in no outage. Outages do not overlap."""
    seconds = ended.ended - ended.began
    for outage in outages:
        seconds -= max(0.0, min(ended.ended, outage.ended) - max(ended.began, outage.begun))
    return seconds


def retransmitted(report: Report) -> dict[str, int]:
    """Return the repetitions of the UEs, by the timer that expired."""
    return {timer: n for timer, n in report.retransmissions.items() if timer not in _OF_THE_CORE}


def figures_of(
    report: Report,
    procedures: Procedures,
    outages: Sequence[Outage],
    upf_violations: int,
    differences: int,
) -> Figures:
    """Return the figures of one part."""
    violations = sum(report.violation_counts.values()) + upf_violations
    longest = max((beside(one, outages) for one, _ in procedures.succeeded), default=0.0)
    return Figures(
        procedures=report.count,
        failures=report.failures + violations + (report.cut_off is not None),
        retransmissions=sum(retransmitted(report).values()),
        longest_ms=round(1000 * longest),
        differences=differences,
    )
