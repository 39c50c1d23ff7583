"""Bounds on messages that a UPF sends without having been asked."""

import time
from collections.abc import Callable
from typing import NamedTuple


class Rate(NamedTuple):
    """How many messages are accepted a second, and how many at once."""

    a_second: float
    at_once: int


class Bucket:
    """A token bucket: counts the messages of one kind from one UPF."""

    __slots__ = ("_clock", "_filled", "_level", "_rate")

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._level = float(rate.at_once)
        self._filled = clock()

    def take(self) -> bool:
        """Count a message. Return whether it is within the rate."""
        now = self._clock()
        gained = (now - self._filled) * self._rate.a_second
        self._level, self._filled = min(self._level + gained, self._rate.at_once), now
        if self._level < 1:
            return False
        self._level -= 1
        return True
