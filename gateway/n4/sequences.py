"""The sequence numbers of a gateway's requests (TS 29.244 6.4, 7.2.2.2)."""

import time
from typing import Final

from gateway.n4.header import SEQUENCES

PACE: Final = 2000
"""Numbers that the first one moves on in a second."""


def first_sequence(now: float | None = None) -> int:
    """Where to begin, at a time in seconds since 1970.

    A UPF may still keep its answers to the gateway that ran before, and would give them again to
    a request of the same number. This one begins ahead of it, had it not asked more than `PACE`
    times a second.
    """
    return int((time.time() if now is None else now) * PACE) % SEQUENCES


class Sequences:
    """Gives numbers that no other request of this UDP endpoint waits with."""

    def __init__(self, first: int) -> None:
        self._next = first % SEQUENCES
        self._taken: set[int] = set()

    def take(self) -> int:
        """A free number. Fewer requests may wait than there are numbers."""
        while self._next in self._taken:
            self._next = (self._next + 1) % SEQUENCES
        sequence = self._next
        self._taken.add(sequence)
        self._next = (sequence + 1) % SEQUENCES
        return sequence

    def free(self, sequence: int) -> None:
        """Its request is answered, or given up."""
        self._taken.discard(sequence)
