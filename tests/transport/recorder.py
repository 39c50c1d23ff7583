"""A handler that records all events and can wait for them."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from transport import Association


class Message(NamedTuple):
    association: Association
    stream: int
    ppid: int
    payload: bytes


class Recorder:
    def __init__(self) -> None:
        self.up_: list[Association] = []
        self.down_: list[tuple[Association, str]] = []
        self.messages: list[Message] = []
        self.writable_: list[Association] = []
        self.on_up: Callable[[Association], None] | None = None
        self.on_writable: Callable[[], None] | None = None
        self.on_message: Callable[[Message], None] | None = None
        self.inside = False
        """True while the test makes a call that must not call back."""
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    def up(self, association: Association) -> None:
        assert not self.inside
        assert association not in self.up_
        self.up_.append(association)
        self._changed()
        if self.on_up is not None:
            self.on_up(association)

    def down(self, association: Association, reason: str) -> None:
        assert not self.inside
        assert association in self.up_
        assert association not in [ended for ended, _ in self.down_]
        assert reason
        self.down_.append((association, reason))
        self._changed()

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        assert not self.inside
        assert association in self.up_
        assert association not in [ended for ended, _ in self.down_]
        self.messages.append(Message(association, stream, ppid, payload))
        self._changed()
        if self.on_message is not None:
            self.on_message(self.messages[-1])

    def writable(self, association: Association) -> None:
        assert not self.inside
        self.writable_.append(association)
        self._changed()
        if self.on_writable is not None:
            self.on_writable()

    async def until(self, done: Callable[[], bool], seconds: float = 30) -> None:
        """Wait until an event makes `done` true."""
        if done():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((done, future))
        async with asyncio.timeout(seconds):
            await future

    async def got(self, count: int, seconds: float = 30) -> list[Message]:
        """Wait for `count` messages in total."""
        await self.until(lambda: len(self.messages) >= count, seconds)
        return self.messages

    async def ups(self, count: int = 1) -> list[Association]:
        await self.until(lambda: len(self.up_) >= count)
        return self.up_

    async def downs(self, count: int = 1, seconds: float = 30) -> list[str]:
        await self.until(lambda: len(self.down_) >= count, seconds)
        return [reason for _, reason in self.down_]

    def _changed(self) -> None:
        for done, future in list(self._waiting):
            if done():
                self._waiting.remove((done, future))
                if not future.done():
                    future.set_result(None)
