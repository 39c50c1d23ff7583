"""Timers of equal length, with one timer of the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deadlines(Generic[T]):
    """Calls `due` with each item a constant time after `add`; one timer serves all items."""

    def __init__(self, seconds: float, due: Callable[[T], None]) -> None:
        self._seconds = seconds
        self._due = due
        self._waiting: deque[tuple[float, T]] = deque()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, item: T) -> None:
        """Start the time of an item. It cannot be cancelled: `due` ignores an obsolete item."""
        at = self._loop.time() + self._seconds
        self._waiting.append((at, item))
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._expire)

    def close(self) -> None:
        """Drop all items."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        due: list[T] = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(self._waiting.popleft()[1])
        if self._waiting:
            self._timer = self._loop.call_at(self._waiting[0][0], self._expire)
        for item in due:
            self._due(item)
