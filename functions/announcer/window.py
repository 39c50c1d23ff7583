"""The steps between the feed and the sink, and the position up to which all are acknowledged."""

import asyncio
from collections import deque

from msgspec.structs import replace

from functions.announcer.position import Position
from statestore.contract import FeedEntry


class Pending:
    """A step with events that are not acknowledged."""

    __slots__ = ("aggregate", "cursor", "left", "seq")

    def __init__(self, entry: FeedEntry, events: int) -> None:
        self.cursor, self.aggregate, self.seq = entry.cursor, entry.aggregate, entry.seq
        self.left = events


class Window:
    """Steps in the order of the feed, from the first one with an event that is not acknowledged."""

    def __init__(self, start: Position, size: int) -> None:
        """`size` is the maximum number of steps."""
        self.position = start
        """The position up to which all events are acknowledged."""
        self._size = size
        self._steps: deque[Pending] = deque()
        self._moved = asyncio.Event()

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, entry: FeedEntry, events: int) -> Pending:
        """Add a step with a number of events, which may be 0."""
        pending = Pending(entry, events)
        self._steps.append(pending)
        self._advance()
        return pending

    def done(self, pending: Pending, *, refused: bool = False) -> None:
        """Record that one event of a step is acknowledged, or is a dead letter."""
        pending.left -= 1
        self.position = replace(
            self.position,
            sent=self.position.sent + (not refused),
            refused=self.position.refused + refused,
        )
        self._advance()

    async def room(self) -> None:
        """Wait until there is room for another step."""
        while len(self._steps) >= self._size:
            self._moved.clear()
            await self._moved.wait()

    def _advance(self) -> None:
        last: Pending | None = None
        while self._steps and not self._steps[0].left:
            last = self._steps.popleft()
        if last is not None:
            self.position = replace(
                self.position, cursor=last.cursor, aggregate=last.aggregate, seq=last.seq
            )
            self._moved.set()
