"""Folded aggregates that a worker keeps between batches, and the index entries they own.

All of it is soft: an append with the expected sequence number proves what is here to be
fresh, and a conflict drops it.
"""

from collections import OrderedDict
from typing import Final

from statestore.contract import Append, IndexKey
from statestore.log import Aggregate

CAPACITY: Final = 20_000
"""Aggregates kept, the least recently used dropped first; a few kilobytes each."""


class Cache:
    """Aggregates by name and by index entry.

    An entry is known here from the store or from an append, never from a state: a UE unknown
    whose connection was taken over still has it in its state.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._aggregates: OrderedDict[str, Aggregate] = OrderedDict()
        self._owners: dict[IndexKey, str] = {}
        self._entries: dict[str, set[IndexKey]] = {}
        """What `_owners` has of each aggregate that is here, and perhaps has no more."""

    def get(self, name: str) -> Aggregate | None:
        """The aggregate, if it is here."""
        found = self._aggregates.get(name)
        if found is not None:
            self._aggregates.move_to_end(name)
        return found

    def owner(self, entry: IndexKey) -> str | None:
        """The aggregate here that owns an index entry."""
        return self._owners.get(entry)

    def put(self, aggregate: Aggregate) -> None:
        """Keep an aggregate that was just folded."""
        self._aggregates[aggregate.name] = aggregate
        while len(self._aggregates) > self._capacity:
            self.drop(next(iter(self._aggregates)))

    def own(self, entry: IndexKey, name: str) -> None:
        """Note who owns an index entry, if it is an aggregate that is here."""
        if name in self._aggregates:
            self._owners[entry] = name
            self._entries.setdefault(name, set()).add(entry)
        else:
            self._owners.pop(entry, None)

    def appended(self, append: Append) -> None:
        """Follow the index entries of a step that was appended."""
        for entry in append.drop:
            if self._owners.get(entry) == append.aggregate:
                del self._owners[entry]
                self._entries[append.aggregate].discard(entry)
        for entry in append.put:
            self.own(entry, append.aggregate)

    def drop(self, name: str) -> None:
        """Forget an aggregate: what is here of it is stale."""
        self._aggregates.pop(name, None)
        for entry in self._entries.pop(name, ()):
            if self._owners.get(entry) == name:
                del self._owners[entry]
