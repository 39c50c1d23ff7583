"""Sample the counters of processes that start and end, and divide them at any two times."""

import asyncio
import bisect
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

SAMPLE: Final = 0.02
"""Seconds between two samples."""

Counters: TypeAlias = tuple[float, ...]


class Sampler:
    """The counters of groups of processes, with the times of the samples."""

    def __init__(
        self,
        pids: Callable[[], Mapping[str, Iterable[int]]],
        read: Callable[[int], Counters | None],
    ) -> None:
        """Sample groups of processes.

        Args:
            pids: the running processes of each group; the set of groups never changes.
            read: counters of a process; None if it has ended. Counters grow. A counter that shrinks
                because a thread has ended counts as unchanged.
        """
        self._pids = pids
        self._read = read
        self._times: list[float] = []
        self._used: dict[str, list[Counters]] = {}
        self._last: dict[int, Counters] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Sample for the duration of a block."""
        sampling = asyncio.ensure_future(self._run())
        try:
            yield
        finally:
            sampling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sampling
            self._look()

    async def _run(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(SAMPLE)

    def _look(self) -> None:
        first = not self._times
        self._times.append(time.time())
        for group, pids in self._pids().items():
            used = self._used.setdefault(group, [])
            total = used[-1] if used else ()
            for pid in pids:
                now = self._read(pid)
                if now is not None:
                    nothing = now if first else (0.0,) * len(now)
                    more = _each(now, self._last.get(pid, nothing), -1.0)
                    more = tuple(max(0.0, one) for one in more)
                    total = _each(total, more) if total else more
                    self._last[pid] = now
            used.append(total)

    def between(self, begun: float, ended: float) -> dict[str, Counters]:
        """Return the use of each group between two times, in seconds since 1970.

        A group without a process so far has no counters.
        """
        return {
            group: _each(self._at(used, ended), self._at(used, begun), -1.0)
            for group, used in self._used.items()
        }

    def _at(self, used: list[Counters], when: float) -> Counters:
        after = bisect.bisect(self._times, when)
        if after == 0 or after == len(self._times):
            return used[min(after, len(used) - 1)]
        one, other = self._times[after - 1], self._times[after]
        before, behind = used[after - 1], used[after]
        return _each(before, _each(behind, before, -1.0), (when - one) / (other - one))


def _each(one: Counters, other: Counters, times: float = 1.0) -> Counters:
    """Return `one` plus `times` times `other`, counter by counter. Missing counters are 0."""
    if not other:
        return one
    return tuple(a + times * b for a, b in zip(one or (0.0,) * len(other), other, strict=True))
