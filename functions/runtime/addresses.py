"""Allocation of UE addresses in a worker: a cache over the index entries of the sessions.

An address is allocated when the index entry of its UE is in the store. The entry is written in the
transaction of the step, so two workers cannot append the same address. The cache only guesses which
addresses are free; a block with a wrong guess is read again.

The address of a session that has ended is in quarantine, which the store enforces. A pool without
other free addresses allocates the one that was given up longest ago.
"""

import heapq
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from random import Random
from typing import Final, NamedTuple

from functions.decision.env import NotReadyError
from functions.runtime.pools import Pool, pools_of
from schemas.network import Network
from schemas.ue.index import address_index_key
from statestore.contract import QUARANTINE, Append, Engine, IndexKey, Quarantined

KIND: Final = "address"

LOADED: Final = 1024
"""Maximum number of cached blocks (LRU), each with at most 256 small integers."""
FULL: Final = 65_536
"""Maximum number of blocks that are remembered as full."""
FULL_FOR: Final = 30.0
"""Seconds before a full block is read again; unread blocks are preferred."""
EXHAUSTED_FOR = 1.0
"""Minimum seconds for which a pool is treated as exhausted after a scan of all its blocks."""
EXHAUSTED_FACTOR = 10.0
"""The same as a multiple of the scan's duration. It limits the share of time spent on scans."""

RESTING: Final = 1024
"""Maximum number of known addresses in quarantine of a pool without a free one."""
RESTING_FOR: Final = 1.0
"""Minimum seconds before they are read again."""

_Block = tuple[Pool, int]


class _Resting(NamedTuple):
    """The addresses in quarantine of a pool without a free one."""

    until: float
    """When they are read again."""
    oldest: deque[tuple[int, int]]
    """When each was given up, in milliseconds, and its number; in the order of time."""


class _Allocated(NamedTuple):
    """An address that is allocated in this batch and not stored yet."""

    pool: Pool
    number: int
    since: int | None
    """When it was given up, if it is taken out of quarantine; None for a free address."""


