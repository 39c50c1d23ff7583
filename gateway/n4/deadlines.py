"""Things that fall due after the same time: a queue and one timer, however many they are."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deadlines(Generic[T]):
    """Hands each thing to `due` a constant time after it was added, in the order of adding."""

    def __init__(self, seconds: float, due: Callable[[T], None]) -> None:
        self._seconds = seconds
        self._due = due
        self._waiting: deque[tuple[float, T]] = deque()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, thing: T) -> None:
        """Have `thing` fall due after the time; whether it matters then, `due` must know."""
        at = self._loop.time() + self._seconds
        self._waiting.append((at, thing))
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._expire)

    def close(self) -> None:
        """Let nothing fall due any more."""
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
        for thing in due:
            self._due(thing)
