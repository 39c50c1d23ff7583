"""Deliveries in the order of their deadlines, and in that of their arrival for each UE."""

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from eventing.jetstream.delivery import Delivery, stored_at


class Waiting(Protocol):
    """What has been delivered and not been taken yet: a `deque`, or what orders it otherwise."""

    def append(self, delivery: Delivery, /) -> None:
        """Put another one in."""
        ...

    def popleft(self) -> Delivery:
        """Take the one whose turn it is."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Delivery]: ...


class ByDeadline:
    """The earliest deadline first: when JetStream stored an event, and its objective.

    What comes before it for the same slot goes before it: there is one order per UE, and its slot
    is the same in the subjects of all its events. What is not urgent becomes so by waiting, and
    does not wait for ever.
    """

    def __init__(self, objective: Callable[[Delivery], float]) -> None:
        """`objective` gives the seconds that an event may take."""
        self._objective = objective
        self._of_slot: dict[str, deque[tuple[int, Delivery]]] = {}
        self._deadlines: list[tuple[float, int, str]] = []
        self._next = 0
        self._length = 0

    def append(self, delivery: Delivery, /) -> None:
        """Put another one in."""
        stored = stored_at(delivery.reply)
        deadline = (time.time() if stored is None else stored) + self._objective(delivery)
        slot = delivery.subject.rpartition(".")[2]
        number, self._next = self._next, self._next + 1
        self._of_slot.setdefault(slot, deque()).append((number, delivery))
        heapq.heappush(self._deadlines, (deadline, number, slot))
        self._length += 1

    def popleft(self) -> Delivery:
        """Take the one with the earliest deadline, or the first of those that go before it.

        Raises:
            IndexError: there is none.
        """
        while True:
            _, number, slot = self._deadlines[0]
            queue = self._of_slot.get(slot)
            if not queue or queue[0][0] > number:
                heapq.heappop(self._deadlines)  # it went before another, and is taken
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
