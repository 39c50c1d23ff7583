"""Whether a canary is worse than the stable version, by the statistics of workers since it began.

It is called worse only if chance does not explain the difference: if the lower end of the Wilson
interval of its share is above the margin. So a canary that always fails is known after three
events, and one that is a little worse after hundreds.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from eventing.ownership.assignments import Margins
from eventing.stats import Key, ProcedureStats, Stats, StatsWatch, bound_of, merged, quantile
from functions.runtime.variants import mark_of
from schemas.procedures import Procedure

Z: Final = 2.58
"""Standard deviations of the interval: right 99 times in a hundred."""
FEWEST_FAILURES: Final = 3
"""Decisions that must have failed before the share of failures says anything."""
FEWEST_SLOW: Final = 5
"""Events that must have taken too long before their share says anything."""
FEWEST_STABLE: Final = 20
"""Events of the stable version before its 99th percentile says anything."""
FLOOR: Final = 0.1
"""Seconds that a 99th percentile may be longer whatever the ratio."""


class Counts(NamedTuple):
    """What the two versions have done."""

    stable: ProcedureStats
    canary: ProcedureStats

    def since(self, before: "Counts") -> "Counts":
        """What they have done since an earlier count."""
        return Counts(self.stable.since(before.stable), self.canary.since(before.canary))


def counted(
    watch: StatsWatch, procedure: str, variant: str, before: Iterable[Stats] = ()
) -> Counts:
    """Return the counts of a procedure's two versions, since the workers were started.

    The canary's workers are known by the versions of their leases. `before` has earlier statistics
    of some workers, which do not count.
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
    """Return the sum over all versions in steps.

    An event without a step counts if its decision raised. `identification` leaves no steps at all.
    """
    found = ProcedureStats(procedure)
    for (name, version), one in totals.items():
        if name != procedure:
            continue
        if version or name == Procedure.IDENTIFICATION:
            found.merge(one)
        else:
            found.failures += one.failures
    return found


def verdict(counts: Counts, margins: Margins) -> str:
    """Why the canary is worse, in a sentence; empty if it is not known to be."""
    return _failures(counts, margins.failures) or _latency(counts, margins.p99_ratio)


def _failures(counts: Counts, margin: float) -> str:
    stable, canary = counts
    failed, tried = _failed(canary), canary.steps + canary.failures
    share = _failed(stable) / max(1, stable.steps + stable.failures)
    if failed < FEWEST_FAILURES or lowest(failed, tried) <= share + margin:
        return ""
    return (
        f"it fails: of {tried} decisions {canary.failures} raised and {canary.rejects} were "
        f"rejects, of those of the stable version {share:.1%} in all"
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
    """The lower end of the Wilson score interval of a share."""
    if not part:
        return 0.0
    share, square = part / whole, Z * Z
    spread = Z * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    return max(0.0, (share + square / (2 * whole) - spread) / (1 + square / whole))
