"""A queue of deliveries by deadline. Deliveries of one slot keep their order of arrival."""

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from eventing.jetstream.delivery import Delivery, stored_at


class DeliveryQueue(Protocol):
    """A queue of deliveries: a `deque`, or one with another order."""

    def append(self, delivery: Delivery, /) -> None:
        """Add a delivery."""
        ...

    def popleft(self) -> Delivery:
        """Remove and return the next delivery."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Delivery]: ...


class DeadlineQueue:
    """A queue with the earliest deadline first: the time JetStream stored an event + its objective.

    An earlier delivery of the same slot goes first in any case: events of a UE stay in order, and
    all events of a UE have the same slot in their subjects. A delivery with a long objective
    becomes urgent while it waits, so it does not wait for ever.
    """

    def __init__(self, objective: Callable[[Delivery], float]) -> None:
        """`objective` returns the seconds within which an event should be processed."""
        self._objective = objective
        self._of_slot: dict[str, deque[tuple[int, Delivery]]] = {}
        self._deadlines: list[tuple[float, int, str]] = []
        self._next = 0
        self._length = 0

    def append(self, delivery: Delivery, /) -> None:
        """Add a delivery."""
        stored = stored_at(delivery.reply)
        deadline = (time.time() if stored is None else stored) + self._objective(delivery)
        slot = delivery.subject.rpartition(".")[2]
        number, self._next = self._next, self._next + 1
        self._of_slot.setdefault(slot, deque()).append((number, delivery))
        heapq.heappush(self._deadlines, (deadline, number, slot))
        self._length += 1

    def popleft(self) -> Delivery:
        """Remove and return the delivery with the earliest deadline, or the first of its slot.

        Raises:
            IndexError: the queue is empty.
        """
        while True:
            _, number, slot = self._deadlines[0]
            queue = self._of_slot.get(slot)
            if not queue or queue[0][0] > number:
                heapq.heappop(self._deadlines)  # returned already, before a later one of its slot
                continue
            _, delivery = queue.popleft()
            if not queue:
                del self._of_slot[slot]
            self._length -= 1
            return delivery

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Delivery]:
        return (delivery for queue in self._of_slot.values() for _, delivery in queue)
