"""A queue of deliveries: what belongs to a procedure, then what begins one, each in fair shares."""

import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final

from eventing.fair_shares import NO_WEIGHTS, sender_of
from eventing.jetstream.delivery import Delivery, stored_at
from eventing.jetstream.fair_queue import FairQueue
from schemas.cloudevents import EventType

REQUESTS: Final = 0.25
"""The largest share of requests in a batch while more events wait."""
STRANGERS: Final = 0.25
"""The share of strangers in the requests that are begun while requests of known UEs wait."""
UNLIMITED: Final = 1 << 30
"""As many requests as there are."""

_CONNECTED: Final = "ngap-"
"""The prefix of the keys of connections. A UE that comes by handover has one already."""
_KNOWN: Final = "tmsi-"
"""The prefix of the keys of UEs by their 5G-TMSIs."""


def opens(delivery: Delivery) -> bool:
    """Whether an event opens a connection: whether it is an INITIAL UE MESSAGE."""
    event, headers = delivery.event, delivery.headers
    first = headers.get("ce-sequence") == "0" if event is None else event.sequence == 0
    if not first:
        return False
    kind = headers.get("ce-type") if event is None else event.type
    return kind == EventType.NGAP_UPLINK and not key_of(delivery).startswith(_CONNECTED)


def is_known(key: str) -> bool:
    """Whether the partition key of a request is a 5G-TMSI of this AMF. All other UEs are strangers:
    they need an identification, an authentication, or both."""
    return key.startswith(_KNOWN)


def source_of(delivery: Delivery) -> str:
    """Return the attribute `source` of an event; empty for a delivery that is no event."""
    event = delivery.event
    return delivery.headers.get("ce-source", "") if event is None else event.source


def key_of(delivery: Delivery) -> str:
    """Return the partition key of an event; the subject for a delivery that is no event."""
    event = delivery.event
    if event is None:
        return delivery.headers.get("ce-partitionkey", delivery.subject)
    return event.partitionkey


class DeadlineQueue:
    """A queue of deliveries: those of open connections before requests, which open one.

    In each of the two, senders have fair shares, and the events of one sender come by deadline. Of
    requests, those of known UEs come first; strangers keep a part of the requests of a batch.
    Events of one partition key keep their order of arrival. Nothing is sorted as long as each
    `take` empties the queue.
    """

    def __init__(
        self,
        deadline: Callable[[Delivery], float] | None = None,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        """Create an empty queue.

        Args:
            deadline: returns the time, in seconds since 1970, until which an event should be
                processed. The default is the time when JetStream stored the event.
            weights: the weights of senders (`eventing.fair_shares`).
        """
        self._arrived: list[Delivery] = []
        """Not sorted yet."""
        by = deadline or _stored
        self._weights = weights
        self._connected = FairQueue(by, weights)
        self._known = FairQueue(by, weights)
        self._strangers = FairQueue(by, weights)
        self._owed = 0.0
        """The requests of strangers that may go before those of known UEs."""
        self.opening: Counter[str] = Counter()
        """By consumer, the sorted requests."""

    def append(self, delivery: Delivery) -> None:
        """Add a delivery."""
        self._arrived.append(delivery)

    def take(self, limit: int, excess: int = 0, begin: int = UNLIMITED) -> list[Delivery]:
        """Remove and return up to `limit` deliveries, the most urgent first.

        If more wait, requests have only the room that the others leave, and at most a part of the
        batch: each causes further events. Of the connections of one sender at most half of the
        batch counts against the requests of others. `excess` requests, which are to be rejected,
        have that part in any case: those of the sender with the most requests, strangers first. Of
        the others, at most `begin` are returned.
        """
        if len(self) == len(self._arrived) <= limit and self._within(begin):
            taken, self._arrived = self._arrived, []
            return taken
        for delivery in self._arrived:
            self._sort(delivery)
        self._arrived.clear()
        waiting = len(self._known) + len(self._strangers)
        part = min(waiting, max(1, int(limit * REQUESTS)))
        found: list[Delivery] = []
        if part:
            greedy, room = self._room(limit)
            found = self._next_requests(min(part, room, begin), greedy)
            found += self._longest_requests(min(part, excess) - len(found))
            for delivery in found:
                self.opening[delivery.consumer] -= 1
        others = min(len(self._connected), limit - len(found))
        return [self._connected.pop() for _ in range(others)] + found

    def requests(self) -> dict[str, list[float]]:
        """Return the sorted requests by sender: those of known UEs, and those of strangers."""
        found: dict[str, list[float]] = {}
        for index, queue in enumerate((self._known, self._strangers)):
            for sender, count in queue.waiting.items():
                found.setdefault(sender, [0.0, 0.0])[index] = float(count)
        return found

    def _room(self, limit: int) -> tuple[Container[str], int]:
        """Return the senders with no room for requests in a batch, and the room for the others."""
        counts, half = self._connected.waiting, limit // 2
        room = limit - min(limit, len(self._connected))
        if room or max(counts.values(), default=0) <= half:
            return (), room
        greedy = {sender for sender, count in counts.items() if count > half}
        rest = sum(count for sender, count in counts.items() if sender not in greedy)
        return greedy, max(0, limit - half * len(greedy) - rest)

    def _next_requests(self, count: int, greedy: Container[str]) -> list[Delivery]:
        """Remove and return the next requests, but none of the senders without room."""
        known, strangers = self._known.count(greedy), self._strangers.count(greedy)
        self._owed = min(self._owed + count * STRANGERS, max(1.0, count * STRANGERS))
        before = min(strangers, int(self._owed), count)
        own = min(known, count - before)
        theirs = min(strangers, count - own)
        self._owed = max(0.0, self._owed - theirs)
        return [self._known.pop(greedy) for _ in range(own)] + [
            self._strangers.pop(greedy) for _ in range(theirs)
        ]

    def _longest_requests(self, count: int) -> list[Delivery]:
        """Remove and return requests to reject: of the sender with the most, strangers first."""
        found: list[Delivery] = []
        waiting = {sender: sum(counts) for sender, counts in self.requests().items()}
        for _ in range(count):
            sender = max(waiting, key=lambda one: waiting[one] / self._weights.get(one, 1.0))
            waiting[sender] -= 1
            queue = self._strangers if self._strangers.waiting[sender] else self._known
            found.append(queue.pop_of(sender))
        return found

    def _within(self, begin: int) -> bool:
        """Whether at most `begin` of the arrived deliveries are requests."""
        return len(self._arrived) <= begin or sum(map(opens, self._arrived)) <= begin

    def _sort(self, delivery: Delivery) -> None:
        sender = sender_of(source_of(delivery))
        if not opens(delivery):
            self._connected.push(delivery, key_of(delivery), sender)
            return
        key = key_of(delivery)
        queue = self._known if is_known(key) else self._strangers
        queue.push(delivery, key, sender)
        self.opening[delivery.consumer] += 1

    def __len__(self) -> int:
        return len(self._arrived) + len(self._connected) + len(self._known) + len(self._strangers)

    def __iter__(self) -> Iterator[Delivery]:
        yield from self._connected
        yield from self._known
        yield from self._strangers
        yield from self._arrived


def _stored(delivery: Delivery) -> float:
    stored = stored_at(delivery.reply)
    return time.time() if stored is None else stored