class Addresses:
    """Allocates addresses of the pools of a network.

    It serves one batch at a time. An address from `allocate` is reserved until the end of its
    batch.
    """

    def __init__(
        self,
        engine: Engine,
        network: Network,
        partitions: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        random: Random | None = None,
    ) -> None:
        self._engine = engine
        self._pools = pools_of(network)
        self._partitions = partitions
        self._clock = clock
        self._random = random or Random()  # noqa: S311
        self._free: OrderedDict[_Block, deque[int]] = OrderedDict()
        self._current: dict[tuple[Pool, int], int] = {}
        """The current block of a partition."""
        self._full: OrderedDict[_Block, float] = OrderedDict()
        """The time until which a block is treated as full."""
        self._exhausted: dict[Pool, float] = {}
        self._resting: dict[Pool, _Resting] = {}
        self._allocated: dict[IndexKey, _Allocated] = {}

    def allocate(
        self, dnn: str, upf: str, version: int, partition: int, held: Collection[str] = ()
    ) -> str:
        """Return a free address of a UPF's pool as text; ``""`` if the pool has none.

        `held` are the keys of the UE's own addresses, which the store would accept a second time.

        Raises:
            NotReadyError: no address is known to be free: call `load`, and try again.
        """
        pool = self._pools.get((upf, dnn, version))
        if pool is None or not pool.blocks:
            return ""
        block = self._current.get((pool, partition), -1)
        free = self._free.get((pool, block))
        while free:
            self._free.move_to_end((pool, block))
            number = free.popleft()
            key = pool.key(number)
            if key not in held:
                self._allocated[IndexKey(KIND, key)] = _Allocated(pool, number, None)
                return pool.text(number)
        resting = self._resting.get(pool)
        while resting is not None and resting.oldest and resting.until > self._clock():
            since, number = resting.oldest.popleft()
            key = pool.key(number)
            if key not in held:
                self._allocated[IndexKey(KIND, key)] = _Allocated(pool, number, since)
                return pool.text(number)
        if self._exhausted.get(pool, 0.0) > self._clock():
            return ""
        raise NotReadyError(f"no address of {dnn} at {upf} is known to be free")

    async def load(self, dnn: str, upf: str, version: int, partition: int, now: int) -> bool:
        """Find a block with a free address for a partition, or the addresses in quarantine.

        Return False if the pool has neither. Blocks that are remembered as full are read last, but
        before the pool counts as exhausted. `now` is the time of the decision in milliseconds.
        """
        pool = self._pools.get((upf, dnn, version))
        if pool is None:
            return False
        begun = self._clock()
        full: list[int] = []
        resting: list[tuple[int, int]] = []
        for block in pool.preference(partition, self._partitions):
            if self._full.get((pool, block), 0.0) > begun:
                full.append(block)
            elif await self._has_free(pool, block, now, resting):
                self._current[pool, partition] = block
                return True
        for block in full:
            if await self._has_free(pool, block, now, resting):
                self._current[pool, partition] = block
                return True
        end = self._clock()
        pause = EXHAUSTED_FACTOR * (end - begun)
        oldest = deque(sorted((-since, number) for since, number in resting))
        self._resting[pool] = _Resting(end + max(RESTING_FOR, pause), oldest)
        if not resting:
            self._exhausted[pool] = end + max(EXHAUSTED_FOR, pause)
        return bool(resting)

    async def _has_free(
        self, pool: Pool, block: int, now: int, resting: list[tuple[int, int]]
    ) -> bool:
        free = self._free.get((pool, block))
        if not free:
            free = await self._read(pool, block, now, resting)
            self._free[pool, block] = free
            while len(self._free) > LOADED:
                self._free.popitem(last=False)
        if free:
            self._full.pop((pool, block), None)
            return True
        del self._free[pool, block]
        self._full[pool, block] = self._clock() + FULL_FOR
        self._full.move_to_end((pool, block))
        while len(self._full) > FULL:
            self._full.popitem(last=False)
        return False

    async def _read(
        self, pool: Pool, block: int, now: int, resting: list[tuple[int, int]]
    ) -> deque[int]:
        """Return the free addresses of a block, starting at a random one.

        So workers that share a block seldom collide. Addresses in quarantine are added to
        `resting`, a heap with the negative time of each. It keeps the oldest.
        """
        prefix, after = pool.scan_prefix(block), ""
        used = {one.number for one in self._allocated.values() if one.pool is pool}
        while left := await self._engine.quarantined(KIND, prefix, after):
            after = left[-1].entry.key
            for entry, since in left:
                number = pool.number_of(entry.key)
                if number is None or number in used or since <= now - QUARANTINE:
                    continue
                used.add(number)
                heapq.heappush(resting, (-since, number))
                if len(resting) > RESTING:
                    heapq.heappop(resting)
        after = ""
        while page := await self._engine.scan(KIND, prefix, after):
            after = page[-1][0]
            used.update(n for key, _ in page if (n := pool.number_of(key)) is not None)
        free = deque(number for number in pool.numbers(block) if number not in used)
        if free:
            free.rotate(self._random.randrange(len(free)))
        return free

    # Outcome of a batch

    def appended(self, append: Append) -> None:
        """Record a stored step: its new addresses are used, and those that it gave up are in
        quarantine."""
        for entry in append.put:
            self._allocated.pop(entry, None)
        for entry in append.give_up:
            for pool, number in self._in_pools(entry) if entry.kind == KIND else ():
                self._exhausted.pop(pool, None)
                resting = self._resting.get(pool)
                if resting is not None and len(resting.oldest) < RESTING:
                    resting.oldest.append((append.at, number))

    def end_quarantines(self, addresses: Iterable[tuple[str, str]]) -> tuple[Quarantined, ...]:
        """Return the quarantines that end early, because their pools have no free address.

        `addresses` are allocated ones, each as its DNN and its text.
        """
        entries = [IndexKey(KIND, address_index_key(*address)) for address in addresses]
        found = ((entry, self._allocated.get(entry)) for entry in entries)
        return tuple(
            Quarantined(entry, one.since)
            for entry, one in found
            if one is not None and one.since is not None
        )

    def conflict(self, entry: IndexKey) -> None:
        """Record that an index entry belongs to another UE: the cached block is stale."""
        if entry.kind != KIND:
            return
        self._allocated.pop(entry, None)
        for pool, number in self._in_pools(entry):
            self._forget(pool, number)

    def release_unstored(self) -> None:
        """End a batch: allocated addresses that were not stored are free."""
        allocated, self._allocated = self._allocated, {}
        for one in reversed(allocated.values()):
            self._return(one)

    def outcome_unknown(self) -> None:
        """End a batch that may or may not be stored: its blocks must be read again."""
        allocated, self._allocated = self._allocated, {}
        for one in allocated.values():
            self._forget(one.pool, one.number)
            self._resting.pop(one.pool, None)

    def withdraw(self, dnn: str, text: str) -> None:
        """Return an address that was allocated for a decision that is repeated."""
        self._return(self._allocated.pop(IndexKey(KIND, address_index_key(dnn, text))))

    def _in_pools(self, entry: IndexKey) -> Iterable[tuple[Pool, int]]:
        """Yield the address of an entry in each pool that contains it, usually one."""
        for pool in self._pools.values():
            number = pool.number_of(entry.key)
            if number is not None:
                yield pool, number

    def _return(self, one: _Allocated) -> None:
        self._exhausted.pop(one.pool, None)
        block = one.pool.block_of(one.number)
        free = None if block is None else self._free.get((one.pool, block))
        if free is not None and one.since is None:
            if one.number not in free:
                free.appendleft(one.number)
            return
        resting = self._resting.get(one.pool)
        if resting is not None:
            resting.oldest.appendleft((one.since or 0, one.number))

    def _forget(self, pool: Pool, number: int) -> None:
        block = pool.block_of(number)
        if block is not None:
            self._free.pop((pool, block), None)
