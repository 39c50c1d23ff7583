"""What a gateway has for JetStream: events that wait, are published, and published again."""

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from eventing.jetstream.messages import Addressed, addressed, gathered
from eventing.jetstream.publisher import Publisher
from schemas.cloudevents import CloudEvent

log = logging.getLogger(__name__)

BATCH: Final = 256
"""Events published at a time."""


def _nobody() -> None:
    """Nobody waits for events to be published."""


class Outbox:
    """Publishes in the order of `put`, batch after batch, and keeps what JetStream has not. Events
    of one consumer that leave at the same time share a message.

    It has no bound of its own: who fills it looks at `waiting`.
    """

    def __init__(self, publisher: Publisher, published: Callable[[], None] = _nobody) -> None:
        """`published` is called when there is less to wait for."""
        self._publisher = publisher
        self._told = published
        self._waiting: deque[Addressed] = deque()
        self._leaving = 0
        """Events that are being published, or wait to be published again."""
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._publishing: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._pumping: asyncio.Task[None] | None = None
        self.boot: Final = os.urandom(6).hex()
        """Tells this run of the gateway from all others."""
        self._events = 0

    def start(self) -> None:
        """Begin to publish."""
        self._pumping = self._loop.create_task(self._pump())

    async def stop(self, seconds: float) -> None:
        """Publish what waits, for so long at most."""
        if self.waiting:
            self._drained.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._drained.wait(), seconds)
        for task in (self._pumping, *self._publishing):
            if task is not None:
                task.cancel()

    @property
    def waiting(self) -> int:
        """Events that JetStream does not have yet."""
        return len(self._waiting) + self._leaving

    def next_id(self) -> str:
        """The id of the next event; they are numbered (`schemas.cloudevents.order_of`)."""
        self._events += 1
        return f"{self.boot}-{self._events:x}"

    def put(self, event: CloudEvent, *, repeated: bool = False) -> None:
        """Publish an event; `repeated` for one that was published before, perhaps in vain."""
        self._waiting.append(addressed(event, self._publisher.partitions, repeated=repeated))
        self._wake.set()

    async def _pump(self) -> None:
        """Publish what waits, batch after batch, without waiting for one before the next."""
        while True:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            self._leaving += len(batch)
            task = self._loop.create_task(self._publish(batch))
            self._publishing.add(task)
            task.add_done_callback(partial(self._published, len(batch)))
            # One turn of the loop, so that a batch fills while the one before is written.
            await asyncio.sleep(0)

    async def _publish(self, batch: list[Addressed]) -> None:
        await self._publisher.publish(gathered(batch))

    def _published(self, count: int, task: asyncio.Task[None]) -> None:
        self._leaving -= count
        self._publishing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("events could not be published", exc_info=task.exception())
        if not self.waiting:
            self._drained.set()
        self._told()
