"""Bounds for messages of a gNB that are no requests: about itself, about unknown UEs, of one UE.

A gNB that stays below them does not notice. Beyond, messages are dropped: they cannot be put off,
because the next ones of their sender would overtake them.
"""

import time
from collections.abc import Callable
from typing import Final

RATE: Final = 64.0
"""Messages a second about the gNB itself or about UEs without a connection, such as NG RESET, ERROR
INDICATION and RAN CONFIGURATION UPDATE."""
BURST: Final = 512.0
"""Such messages at once."""
HANDOVERS: Final = 4.0
"""The factor of both for messages that bring a UE from another gNB, or refuse it: a train brings
many at once."""
MOST: Final = 4096.0
"""Such messages at once if the core has asked for them with HANDOVER REQUESTs. No other message of
the core makes room: it answers a message about an unknown UE with ERROR INDICATION."""
UE_MESSAGES: Final = 128
"""Messages a second on the connection of one UE. It must be a power of two."""


class NodeLimit:
    """The messages of one gNB that are not on the connection of a UE."""

    __slots__ = ("_at", "_clock", "_room", "_times", "dropped")

    def __init__(self, times: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        """`times` is the factor of `RATE` and `BURST`. `clock` has seconds."""
        self._times = times
        self._clock = clock
        self._room = BURST * times
        self._at = clock()
        self.dropped = 0
        """Messages dropped since the start of the association."""

    def admits(self) -> bool:
        """Whether a message may be published."""
        if self._room < 1.0:
            now = self._clock()
            grown = self._room + RATE * self._times * (now - self._at)
            self._room = min(BURST * self._times, grown)
            self._at = now
            if self._room < 1.0:
                self.dropped += 1
                return False
        self._room -= 1.0
        return True

    def answered(self) -> None:
        """Note a HANDOVER REQUEST of the core, which the gNB answers."""
        self._room = min(MOST, self._room + 1.0)


class UeLimit:
    """The messages on the connection of one UE. The time is looked at once in `UE_MESSAGES`."""

    __slots__ = ("_count", "_since")

    def __init__(self) -> None:
        self._count = 0
        self._since = 0.0

    def admits(self, clock: Callable[[], float] = time.monotonic) -> bool:
        """Whether a message may be published. `clock` has seconds."""
        if not self._count & UE_MESSAGES - 1:
            now = clock()
            if self._count and now - self._since < 1.0:
                return False
            self._since = now
        self._count += 1
        return True
