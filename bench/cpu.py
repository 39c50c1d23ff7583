"""CPU time of processes that start and end, from /proc."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_CPUCLOCK_SCHED = 2
"""The CPU time clock of a process: clock_getcpuclockid(3) forms its id from the process id."""


def cpu_seconds(pid: int) -> float | None:
    """Return the user and system time of a process; None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def busy_seconds(pid: int) -> float | None:
    """Return the CPU time in nanosecond resolution, including ended threads; None if the process
    has ended."""
    try:
        return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)
    except OSError:
        return None


class CpuMeter:
    """Adds up the CPU time of groups of processes while it runs.

    If a process ends between two samples, its use since the last sample is lost.
    """

    def __init__(
        self, pids: Callable[[], Mapping[str, Iterable[int]]], every: float = 0.25
    ) -> None:
        self._pids = pids
        self._every = every
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._group: dict[int, str] = {}

    def look(self, *, begin: bool = False) -> None:
        """Record the CPU time of each process. The time of a new process counts from 0."""
        for group, pids in self._pids().items():
            for pid in pids:
                used = cpu_seconds(pid)
                if used is not None:
                    self._group[pid] = group
                    self._first.setdefault(pid, used if begin else 0.0)
                    self._last[pid] = used

    async def run(self) -> None:
        """Sample until cancelled."""
        self.look(begin=True)
        while True:
            await asyncio.sleep(self._every)
            self.look()

    def totals(self) -> dict[str, float]:
        """Return the seconds that each group used."""
        found: dict[str, float] = {}
        for pid, group in self._group.items():
            found[group] = found.get(group, 0.0) + self._last[pid] - self._first[pid]
        return found
