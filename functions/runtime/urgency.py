"""How long an event may take, told before it is read: by its procedure and its UE's slices."""

from typing import Final

from eventing.jetstream.delivery import Delivery
from functions.runtime.cache import Cache
from schemas.aggregates import ue_aggregate
from schemas.config.objectives import Objectives
from schemas.ue.state import Ue
from statestore.contract import IndexKey

_INDEXES: Final = frozenset({"ngap", "tmsi", "seid"})


class Urgency:
    """The objectives of deliveries to one worker.

    A slice is known by the state of the UE alone, and looked up where the worker has that in its
    memory already. As leases make a UE's events go to one worker, that is so but for the first of
    them; until then the UE has the objective of the procedure.
    """

    def __init__(self, objectives: Objectives) -> None:
        self._objectives = objectives
        self.cache: Cache | None = None
        """The states that the worker has, once it has any."""

    def __call__(self, delivery: Delivery) -> float:
        """The seconds that an event may take."""
        found = self._objectives.of(delivery.consumer.rpartition("-")[0])
        if not self._objectives.slices or self.cache is None:
            return found
        event = delivery.event
        key = event.partitionkey if event else delivery.headers.get("ce-partitionkey", "")
        name = self._aggregate(self.cache, key)
        aggregate = self.cache.get(name) if name else None
        if aggregate is None or not isinstance(aggregate.state, Ue):
            return found
        return min(found, self._objectives.of_ue(aggregate.state))

    @staticmethod
    def _aggregate(cache: Cache, key: str) -> str | None:
        kind = key.partition("-")[0]
        if kind in _INDEXES:
            return cache.owner(IndexKey(kind, key))
        return ue_aggregate(key) if kind == "imsi" else key
