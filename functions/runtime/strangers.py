"""Removal of strangers: of UEs that never proved their identity, and of RAN nodes without an
accepted NG SETUP (docs/decisions/0031).

The worker of a partition removes its strangers some time after their first contact, and the oldest
ones as soon as there are too many. A redelivered event of a removed aggregate would be decided as a
new one. So an aggregate stays for `SETTLED` seconds, and as long as the stream has an event of its
slots that is not later than its last step.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from eventing import subjects
from eventing.jetstream.earlier import Waiting
from schemas.aggregates import gnb_aggregate
from schemas.config.strangers import StrangerPolicy
from schemas.identity import partition_of, slot_of_amf_ue_ngap_id
from schemas.position import Position
from schemas.procedures import Procedure
from schemas.step import Step
from schemas.stranger import STRANGER, parse_stranger_key
from schemas.ue.state import Ue
from statestore.contract import Removal, StoreError
from statestore.log import Aggregate, EventLog, index_keys

log = logging.getLogger(__name__)

PERIOD: Final = 5.0
"""Seconds between two looks at the index."""
SETTLED: Final = 30.0
"""Seconds for which a stranger stays in any case. Most redeliveries come within seconds."""
PAGE: Final = 16
"""Strangers removed at a time: the loop of the worker is busy meanwhile."""
REST: Final = 3.0
"""Times the duration of a page until the next one: removal must not delay decisions."""
_SCAN: Final = 1000

_NOWHERE: Final = Position(0, 0, 0)


class Strangers:
    """Removes the strangers of a process."""

    def __init__(
        self,
        events: EventLog,
        policy: StrangerPolicy,
        partitions: int,
        is_mine: Callable[[str], bool],
        none_earlier: Callable[[Sequence[Waiting]], Awaitable[list[bool]]],
        removed: Callable[[str], None],
    ) -> None:
        """`is_mine` tells whether this process has the events of a consumer. `none_earlier` is that
        of an `EarlierEvents`. `removed` is called with each removed aggregate."""
        self._log = events
        self._policy = policy
        self._partitions = partitions
        self._is_mine = is_mine
        self._none_earlier = none_earlier
        self._removed = removed

    async def run(self) -> None:
        """Remove strangers, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD)
            try:
                await self.remove(time.time_ns() // 1_000_000)
            except StoreError as err:
                log.warning("strangers cannot be removed: %s", err)
            except Exception:  # the next look must not end with one that fails
                log.exception("strangers cannot be removed")

    async def remove(self, now: int) -> int:
        """Remove the strangers that are due at a time in milliseconds, and return their number.

        Raises:
            StoreError: the store cannot be read or written.
        """
        due, count = await self._due(now), 0
        for start in range(0, len(due), PAGE):
            begun = time.monotonic()
            count += await self._remove(due[start : start + PAGE], now)
            await asyncio.sleep(REST * (time.monotonic() - begun))
        if count:
            log.info("%d strangers are removed", count)
        return count

    async def _due(self, now: int) -> list[str]:
        """Return the aggregates of this process that are due, the oldest first."""
        if not any(map(self._decides_in, range(self._partitions))):
            return []
        old = now - int(self._policy.keep_for * 1000)
        settled = now - int(SETTLED * 1000)
        found: list[tuple[int, int, str]] = []
        after = ""
        while page := await self._log.engine.scan(STRANGER, "", after, _SCAN):
            after = page[-1][0]
            found += [(*parse_stranger_key(key), owner) for key, owner in page]
            await asyncio.sleep(0)  # an engine may read without yielding to other tasks
        excess = len(found) - self._policy.max_kept
        return [
            owner
            for index, (since, slot, owner) in enumerate(found)
            if (since <= old or (index < excess and since <= settled)) and self._has(owner, slot)
        ]

    def _decides_in(self, partition: int) -> bool:
        procedures = (Procedure.REGISTRATION, Procedure.RAN)
        return any(self._is_mine(subjects.consumer(partition, one)) for one in procedures)

    def _has(self, owner: str, slot: int) -> bool:
        of_node = owner.startswith(gnb_aggregate(""))
        procedure = Procedure.RAN if of_node else Procedure.REGISTRATION
        return self._is_mine(subjects.consumer(partition_of(slot, self._partitions), procedure))

    async def _last_event(self, aggregate: Aggregate, now: int) -> Waiting | None:
        """Return the place in the stream after the last processed event of an aggregate; None if it
        is not a stranger, or had a step less than `SETTLED` before `now`."""
        state = aggregate.state
        stranger = aggregate.kind.removable(state)
        steps: list[Step[Any] | None] = [*aggregate.tail]
        if not steps and aggregate.seq:  # there is a snapshot after the last one
            steps = [await self._log.step(aggregate.name, aggregate.seq)]
        known = [step for step in steps if step is not None]
        if stranger is None or not known or known[-1].at > now - int(SETTLED * 1000):
            return None
        own = stranger.slot
        slots = {own}
        if isinstance(state, Ue):
            slots.update(map(slot_of_amf_ue_ngap_id, state.released))
        positions = [step.trigger.position for step in known if step.trigger.position is not None]
        last = max(positions, key=lambda one: (one.stored, one.sequence), default=_NOWHERE)
        return Waiting(Position(last.sequence + 1, 0, last.stored), frozenset(slots), own)

    async def _remove(self, names: Sequence[str], now: int) -> int:
        """Remove those of some aggregates that may be removed, and return their number."""
        asked: list[tuple[Aggregate, Waiting]] = []
        for one in await self._log.load_whole(names):
            last = await self._last_event(one, now)
            if last is not None:
                asked.append((one, last))
        settled = await self._none_earlier([last for _, last in asked])
        found = [one for (one, _), done in zip(asked, settled, strict=True) if done]
        gone = await self._log.engine.remove(
            [
                Removal(one.name, one.seq, one.data_key, index_keys(one.kind.indexes(one.state)))
                for one in found
            ]
        )
        for one, is_gone in zip(found, gone, strict=True):
            if is_gone:
                self._removed(one.name)
        return sum(gone)
