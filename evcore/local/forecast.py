"""The number of workers that a group needs to process its events within their objectives.

Events with the same or a shorter objective go first (`eventing.jetstream.deadline_queue`). So each
objective needs workers for the waiting events of those objectives only: all of them must be
processed within the objective, together with the arrivals until another worker can start. The
service time of an event is measured, and the number of events in a message, because JetStream
counts messages. Both are one mean for all procedures of the group.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from evcore.local.lag import Queue
from eventing.stats import Batches, Stats
from functions.runtime.work import BATCH
from schemas.config.objectives import Objectives

AHEAD: Final = 1.0
"""Seconds until a new worker works: the next reading and a cold start."""
UTILISATION: Final = 0.8
"""The long-term share of its time that a worker may be busy."""

_RATE: Final = 0.5
_TREND: Final = 0.3
_FORGET: Final = 0.8


class Arrivals:
    """The rate of arrivals, smoothed, with its trend (Holt's linear exponential smoothing)."""

    def __init__(self) -> None:
        self._seen: tuple[float, int] | None = None
        self.rate = 0.0
        """Messages a second."""
        self.trend = 0.0
        """Change of the rate: messages a second, each second."""

    def look(self, now: float, arrived: int) -> None:
        """Record the total of arrived messages at a time."""
        before, self._seen = self._seen, (now, arrived)
        if before is None or now <= before[0]:
            return
        seconds = now - before[0]
        found = max(0, arrived - before[1]) / seconds
        level = _RATE * found + (1 - _RATE) * max(0.0, self.rate + self.trend * seconds)
        self.trend = _TREND * (level - self.rate) / seconds + (1 - _TREND) * self.trend
        self.rate = level

    def coming(self, seconds: float) -> float:
        """Return the expected rate after some seconds. A falling trend is not extrapolated."""
        return self.rate + max(0.0, self.trend) * seconds


class Forecast:
    """The expected work of a group, and the workers that it needs."""

    def __init__(self, procedures: Iterable[str], objectives: Objectives) -> None:
        self._objectives = {procedure: objectives.of(procedure) for procedure in procedures}
        self._arrivals = {procedure: Arrivals() for procedure in self._objectives}
        self._waits: dict[str, int] = {}
        self._counted: dict[str, Batches] = {}
        """The last statistics of each worker."""
        self._batches = Batches()

    def look(self, now: float, queues: Mapping[str, Queue]) -> None:
        """Record the waiting and the arrived messages at a time in seconds."""
        for procedure, arrivals in self._arrivals.items():
            queue = queues.get(procedure, Queue())
            self._waits[procedure] = queue.waits
            arrivals.look(now, queue.arrived)

    def served(self, found: Iterable[Stats]) -> None:
        """Record the statistics of the workers of the group."""
        now = {stats.worker: stats.batches for stats in found}
        lately = Batches()
        for worker, batches in now.items():
            lately = lately.plus(batches).plus(self._counted.get(worker, Batches()), -1.0)
        self._counted = now
        if lately.count > 0:
            self._batches = lately.plus(self._batches, _FORGET)

    @property
    def service_time(self) -> float | None:
        """Seconds that a worker needs for an event of a full batch; None before a measurement."""
        return self._batches.cost(BATCH)

    def workers(self, running: int) -> int | None:
        """Return the number of workers needed while `running` run; None before a measurement."""
        cost = self.service_time
        if cost is None:
            return None
        wanted = 1 if any(self._waits.values()) else 0
        each = self._batches.per_message
        for objective in sorted(set(self._objectives.values())):
            first = [p for p, seconds in self._objectives.items() if seconds <= objective]
            coming = each * sum(self._arrivals[procedure].coming(AHEAD) for procedure in first)
            waits = each * sum(self._waits.get(procedure, 0) for procedure in first)
            backlog = waits + (coming - running / cost) * AHEAD
            wanted = max(
                wanted,
                math.ceil(max(0.0, backlog) * cost / objective),
                math.ceil(coming * cost / UTILISATION - 1e-9) if running else 0,
            )
        return wanted
