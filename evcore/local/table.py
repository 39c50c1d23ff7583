"""The work of the procedures of a local core, as rows of numbers."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from evcore.local.autoscaler import Autoscaler
from eventing.stats import Key, ProcedureStats, StatsWatch, between, quantile

RATE_OVER: Final = 5.0
"""Seconds over which the rate of steps is averaged."""
LATENCY_OVER: Final = 30.0
"""Seconds of latencies that a percentile covers."""


class Row(NamedTuple):
    """The numbers of one procedure."""

    procedure: str
    queued: int
    """Waiting and delivered events."""
    workers: int
    """Processes that host the procedure."""
    per_second: float
    """Processed events a second."""
    p99: float | None
    """Seconds from storage of an event in JetStream to its acknowledgement; None for no events."""
    failures: int
    cold_starts: int
    """Number of times that its group was started from zero."""
    last_cold_start: float | None
    """Seconds of the last cold start, up to the first events; None before one."""


class Table:
    """Computes the rows from the statistics of the workers."""

    def __init__(
        self,
        scaler: Autoscaler,
        stats: StatsWatch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scaler = scaler
        self._stats = stats
        self._clock = clock
        self._past: deque[tuple[float, dict[Key, ProcedureStats]]] = deque()

    def rows(self) -> list[Row]:
        """Return the current rows in the order of the groups. Call it regularly."""
        now = self._clock()
        totals = self._stats.totals()
        self._past.append((now, totals))
        while len(self._past) > 1 and self._past[1][0] <= now - LATENCY_OVER:
            self._past.popleft()
        recent = by_procedure(between(self._past[0][1], totals))
        since, first = next(past for past in self._past if past[0] >= now - RATE_OVER)
        lately = by_procedure(between(first, totals))
        failed = by_procedure(totals)
        seconds = max(now - since, 1e-9)
        by_pid = {one.pid: one.cold_start for one in self._stats.workers.values()}
        rows: dict[str, Row] = {}
        for group in self._scaler.groups:
            workers = len(self._scaler.workers_of(group.name))
            count, pid = self._scaler.cold_starts_of(group.name)
            for procedure in group.procedures:
                before = rows.get(procedure)  # of another group, which hosts a canary
                done = lately.get(procedure)
                rows[procedure] = Row(
                    procedure,
                    self._scaler.queued.get(procedure, 0),
                    workers + (before.workers if before else 0),
                    done.steps / seconds if done and now > since else 0.0,
                    quantile(recent[procedure].latency, 0.99) if procedure in recent else None,
                    failed[procedure].failures if procedure in failed else 0,
                    before.cold_starts if before else count,
                    before.last_cold_start if before else by_pid.get(pid),
                )
        return list(rows.values())


def by_procedure(found: Mapping[Key, ProcedureStats]) -> dict[str, ProcedureStats]:
    """Sum up the versions of each procedure."""
    sums: dict[str, ProcedureStats] = {}
    for one in found.values():
        sums.setdefault(one.procedure, ProcedureStats(one.procedure)).merge(one)
    return sums
