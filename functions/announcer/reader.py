"""Reading the feed: steps in order, with the states that the domain events need."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from functions.announcer.announcement import Announcement, announcements
from statestore.contract import AggregateDamaged, FeedEntry, StoreDamaged
from statestore.log import Aggregate, EventLog

log = logging.getLogger(__name__)

KEPT: Final = 10_000
"""Maximum number of cached states. The state of another aggregate is folded again at its next
step."""
_AT_ONCE: Final = 16


class Reader:
    """Converts entries of the feed to domain events."""

    def __init__(self, log: EventLog, source: str, kept: int = KEPT) -> None:
        self._log = log
        self._source = source
        self._kept = kept
        self._states: OrderedDict[str, Aggregate] = OrderedDict()

    async def read(
        self, entries: Sequence[FeedEntry]
    ) -> list[tuple[FeedEntry, list[Announcement]]]:
        """Return the domain events of each step, in the order of the feed.

        A damaged aggregate has none: the process logs that. Neither has one that was removed
        meanwhile.

        Raises:
            StoreDamaged: this version cannot read a step.
            StoreUnavailable: the store cannot be reached; the same entries may be read again.
        """
        firsts = {entry.aggregate: entry for entry in reversed(entries)}
        wanted = [one for one in firsts.values() if not self._has(one.aggregate, one.seq)]
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            found = await asyncio.gather(*(self._before(one) for one in some))
            self._states.update((one.name, one) for one in found if one is not None)
        told = [(entry, self._read(entry)) for entry in entries]
        while len(self._states) > self._kept:
            self._states.popitem(last=False)
        return told

    async def _before(self, entry: FeedEntry) -> Aggregate | None:
        """Return an aggregate as it was before a step; None if it is damaged or removed."""
        name, seq = entry.aggregate, entry.seq
        try:
            return await self._log.at(name, seq - 1)
        except AggregateDamaged as err:
            log.warning("%s; its domain events are not sent", err)
        except StoreDamaged:
            stored = await self._log.engine.read(name, seq - 1, 1)
            if stored and stored[0].body == entry.body:
                raise
        self._states.pop(name, None)
        return None

    def _has(self, name: str, seq: int) -> bool:
        state = self._states.get(name)
        return state is not None and state.seq == seq - 1

    def _read(self, entry: FeedEntry) -> list[Announcement]:
        aggregate = self._states.get(entry.aggregate)
        if aggregate is None:
            return []
        self._states.move_to_end(entry.aggregate)
        try:
            step = self._log.opened(aggregate, entry.seq, entry.body)
        except AggregateDamaged as err:
            log.warning("%s; its domain events are not sent", err)
            del self._states[entry.aggregate]
            return []
        return list(announcements(aggregate, step, self._source))
