"""The requests of one worker by sender: which of them are to be rejected in a standing queue.

Each sender, which is a gNB, may have as many requests as any other (`eventing.fair_shares`). Those
of a sender with more are rejected, and of them the requests of strangers first.
"""

from collections.abc import Mapping, Sequence

from eventing.fair_shares import NO_WEIGHTS, level, sender_of
from eventing.jetstream.deadline_queue import is_known, key_of, source_of
from eventing.jetstream.delivery import Delivery
from schemas.cloudevents import CloudEvent


class SenderQueues:
    """The requests in a batch that have no answer yet, and those that wait behind the batch."""

    def __init__(self, weights: Mapping[str, float] = NO_WEIGHTS) -> None:
        """`weights` has the weights of gNBs."""
        self._weights = weights
        self._taken: Sequence[Delivery] = ()
        self._left = 0.0
        self._here: Mapping[str, Sequence[float]] = {}
        self._counts: dict[str, list[float]] | None = None
        """By sender, the requests of known UEs and those of strangers; None if not counted yet."""
        self._level = 0.0
        """The requests that a sender of weight 1 may have."""

    def begin(
        self, taken: Sequence[Delivery], left: float, here: Mapping[str, Sequence[float]]
    ) -> None:
        """Note the requests of a new batch and the `left` ones behind it. Those that are not in
        this process are like the ones that are `here` (see `DeadlineQueue.requests`)."""
        self._taken, self._left, self._here = taken, left, here
        self._counts = None

    def exceeds(self, event: CloudEvent, total: float) -> bool:
        """Whether a request of the batch must be rejected, so that the senders share `total`
        waiting requests. Each request of the batch is asked for once."""
        if self._counts is None:
            self._counts = self._counted()
            wanted = [(sender, sum(found)) for sender, found in self._counts.items()]
            self._level = level(wanted, total, self._weights)
        sender, known = sender_of(event.source), is_known(event.partitionkey)
        counts = _add(self._counts, sender, known=known, count=-1.0)
        waiting = counts[0] if known else sum(counts)
        return waiting > self._level * self._weights.get(sender, 1.0)

    @property
    def total(self) -> float:
        """The requests without an answer."""
        return sum(map(sum, self._counts.values())) if self._counts else 0.0

    def _counted(self) -> dict[str, list[float]]:
        counts: dict[str, list[float]] = {}
        for request in self._taken:
            _add(counts, sender_of(source_of(request)), known=is_known(key_of(request)))
        like = self._here or {sender: [*found] for sender, found in counts.items()}
        here = sum(map(sum, like.values()))
        for sender, found in like.items() if here else ():
            own = counts.setdefault(sender, [0.0, 0.0])
            for index, waiting in enumerate(found):
                own[index] += waiting * self._left / here
        return counts


def _add(
    counts: dict[str, list[float]], sender: str, *, known: bool, count: float = 1.0
) -> list[float]:
    found = counts.setdefault(sender, [0.0, 0.0])
    index = 0 if known else 1
    found[index] = max(0.0, found[index] + count)
    return found
