"""Caches of a worker: folded aggregates with their index entries, and subscriptions.

The caches may be stale. An append with the expected sequence number proves that a cached aggregate
was fresh; a conflict evicts it.
"""

import time
from collections import OrderedDict
from typing import Final

from schemas.aggregates import UNIDENTIFIED
from schemas.subscriber import Subscriber
from statestore.contract import Append, IndexKey
from statestore.log import Aggregate
from statestore.subscribers import SubscriberStore

CAPACITY: Final = 20_000
"""Maximum number of cached aggregates (LRU), a few kilobytes each."""


class Cache:
    """Aggregates by name and by index entry.

    Index entries are cached from the store or from an append, never from a state: an unidentified
    UE still has a connection in its state after another aggregate took it over.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._aggregates: OrderedDict[str, Aggregate] = OrderedDict()
        self._owners: dict[IndexKey, str] = {}
        self._entries: dict[str, set[IndexKey]] = {}
        """The entries that `_owners` has or had for each cached aggregate."""

    def get(self, name: str) -> Aggregate | None:
        """Return an aggregate, or None if it is not cached."""
        found = self._aggregates.get(name)
        if found is not None:
            self._aggregates.move_to_end(name)
        return found

    def owner(self, entry: IndexKey) -> str | None:
        """Return the cached aggregate that owns an index entry."""
        return self._owners.get(entry)

    def put(self, aggregate: Aggregate) -> None:
        """Cache an aggregate that was just folded."""
        self._aggregates[aggregate.name] = aggregate
        while len(self._aggregates) > self._capacity:
            self.drop(next(iter(self._aggregates)))

    def own(self, entry: IndexKey, name: str) -> None:
        """Record the owner of an index entry, if the owner is cached."""
        if name in self._aggregates:
            self._owners[entry] = name
            self._entries.setdefault(name, set()).add(entry)
        else:
            self._owners.pop(entry, None)

    def appended(self, append: Append) -> None:
        """Apply the index entries of an appended step."""
        for entry in (*append.drop, *append.give_up):
            if self._owners.get(entry) == append.aggregate:
                del self._owners[entry]
                self._entries[append.aggregate].discard(entry)
        for entry in append.put:
            self.own(entry, append.aggregate)

    def drop(self, name: str) -> None:
        """Evict a stale aggregate from the cache."""
        self._aggregates.pop(name, None)
        for entry in self._entries.pop(name, ()):
            if self._owners.get(entry) == name:
                del self._owners[entry]


SUBSCRIPTION_KEPT: Final = 2.0
"""Seconds before a subscription is read again: the maximum delay of a change."""
SUBSCRIPTIONS: Final = 20_000
"""Maximum number of cached subscriptions (LRU)."""

_PREFIX: Final = "ue/"


class Subscriptions:
    """The subscriptions of SUPIs with their versions, cached for `SUBSCRIPTION_KEPT` seconds."""

    def __init__(self, store: SubscriberStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[float, int, Subscriber | None]] = OrderedDict()

    def forget(self, aggregate: str) -> None:
        """Evict a changed subscription."""
        self._kept.pop(aggregate.removeprefix(_PREFIX), None)

    async def of(self, aggregate: str) -> tuple[int, Subscriber | None]:
        """Return version and subscription; (0, None) if there is none."""
        if not aggregate.startswith(_PREFIX) or aggregate.startswith(UNIDENTIFIED):
            return 0, None
        supi = aggregate.removeprefix(_PREFIX)
        now = time.monotonic()
        kept = self._kept.get(supi)
        if kept is not None and kept[0] > now:
            return kept[1], kept[2]
        found = await self._store.get(supi)
        version, subscriber = (0, None) if found is None else (found.version, found.subscriber)
        self._kept[supi] = (now + SUBSCRIPTION_KEPT, version, subscriber)
        self._kept.move_to_end(supi)
        if len(self._kept) > SUBSCRIPTIONS:
            self._kept.popitem(last=False)
        return version, subscriber
