"""Subscriptions as a worker sees them: read once, kept for a moment."""

import time
from collections import OrderedDict
from typing import Final

from schemas.aggregates import UNIDENTIFIED
from schemas.subscriber import Subscriber
from statestore.subscribers import SubscriberStore

KEPT: Final = 2.0
"""Seconds after which a subscription is read again: how late a change may be noticed."""
CAPACITY: Final = 20_000

_PREFIX: Final = "ue/"


class Subscriptions:
    """The subscription of an aggregate's SUPI, with its version."""

    def __init__(self, store: SubscriberStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[float, int, Subscriber | None]] = OrderedDict()

    def forget(self, aggregate: str) -> None:
        """Read it anew the next time: somebody has changed it."""
        self._kept.pop(aggregate.removeprefix(_PREFIX), None)

    async def of(self, aggregate: str) -> tuple[int, Subscriber | None]:
        """Version and subscription; (0, None) for none."""
        if not aggregate.startswith(_PREFIX) or aggregate.startswith(UNIDENTIFIED):
            return 0, None
        supi = aggregate.removeprefix(_PREFIX)
        now = time.monotonic()
        kept = self._kept.get(supi)
        if kept is not None and kept[0] > now:
            return kept[1], kept[2]
        found = await self._store.get(supi)
        version, subscriber = (0, None) if found is None else (found.version, found.subscriber)
        self._kept[supi] = (now + KEPT, version, subscriber)
        self._kept.move_to_end(supi)
        if len(self._kept) > CAPACITY:
            self._kept.popitem(last=False)
        return version, subscriber
