"""The sequence numbers of the core's requests (TS 29.244 7.2.2.2)."""

import os
from array import array
from collections.abc import Callable
from typing import Final

from gateway.n4.pfcp import SEQUENCES

GENERATION: Final = 1 << 19
"""Numbers drawn before the oldest ones are forgotten. As many numbers before them are kept too."""

_DRAWN_AT_ONCE: Final = 1024
_MASK: Final = SEQUENCES - 1


class Sequences:
    """The sequence numbers of this UDP endpoint, each for one waiting request.

    They are drawn at random: a stranger who sends with the address of a UPF does not know which
    number waits for a response. No number is drawn again soon, because a UPF may still keep its
    response to the earlier request (6.4). A UPF that keeps a response to an earlier process of the
    gateway shows it by a response of another session or type (`PendingRequest.doubtful`).
    """

    def __init__(self, random: Callable[[int], bytes] = os.urandom) -> None:
        """`random` returns a number of random octets."""
        self._random = random
        self._random_words = array("I")
        self._used: set[int] = set()
        self._drawn = bytearray(SEQUENCES // 8)
        """One bit for each number: whether it was drawn in this generation."""
        self._before = bytearray(SEQUENCES // 8)
        """The same for the generation before."""
        self._count = 0

    def take(self) -> int:
        """Return a free number and reserve it. Fewer requests may wait than numbers exist."""
        words = self._random_words
        while True:
            if not words:
                words.frombytes(self._random(words.itemsize * _DRAWN_AT_ONCE))
            number = words.pop() & _MASK
            index, bit = number >> 3, 1 << (number & 7)
            if (self._drawn[index] | self._before[index]) & bit or number in self._used:
                continue
            self._drawn[index] |= bit
            self._used.add(number)
            self._count += 1
            if self._count == GENERATION:
                self._before, self._drawn = self._drawn, bytearray(SEQUENCES // 8)
                self._count = 0
            return number

    def free(self, sequence: int) -> None:
        """Free the number of a request that is answered or timed out."""
        self._used.discard(sequence)
