"""Bounded concurrency with order: items of one key run one after the other."""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from eventing.process import cancel_and_wait

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lanes(Generic[K, V]):
    """Runs `work` for each item, at most `width` at a time, in the order of each key."""

    def __init__(
        self,
        work: Callable[[V], Awaitable[None]],
        width: int,
        rank: Callable[[V], int] | None = None,
    ) -> None:
        """Of the waiting keys, the key with the lowest `rank` of its first item runs next.

        Without `rank`, the key that has waited longest runs next.
        """
        self._work = work
        self._width = width
        self._lanes: dict[K, deque[V]] = {}
        """By key, its items; the first one runs or runs next."""
        self._rank = rank
        self._turn = itertools.count()
        self._idle: list[tuple[int, int, K]] = []
        """A heap of the keys that wait for a free place: rank and turn of the first item, key."""
        self._running: set[asyncio.Task[None]] = set()
        self._left = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._lanes.values())

    @property
    def items(self) -> list[V]:
        """The items that are not finished."""
        return [item for lane in self._lanes.values() for item in lane]

    def put(self, key: K, item: V) -> None:
        """Add an item after the other items of its key."""
        lane = self._lanes.get(key)
        if lane is not None:
            lane.append(item)
            return
        self._lanes[key] = deque([item])
        self._wait(key, item)
        self._fill()

    async def below(self, count: int) -> None:
        """Wait until fewer than `count` items are left."""
        while len(self) >= count:
            self._left.clear()
            await self._left.wait()

    async def cancel(self) -> None:
        """Stop all work. Unfinished items stay in `items`."""
        self._width = 0
        await cancel_and_wait(self._running)

    def _wait(self, key: K, item: V) -> None:
        rank = 0 if self._rank is None else self._rank(item)
        heapq.heappush(self._idle, (rank, next(self._turn), key))

    def _fill(self) -> None:
        while self._idle and len(self._running) < self._width:
            task = asyncio.ensure_future(self._one(heapq.heappop(self._idle)[2]))
            self._running.add(task)
            task.add_done_callback(self._ended)

    async def _one(self, key: K) -> None:
        """Run the first item of a key."""
        lane = self._lanes[key]
        await self._work(lane[0])
        lane.popleft()
        if lane:
            self._wait(key, lane[0])
        else:
            del self._lanes[key]

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        self._left.set()
        self._fill()
        if (err := task.exception()) is not None:
            raise err
