"""Detect hanging workers: they run, and have lost their lease."""

import time
from collections.abc import Set as AbstractSet
from typing import Final

LONGEST: Final = 1.0
"""The most seconds between two looks that count. In a longer pause of this process or machine,
leases expire because no worker could renew them."""


class Silence:
    """How long each worker has been silent, by its process."""

    def __init__(self) -> None:
        """No worker is known yet."""
        self._seconds: dict[int, float | None] = {}
        """Seconds of silence of the workers that have had a lease; None while they have it."""
        self._looked_at = 0.0

    def look(self, running: AbstractSet[int], live: AbstractSet[int]) -> None:
        """Record which workers run, and which have a lease.

        Silence counts from the first look that misses a lease. If no worker at all has a lease, the
        cause is not the workers.
        """
        now = time.monotonic()
        elapsed, self._looked_at = min(now - self._looked_at, LONGEST), now
        silent = {pid: s for pid, s in self._seconds.items() if pid in running - live}
        if live:
            silent = {pid: 0.0 if s is None else s + elapsed for pid, s in silent.items()}
        self._seconds = silent | dict.fromkeys(live)

    def missed(self) -> None:
        """Restart all counts, because a look was not possible."""
        self._seconds = dict.fromkeys(self._seconds)

    def of(self, pid: int) -> float:
        """Return the seconds for which a worker has been silent."""
        return self._seconds.get(pid) or 0.0
