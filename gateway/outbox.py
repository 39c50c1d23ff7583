"""The events of a gateway that wait for JetStream: published, and published again."""

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
"""Maximum events published at a time."""


def _ignore() -> None:
    """Ignore that events are published."""


class Outbox:
    """Publishes events in the order of `put`, until JetStream has stored them.

    Events of one consumer that leave at the same time share a message. The outbox has no bound:
    its user checks `waiting`.
    """

    def __init__(self, publisher: Publisher, published: Callable[[], None] = _ignore) -> None:
        """`published` is called each time fewer events wait."""
        self._publisher = publisher
        self._on_published = published
        self._waiting: deque[Addressed] = deque()
        self._leaving = 0
        """Events that are being published or published again."""
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._publishing: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._pumping: asyncio.Task[None] | None = None
        self.boot: Final = os.urandom(6).hex()
        """Identifies this run of the gateway."""
        self._events = 0

    def start(self) -> None:
        """Start to publish."""
        self._pumping = self._loop.create_task(self._pump())

    async def stop(self, seconds: float) -> None:
        """Publish the waiting events for up to `seconds`, then stop."""
        if self.waiting:
            self._drained.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._drained.wait(), seconds)
        for task in (self._pumping, *self._publishing):
            if task is not None:
                task.cancel()

    @property
    def waiting(self) -> int:
        """Number of events that JetStream has not stored yet."""
        return len(self._waiting) + self._leaving

    def next_id(self) -> str:
        """Return the id of the next event; ids are numbered (`schemas.cloudevents.order_of`)."""
        self._events += 1
        return f"{self.boot}-{self._events:x}"

    def put(self, event: CloudEvent, *, repeated: bool = False) -> None:
        """Publish an event; `repeated` if it may have been published before."""
        self._waiting.append(addressed(event, self._publisher.partitions, repeated=repeated))
        self._wake.set()

    async def _pump(self) -> None:
        """Publish batch after batch. A batch does not wait for the previous one."""
        while True:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            self._leaving += len(batch)
            task = self._loop.create_task(self._publish(batch))
            self._publishing.add(task)
            task.add_done_callback(partial(self._published, len(batch)))
            # One turn of the event loop, so that the next batch fills while this one is written.
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
        self._on_published()
