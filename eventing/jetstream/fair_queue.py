"""Deliveries in fair shares of their senders, those of one sender by deadline.

Start-time fair queueing (Goyal, Vin, Cheng 1996): each sender has a virtual time, which grows with
each of its deliveries by 1/weight. The sender with the least virtual time is next.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping

from eventing.fair_shares import NO_WEIGHTS
from eventing.jetstream.delivery import Delivery

_Entry = tuple[float, int, str]
"""Deadline, number and key of a delivery."""


class FairQueue:
    """A queue of deliveries. Those of one partition key keep their order, also if they are of
    several senders: a UE moves between gNBs."""

    def __init__(
        self, deadline: Callable[[Delivery], float], weights: Mapping[str, float] = NO_WEIGHTS
    ) -> None:
        """`deadline` returns the deadline of a delivery, `weights` has the weights of senders."""
        self._deadline = deadline
        self._weights = weights
        self._of_key: dict[str, deque[tuple[int, Delivery]]] = {}
        self._sender_of_key: dict[str, str] = {}
        """The sender of the first delivery of each key. The others of the key count as its."""
        self._orders: dict[str, list[_Entry]] = {}
        """By sender, a heap of its deliveries."""
        self._served: dict[str, float] = {}
        """By sender with deliveries, its virtual time."""
        self._turns: list[tuple[float, _Entry, str]] = []
        """A heap of the senders: virtual time, first entry, sender. An entry that differs from the
        sender's state is outdated."""
        self._time = 0.0
        """The virtual time of the last delivery that was returned."""
        self._next = 0
        self.waiting: Counter[str] = Counter()
        """By sender, its deliveries; no entry for none."""

    def push(self, delivery: Delivery, key: str, sender: str) -> None:
        """Add a delivery of a sender, with its partition key."""
        number, self._next = self._next, self._next + 1
        of_key = self._of_key.get(key)
        if of_key is None:
            of_key = self._of_key[key] = deque()
            self._sender_of_key[key] = sender
        else:
            sender = self._sender_of_key[key]
        of_key.append((number, delivery))
        if sender not in self.waiting:
            self._orders[sender] = []
            self._served[sender] = max(self._time, self._served.get(sender, 0.0))
        order, entry = self._orders[sender], (self._deadline(delivery), number, key)
        heapq.heappush(order, entry)
        self.waiting[sender] += 1
        if order[0] is entry:
            heapq.heappush(self._turns, (self._served[sender], entry, sender))

    def pop(self, without: Container[str] = ()) -> Delivery:
        """Remove and return the next delivery, but none of the senders in `without`.

        Raises:
            IndexError: there is none.
        """
        aside: list[tuple[float, _Entry, str]] = []
        while True:
            turn = served, entry, sender = heapq.heappop(self._turns)
            if self._served.get(sender) != served or self._first(sender) != entry:
                continue
            if sender not in without:
                break
            aside.append(turn)
        for turn in aside:
            heapq.heappush(self._turns, turn)
        return self.pop_of(sender)

    def pop_of(self, sender: str) -> Delivery:
        """Remove and return the most urgent delivery of a sender that has one."""
        key = self._first(sender)[2]
        queue = self._of_key[key]
        _, delivery = queue.popleft()
        if not queue:
            del self._of_key[key], self._sender_of_key[key]
        served = self._served[sender]
        self._time = max(self._time, served)
        self.waiting[sender] -= 1
        if self.waiting[sender]:
            served = self._served[sender] = served + 1.0 / self._weights.get(sender, 1.0)
            heapq.heappush(self._turns, (served, self._first(sender), sender))
        else:
            del self.waiting[sender], self._orders[sender], self._served[sender]
            if not self.waiting:
                self._turns.clear()
        return delivery

    def _first(self, sender: str) -> _Entry:
        """Return the entry of the most urgent delivery of a sender. The first delivery of its key
        may be an earlier one."""
        order = self._orders[sender]
        while True:
            number, key = order[0][1:]
            queue = self._of_key.get(key)
            if queue and queue[0][0] <= number:
                return order[0]
            heapq.heappop(order)  # returned already, before a later one of its key

    def count(self, without: Container[str] = ()) -> int:
        """Return the number of deliveries that are not of the senders in `without`."""
        if not without:
            return len(self)
        return sum(count for sender, count in self.waiting.items() if sender not in without)

    def __len__(self) -> int:
        return self.waiting.total()

    def __iter__(self) -> Iterator[Delivery]:
        return (delivery for queue in self._of_key.values() for _, delivery in queue)
