"""How long to wait before a process that ended is started again."""

FIRST = 0.5
MOST = 30.0
HEALTHY = 10.0
"""Seconds after which a process counts as one that works."""


class Backoff:
    """No time at all for one that has worked, twice as long each time for one that does not."""

    def __init__(self, first: float = FIRST, most: float = MOST, healthy: float = HEALTHY) -> None:
        self._first = first
        self._most = most
        self._healthy = healthy
        self._pause = 0.0

    def after(self, ran: float) -> float:
        """The pause after a process that ran for `ran` seconds."""
        if ran >= self._healthy:
            self._pause = 0.0
        pause = self._pause
        self._pause = min(max(pause * 2, self._first), self._most)
        return pause
