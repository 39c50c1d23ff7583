"""Bounds for messages of a gNB that are no requests: about itself, about unknown UEs, of one UE.

A gNB that stays below them does not notice. Beyond, messages are dropped: they cannot be put off,
because the next ones of their sender would overtake them.
"""

import time
from collections.abc import Callable
from typing import Final

RATE: Final = 256.0
"""Messages a second about the gNB itself or about UEs without a connection, such as NG RESET, ERROR
INDICATION, RAN CONFIGURATION UPDATE and PATH SWITCH REQUEST."""
BURST: Final = 1024.0
"""Such messages at once."""
UE_MESSAGES: Final = 128
"""Messages a second on the connection of one UE. It must be a power of two."""


class NodeLimit:
    """The messages of one gNB that are not on the connection of a UE.

    A message of the core makes room for its answer: a target of many handovers may answer all.
    """

    __slots__ = ("_at", "_clock", "_room", "dropped")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` has seconds."""
        self._clock = clock
        self._room = BURST
        self._at = clock()
        self.dropped = 0
        """Messages dropped since the start of the association."""

    def admits(self) -> bool:
        """Whether a message may be published."""
        if self._room < 1.0:
            now = self._clock()
            self._room = min(BURST, self._room + RATE * (now - self._at))
            self._at = now
            if self._room < 1.0:
                self.dropped += 1
                return False
        self._room -= 1.0
        return True

    def answered(self) -> None:
        """Note a message of the core that the gNB may answer."""
        self._room = min(BURST, self._room + 1.0)


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
