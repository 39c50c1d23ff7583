"""Which workers hang: they run, and have lost the lease that they had."""

import time
from collections.abc import Set as AbstractSet
from typing import Final

LONGEST: Final = 1.0
"""Seconds between two looks, at most, that count. Leases lapse in a longer pause of this process,
or of the machine, and nobody could renew them."""


class Silence:
    """For how long each worker has been silent, by its process."""

    def __init__(self) -> None:
        """Nobody is known yet."""
        self._seconds: dict[int, float | None] = {}
        """Of those that have had a lease; None while they have it."""
        self._looked_at = 0.0

    def look(self, running: AbstractSet[int], live: AbstractSet[int]) -> None:
        """Note which workers run, and which have a lease.

        It counts from the first look that misses one. Where nobody at all has a lease, it is not
        the workers that are to blame.
        """
        now = time.monotonic()
        elapsed, self._looked_at = min(now - self._looked_at, LONGEST), now
        silent = {pid: s for pid, s in self._seconds.items() if pid in running - live}
        if live:
            silent = {pid: 0.0 if s is None else s + elapsed for pid, s in silent.items()}
        self._seconds = silent | dict.fromkeys(live)

    def missed(self) -> None:
        """Nobody could look: what is counted begins anew."""
        self._seconds = dict.fromkeys(self._seconds)

    def of(self, pid: int) -> float:
        """The seconds for which a worker has been silent."""
        return self._seconds.get(pid) or 0.0
