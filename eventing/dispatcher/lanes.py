"""Bounded concurrency with order: items of one key run one after the other, in fair shares."""

import asyncio
import bisect
import heapq
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from eventing.process import cancel_and_wait

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lanes(Generic[K, V]):
    """Runs `work` for each item, at most `width` at a time.

    The items of a key run in the order of their `rank`, those of equal rank in the order of `put`.
    The places are shared fairly by the senders of the items.
    """

    def __init__(
        self,
        work: Callable[[V], Awaitable[bool]],
        width: int,
        rank: Callable[[V], tuple[int, int]] = lambda _: (0, 0),
        sender: Callable[[V], Hashable] = lambda _: None,
    ) -> None:
        """Of the waiting keys, one of the sender with the fewest running items runs next; of its
        keys, the one with the lowest rank of its first item. The sender of a key is that of its
        first item.

        `work` returns whether it has finished the item. If not, the item runs again, after the
        items of a lower rank that were put meanwhile.
        """
        self._work = work
        self._width = width
        self._lanes: dict[K, list[V]] = {}
        """By key, its items; the first one runs or runs next."""
        self._rank = rank
        self._turn = itertools.count()
        self._sender = sender
        self._idle: dict[Hashable, list[tuple[tuple[int, int], int, K]]] = {}
        """By sender, a heap of the keys that wait for a free place: rank and turn of the first
        item, key. No entry for an empty heap."""
        self._places: Counter[Hashable] = Counter()
        """By sender, the running items; no entry for none."""
        self._active: set[K] = set()
        """The keys whose first item runs."""
        self._running: set[asyncio.Task[None]] = set()
        self._left = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._lanes.values())

    @property
    def items(self) -> list[V]:
        """The items that are not finished."""
        return [item for lane in self._lanes.values() for item in lane]

    def put(self, key: K, item: V) -> None:
        """Add an item. It does not stop the item of its key that runs."""
        lane = self._lanes.get(key)
        if lane is not None:
            bisect.insort(lane, item, lo=key in self._active, key=self._rank)
            return
        self._lanes[key] = [item]
        self._wait(key, item)
        self._fill()

    def overtaken(self, key: K) -> bool:
        """Whether an item of a lower rank waits: behind the item of a key that runs, or for a free
        place."""
        lane = self._lanes[key]
        rank = self._rank(lane[0])
        behind = len(lane) > 1 and self._rank(lane[1]) < rank
        return behind or any(heap[0][0] < rank for heap in self._idle.values())

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
        heap = self._idle.setdefault(self._sender(item), [])
        heapq.heappush(heap, (self._rank(item), next(self._turn), key))

    def _fill(self) -> None:
        while self._idle and len(self._running) < self._width:
            sender = min(self._idle, key=lambda one: (self._places[one], self._idle[one][0][:2]))
            key = heapq.heappop(self._idle[sender])[2]
            if not self._idle[sender]:
                del self._idle[sender]
            self._places[sender] += 1
            task = asyncio.ensure_future(self._one(key))
            self._running.add(task)
            task.add_done_callback(partial(self._ended, sender))

    async def _one(self, key: K) -> None:
        """Run the first item of a key."""
        lane = self._lanes[key]
        self._active.add(key)
        finished = await self._work(lane[0])
        self._active.discard(key)
        item = lane.pop(0)
        if not finished:
            bisect.insort(lane, item, key=self._rank)
        if lane:
            self._wait(key, lane[0])
        else:
            del self._lanes[key]

    def _ended(self, sender: Hashable, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._places[sender] -= 1
        if not self._places[sender]:
            del self._places[sender]
        if task.cancelled():
            return
        self._left.set()
        self._fill()
        if (err := task.exception()) is not None:
            raise err
