"""A queue of deliveries: what belongs to a procedure, then what begins one, each by deadline."""

import heapq
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Final

from eventing.jetstream.delivery import Delivery, stored_at
from schemas.cloudevents import EventType

REQUESTS: Final = 0.25
"""The largest share of requests in a batch while more events wait."""
UNLIMITED: Final = 1 << 30
"""As many requests as there are."""

_CONNECTED: Final = "ngap-"
"""The prefix of the keys of connections. A UE that comes by handover has one already."""


def opens(delivery: Delivery) -> bool:
    """Whether an event opens a connection: whether it is an INITIAL UE MESSAGE."""
    event, headers = delivery.event, delivery.headers
    first = headers.get("ce-sequence") == "0" if event is None else event.sequence == 0
    if not first:
        return False
    kind = headers.get("ce-type") if event is None else event.type
    return kind == EventType.NGAP_UPLINK and not key_of(delivery).startswith(_CONNECTED)


def key_of(delivery: Delivery) -> str:
    """Return the partition key of an event; the subject for a delivery that is no event."""
    event = delivery.event
    if event is None:
        return delivery.headers.get("ce-partitionkey", delivery.subject)
    return event.partitionkey


class _Sorted:
    """Deliveries by deadline. Those of one partition key keep their order."""

    def __init__(self, deadline: Callable[[Delivery], float]) -> None:
        self._deadline = deadline
        self._of_key: dict[str, deque[tuple[int, Delivery]]] = {}
        self._order: list[tuple[float, int, str]] = []
        self._next = 0
        self._length = 0

    def push(self, delivery: Delivery) -> None:
        key = key_of(delivery)
        number, self._next = self._next, self._next + 1
        self._of_key.setdefault(key, deque()).append((number, delivery))
        heapq.heappush(self._order, (self._deadline(delivery), number, key))
        self._length += 1

    def pop(self) -> Delivery:
        while True:
            _, number, key = self._order[0]
            queue = self._of_key.get(key)
            if not queue or queue[0][0] > number:
                heapq.heappop(self._order)  # returned already, before a later one of its key
                continue
            _, delivery = queue.popleft()
            if not queue:
                del self._of_key[key]
            self._length -= 1
            if not self._length:
                self._order.clear()
            return delivery

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Delivery]:
        return (delivery for queue in self._of_key.values() for _, delivery in queue)


class DeadlineQueue:
    """A queue of deliveries: those of open connections before requests, which open one; each of the
    two by deadline.

    Events of one partition key keep their order of arrival. Nothing is sorted as long as each
    `take` empties the queue.
    """

    def __init__(self, deadline: Callable[[Delivery], float] | None = None) -> None:
        """`deadline` returns the time, in seconds since 1970, until which an event should be
        processed. The default is the time when JetStream stored the event."""
        self._arrived: list[Delivery] = []
        """Not sorted yet."""
        self._connected = _Sorted(deadline or _stored)
        self._requests = _Sorted(deadline or _stored)
        self.opening: Counter[str] = Counter()
        """By consumer, the sorted requests."""

    def append(self, delivery: Delivery) -> None:
        """Add a delivery."""
        self._arrived.append(delivery)

    def take(self, limit: int, excess: int = 0, begin: int = UNLIMITED) -> list[Delivery]:
        """Remove and return up to `limit` deliveries, the most urgent first.

        If more wait, requests have only the room that the others leave, and at most a part of the
        batch: each causes further events. `excess` requests, which are to be rejected, have that
        part in any case. Of the others, at most `begin` are returned.
        """
        if len(self) == len(self._arrived) <= limit and self._within(begin):
            taken, self._arrived = self._arrived, []
            return taken
        for delivery in self._arrived:
            self._sort(delivery)
        self._arrived.clear()
        room = limit - min(limit, len(self._connected))
        part = min(len(self._requests), max(1, int(limit * REQUESTS)))
        requests = min(part, max(min(room, begin), excess))
        others = min(len(self._connected), limit - requests)
        found = [self._connected.pop() for _ in range(others)]
        for _ in range(requests):
            delivery = self._requests.pop()
            self.opening[delivery.consumer] -= 1
            found.append(delivery)
        return found

    def _within(self, begin: int) -> bool:
        """Whether at most `begin` of the arrived deliveries are requests."""
        return len(self._arrived) <= begin or sum(map(opens, self._arrived)) <= begin

    def _sort(self, delivery: Delivery) -> None:
        if opens(delivery):
            self._requests.push(delivery)
            self.opening[delivery.consumer] += 1
        else:
            self._connected.push(delivery)

    def __len__(self) -> int:
        return len(self._arrived) + len(self._connected) + len(self._requests)

    def __iter__(self) -> Iterator[Delivery]:
        yield from self._connected
        yield from self._requests
        yield from self._arrived


def _stored(delivery: Delivery) -> float:
    stored = stored_at(delivery.reply)
    return time.time() if stored is None else stored
