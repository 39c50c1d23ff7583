"""Compare a canary with the stable version, by the statistics of workers since the canary began.

A canary is worse if the lower bound of the Wilson score interval of its share is above the limit.
Chance does not explain such a difference. A canary that always fails is rolled back after three
events, a slightly worse one after hundreds.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from eventing.ownership.assignments import Margins
from eventing.stats import Key, ProcedureStats, Stats, StatsWatch, bound_of, merged, quantile
from functions.runtime.variants import mark_of
from schemas.procedures import Procedure

Z: Final = 2.58
"""Half-width of the interval in standard deviations: a confidence of 99 %."""
FEWEST_FAILURES: Final = 3
"""Minimum number of failed decisions before the share of failures is compared."""
FEWEST_SLOW: Final = 5
"""Minimum number of slow events before their share is compared."""
FEWEST_STABLE: Final = 20
"""Minimum number of events of the stable version before its 99th percentile is compared."""
FLOOR: Final = 0.1
"""Seconds above the stable version's 99th percentile that are allowed with any ratio."""


class Counts(NamedTuple):
    """The statistics of the two versions."""

    stable: ProcedureStats
    canary: ProcedureStats

    def since(self, before: "Counts") -> "Counts":
        """Return the difference from earlier counts."""
        return Counts(self.stable.since(before.stable), self.canary.since(before.canary))


def counted(
    watch: StatsWatch, procedure: str, variant: str, before: Iterable[Stats] = ()
) -> Counts:
    """Return the counts of a procedure's two versions, since the start of the workers.

    The version of a lease identifies the workers of the canary. `before` has earlier statistics of
    some workers, which are subtracted.
    """
    mark = mark_of(procedure, variant)
    earlier = [*before]
    canary = _of_procedure(procedure, watch.totals(mark)).since(
        _of_procedure(procedure, merged(s for s in earlier if mark in s.version.split()))
    )
    everything = _of_procedure(procedure, watch.totals()).since(
        _of_procedure(procedure, merged(earlier))
    )
    return Counts(everything.since(canary), canary)


def _of_procedure(procedure: str, totals: Mapping[Key, ProcedureStats]) -> ProcedureStats:
    """Return the sum over all versions of a procedure.

    Of the events without a step, only those with a failed decision count. `identification` has no
    steps, so all its events count.
    """
    total = ProcedureStats(procedure)
    for (name, version), one in totals.items():
        if name != procedure:
            continue
        if version or name == Procedure.IDENTIFICATION:
            total.merge(one)
        else:
            total.failures += one.failures
    return total


def verdict(counts: Counts, margins: Margins) -> str:
    """Return a sentence that says why the canary is worse; empty if it is not."""
    return _failures(counts, margins.failures) or _latency(counts, margins.p99_ratio)


def _failures(counts: Counts, margin: float) -> str:
    stable, canary = counts
    failed, tried = _failed(canary), canary.steps + canary.failures
    share = _failed(stable) / max(1, stable.steps + stable.failures)
    if failed < FEWEST_FAILURES or lowest(failed, tried) <= share + margin:
        return ""
    return (
        f"it fails: of {tried} decisions {canary.failures} raised and {canary.rejects} were "
        f"rejects; with the stable version, {share:.1%} of the decisions do either"
    )


def _failed(one: ProcedureStats) -> int:
    return one.failures + one.rejects


def _latency(counts: Counts, ratio: float) -> str:
    stable, canary = counts
    p99, samples = quantile(stable.latency, 0.99), sum(canary.latency.values())
    if p99 is None or sum(stable.latency.values()) < FEWEST_STABLE:
        return ""
    longest = max(p99 * ratio, p99 + FLOOR)
    slow = sum(n for bucket, n in canary.latency.items() if bound_of(bucket - 1) >= longest)
    if slow < FEWEST_SLOW or lowest(slow, samples) <= 0.01:
        return ""
    return (
        f"it is slow: {slow} of {samples} events took longer than {longest * 1000:.0f} ms, and the "
        f"p99 of the stable version is {p99 * 1000:.0f} ms"
    )


def lowest(part: int, whole: int) -> float:
    """Return the lower bound of the Wilson score interval of the share `part / whole`."""
    if not part:
        return 0.0
    share, square = part / whole, Z * Z
    spread = Z * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    return max(0.0, (share + square / (2 * whole) - spread) / (1 + square / whole))
