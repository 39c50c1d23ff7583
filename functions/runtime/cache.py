"""Folded aggregates that a worker keeps between batches, and the index entries they own.

All of it is soft: an append with the expected sequence number proves what is here to be
fresh, and a conflict drops it.
"""

from collections import OrderedDict
from typing import Any

from schemas.step import Step
from statestore.contract import Append, IndexKey
from statestore.log import Aggregate

CAPACITY = 20_000
"""Aggregates kept, the least recently used dropped first; a few kilobytes each."""


class Cache:
    """Aggregates by name and by index entry."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._aggregates: OrderedDict[str, Aggregate] = OrderedDict()
        self._owners: dict[IndexKey, str] = {}

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
        for entry in aggregate.kind.indexes(aggregate.state):
            self._owners[IndexKey(*entry)] = aggregate.name
        while len(self._aggregates) > self._capacity:
            self.drop(next(iter(self._aggregates)))

    def appended(self, append: Append) -> None:
        """Follow the index entries of a step that was appended."""
        for entry in append.drop:
            if self._owners.get(entry) == append.aggregate:
                del self._owners[entry]
        for entry in append.put:
            self._owners[entry] = append.aggregate

    def drop(self, name: str) -> None:
        """Forget an aggregate: what is here of it is stale."""
        aggregate = self._aggregates.pop(name, None)
        if aggregate is None:
            return
        for entry in aggregate.kind.indexes(aggregate.state):
            key = IndexKey(*entry)
            if self._owners.get(key) == name:
                del self._owners[key]


def event_id(aggregate: str, step: Step[Any], index: int) -> str:
    """The id of the event that an output of a step becomes: the same each time it is sent."""
    return f"{aggregate}/{step.seq}/{index}"
