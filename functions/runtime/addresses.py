"""Free addresses as a worker sees them: soft state over the index entries of the sessions.

An address is taken when the entry of its UE is in the store, which is in the transaction of the
step that gives it; two workers that think the same address free do not both append. All that is
here is a guess at what is free, that is mostly right: a block that was wrong is read again.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from random import Random
from typing import Final

from functions.decision.env import NotReadyError
from functions.runtime.pools import Pool, pools_of
from schemas.network import Network
from schemas.ue.index import address_index_key
from statestore.contract import Append, Engine, IndexKey

KIND: Final = "address"

LOADED: Final = 1024
"""Blocks kept, the least recently used dropped first: 256 small numbers each at most."""
FULL: Final = 65_536
"""Blocks that are remembered to be full."""
FULL_FOR: Final = 30.0
"""Seconds until a full block is looked at again before one that is not known."""
EXHAUSTED_FOR = 1.0
"""Seconds that a pool is taken for exhausted after all of it has been looked through."""
LOOKING = 10.0
"""How many times as long as that took, if it is longer: what bounds the share of looking."""

_Block = tuple[Pool, int]


class Addresses:
    """Gives addresses of the pools of a network.

    One batch at a time: what `take` gave is spoken for until `settle`.
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
        """The block that a partition takes from."""
        self._full: OrderedDict[_Block, float] = OrderedDict()
        """Until when a block is taken for full."""
        self._exhausted: dict[Pool, float] = {}
        self._given: dict[IndexKey, tuple[Pool, int]] = {}
        """What was given and is not settled."""

    def take(
        self, dnn: str, upf: str, version: int, partition: int, held: Collection[str] = ()
    ) -> str:
        """A free address of a UPF's pool as text, ``""`` where there is none.

        `held` are the keys of the addresses that the UE has: the store would not mind if it had
        one of them twice.

        Raises:
            NotReadyError: none is known to be free: `load`, and ask again.
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
                self._given[IndexKey(KIND, key)] = (pool, number)
                return pool.text(number)
        if self._exhausted.get(pool, 0.0) > self._clock():
            return ""
        raise NotReadyError(f"no address of {dnn} at {upf} is known to be free")

    async def load(self, dnn: str, upf: str, version: int, partition: int) -> bool:
        """Find a block with a free address for a partition; False if there is none in any.

        Blocks that are thought to be full are looked at last, but they are before a pool is
        taken for exhausted.
        """
        pool = self._pools.get((upf, dnn, version))
        if pool is None:
            return False
        now = self._clock()
        full: list[int] = []
        for block in pool.preference(partition, self._partitions):
            if self._full.get((pool, block), 0.0) > now:
                full.append(block)
            elif await self._has_free(pool, block):
                self._current[pool, partition] = block
                return True
        for block in full:
            if await self._has_free(pool, block):
                self._current[pool, partition] = block
                return True
        spent = self._clock() - now
        self._exhausted[pool] = now + spent + max(EXHAUSTED_FOR, LOOKING * spent)
        return False

    async def _has_free(self, pool: Pool, block: int) -> bool:
        free = self._free.get((pool, block))
        if not free:
            free = await self._read(pool, block)
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

    async def _read(self, pool: Pool, block: int) -> deque[int]:
        """The free addresses of a block, from a place by chance on: so one that was released
        rests, and workers that share a block seldom take the same."""
        prefix, after = pool.scan_prefix(block), ""
        taken = {number for of, number in self._given.values() if of is pool}
        while page := await self._engine.scan(KIND, prefix, after):
            after = page[-1][0]
            taken.update(n for key, _ in page if (n := pool.number_of(key)) is not None)
        free = deque(number for number in pool.numbers(block) if number not in taken)
        if free:
            free.rotate(self._random.randrange(len(free)))
        return free

    # What becomes of what was given

    def appended(self, append: Append) -> None:
        """A step is stored: addresses that it has are taken, those that it gave up are free."""
        for entry in append.put:
            self._given.pop(entry, None)
        for entry in append.drop:
            if entry.kind == KIND:
                self._released(entry)

    def conflict(self, entry: IndexKey) -> None:
        """An entry is another UE's: what is known of its block is wrong."""
        if entry.kind != KIND:
            return
        self._given.pop(entry, None)
        for pool, number in self._in_pools(entry):
            self._forget(pool, number)

    def free_unstored(self) -> None:
        """The batch is over: what was given and not stored is free."""
        given, self._given = self._given, {}
        for pool, number in reversed(given.values()):
            self._give_back(pool, number, first=True)

    def doubt(self) -> None:
        """Nobody knows whether the batch was stored: read all of its blocks again."""
        given, self._given = self._given, {}
        for pool, number in given.values():
            self._forget(pool, number)

    def withdraw(self, dnn: str, text: str) -> None:
        """Take back one that was given to a decision that is made anew."""
        pool, number = self._given.pop(IndexKey(KIND, address_index_key(dnn, text)))
        self._give_back(pool, number, first=True)

    def _released(self, entry: IndexKey) -> None:
        for pool, number in self._in_pools(entry):
            self._give_back(pool, number, first=False)

    def _in_pools(self, entry: IndexKey) -> Iterable[tuple[Pool, int]]:
        """The address of an entry in each pool that has it: one, as a rule."""
        for pool in self._pools.values():
            number = pool.number_of(entry.key)
            if number is not None:
                yield pool, number

    def _give_back(self, pool: Pool, number: int, *, first: bool) -> None:
        block = pool.block_of(number)
        if block is None:
            return
        self._exhausted.pop(pool, None)
        self._full.pop((pool, block), None)
        free = self._free.get((pool, block))
        if free is None or number in free:
            return
        if first:
            free.appendleft(number)
        else:
            free.append(number)

    def _forget(self, pool: Pool, number: int) -> None:
        block = pool.block_of(number)
        if block is not None:
            self._free.pop((pool, block), None)
