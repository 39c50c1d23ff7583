"""The events of a gateway that wait for JetStream: published, and published again."""

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from eventing.jetstream.messages import MOST, OCTETS, Addressed, addressed, gathered
from eventing.jetstream.publisher import Publisher
from schemas.cloudevents import CloudEvent
from schemas.identity import partition_of

log = logging.getLogger(__name__)

MOST_LOOKED_AT: Final = 256
"""Events of a partition that a publication chooses from."""


def _ignore() -> None:
    """Ignore that events are published."""


class Outbox:
    """Publishes events until JetStream has stored them, in the order of `put` for each partition.

    The next events of a partition leave when JetStream has stored the ones before, and the events
    of one slot that leave together share a message. So a message that must be published again,
    after the death of a broker, is not overtaken by a later one of its UE. The outbox has no bound:
    its user checks `waiting`.
    """

    def __init__(self, publisher: Publisher, published: Callable[[], None] = _ignore) -> None:
        """`published` is called each time fewer events wait."""
        self._publisher = publisher
        self._on_published = published
        self._waiting: dict[int, deque[Addressed]] = {}
        """By partition, the events that are not published yet; no entry if there are none."""
        self._leaving: dict[int, int] = {}
        """By partition, the number of events that are being published or published again."""
        self._left_at: dict[int, float] = {}
        """By partition, when they were published first, in seconds of the loop's clock."""
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
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._drained.wait()
        for task in (self._pumping, *self._publishing):
            if task is not None:
                task.cancel()

    @property
    def waiting(self) -> int:
        """Number of events that JetStream has not stored yet."""
        return sum(map(len, self._waiting.values())) + sum(self._leaving.values())

    @property
    def delay(self) -> float:
        """The seconds for which JetStream has not stored the oldest published event; 0 for none."""
        at = min(self._left_at.values(), default=None)
        return 0.0 if at is None else self._loop.time() - at

    def next_id(self) -> str:
        """Return the id of the next event; ids are numbered (`schemas.cloudevents.order_of`)."""
        self._events += 1
        return f"{self.boot}-{self._events:x}"

    def put(self, event: CloudEvent, *, repeated: bool = False) -> None:
        """Publish an event; `repeated` if it may have been published before."""
        partitions = self._publisher.partitions
        partition = partition_of(event.slot or 0, partitions)
        message = addressed(event, partitions, repeated=repeated)
        self._waiting.setdefault(partition, deque()).append(message)
        if partition not in self._leaving:
            self._wake.set()

    async def _pump(self) -> None:
        """Publish batch after batch, each of the partitions that have none under way."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch: list[Addressed] = []
            of: dict[int, int] = {}
            for partition in [one for one in self._waiting if one not in self._leaving]:
                leaving = _take(self._waiting[partition])
                batch += leaving
                of[partition] = len(leaving)
                if not self._waiting[partition]:
                    del self._waiting[partition]
            if batch:
                self._leaving |= of
                self._left_at |= dict.fromkeys(of, self._loop.time())
                task = self._loop.create_task(self._publish(batch))
                self._publishing.add(task)
                task.add_done_callback(partial(self._published, tuple(of)))
            # One turn of the event loop, so that the next batch fills while this one is written.
            await asyncio.sleep(0)

    async def _publish(self, batch: list[Addressed]) -> None:
        await self._publisher.publish(gathered(batch))

    def _published(self, partitions: tuple[int, ...], task: asyncio.Task[None]) -> None:
        for partition in partitions:
            del self._leaving[partition], self._left_at[partition]
        self._publishing.discard(task)
        if self._waiting:
            self._wake.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("events could not be published", exc_info=task.exception())
        if not self.waiting:
            self._drained.set()
        self._on_published()


def _take(queue: deque[Addressed]) -> list[Addressed]:
    """Remove and return the first events of a partition that may leave together.

    The events of a consumer are at most one message. An event stays if an earlier event of its slot
    stays or leaves in another message.
    """
    leaving: list[Addressed] = []
    left: list[Addressed] = []
    counts: dict[str, int] = {}
    """By procedure, the number of its events."""
    octets: dict[str, int] = {}
    """By procedure, the octets of its events."""
    of_slot: dict[int | None, str | None] = {}
    """By slot, the procedure of its events that leave; None if one stays."""
    for _ in range(min(MOST_LOOKED_AT, len(queue))):
        message = queue.popleft()
        slot, procedure = message.event.slot, message.event.procedure or ""
        count, size = counts.get(procedure, 0), octets.get(procedure, 0) + len(message.event.data)
        full = count == MOST or (count > 0 and size > OCTETS)
        if full or of_slot.get(slot, procedure) != procedure:
            of_slot[slot] = None
            left.append(message)
        else:
            counts[procedure], octets[procedure], of_slot[slot] = count + 1, size, procedure
            leaving.append(message)
    queue.extendleft(reversed(left))
    return leaving
