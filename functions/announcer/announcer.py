"""The announcer: follows the feed of the log, and POSTs domain events to a sink.

Every event is sent at least once. Those of an aggregate are sent in their order, the next when the
one before is taken; aggregates do not wait for each other, but for the window: where one cannot be
sent, no more than `WINDOW` steps behind it are. The feed has no signal of its own: while it has
nothing new it is asked again after 20 ms, then later and later, up to every `IDLE`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Final, Literal, TypeVar
from urllib.parse import quote
from uuid import uuid4

from msgspec import Struct
from nats.aio.client import Client
from nats.errors import Error

from eventing import subjects
from eventing.cloudevents.nats_binding import header_value
from eventing.dispatcher.lanes import Lanes
from eventing.process import cancel_and_wait
from functions.announcer.announcement import Announcement
from functions.announcer.position import RENEW, NotHolderError, Position, Positions
from functions.announcer.reader import Reader
from functions.announcer.sink import RefusedError, Sink
from functions.announcer.window import Pending, Window
from schemas.domain import DomainType
from statestore.contract import FeedEntry, StoreUnavailable
from statestore.log import EventLog

log = logging.getLogger(__name__)

T = TypeVar("T")

PAGE: Final = 256
WINDOW: Final = 2048
IDLE: Final = 0.25
"""The longest time between two looks at the end of the feed, in seconds."""
_FIRST_IDLE: Final = 0.02
_SAVE_EVERY: Final = RENEW / 2
_DRAIN: Final = 10.0
"""Seconds that requests under way have to end, when the announcer is stopped."""


class AnnouncerConfig(Struct, frozen=True):
    """What an announcer is."""

    sink: str
    """The URL."""
    name: str = "default"
    """Each name has a position of its own."""
    core: str = "evcore"
    """The name of the AMF, for the attribute `source`."""
    start: Literal["start", "now"] = "start"
    """Where a name begins that has no position yet."""
    types: frozenset[DomainType] = frozenset(DomainType)
    extensions: Mapping[str, str] = {}
    """Attributes that every event has, or has in the place of its own."""
    concurrency: int = 32
    """How many requests are under way at most."""
    replicas: int = 1
    """Of the bucket of positions, if this makes it."""


class OtherStoreError(Exception):
    """The position of the announcer is not one of this store; it says so."""


class Announcer:
    """One process of an announcer; `run` it once."""

    def __init__(self, config: AnnouncerConfig, client: Client, events: EventLog) -> None:
        self._config = config
        self._client = client
        self._events = events
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """End what is under way, and `run` with it."""
        self._stopping.set()

    async def run(self) -> None:
        """Announce whenever no other process of this name does, until `stop`.

        Raises:
            OtherStoreError: see there.
            StoreError: the log cannot be read.
            nats.errors.Error: JetStream refuses.
        """
        config = self._config
        positions = await Positions.opened(self._client, config.name, str(uuid4()), config.replicas)
        first = Position()
        if config.start == "now":
            first = await self._end()
        while not self._stopping.is_set():
            position = await self._unless_stopped(positions.take(first))
            if position is None:
                return
            await self._check(position)
            log.info("%s: goes on behind %s/%d", config.name, position.aggregate, position.seq)
            try:
                await self._announce(positions, position)
            except NotHolderError as err:
                log.warning("%s: %s; this process stands by", config.name, err)
        if self._failure is not None:
            raise self._failure

    async def _end(self) -> Position:
        return Position(await self._events.engine.feed_end())

    async def _check(self, position: Position) -> None:
        """Refuse to go on in a store that does not have what was announced last."""
        if position.aggregate and not await self._events.engine.read(
            position.aggregate, position.seq - 1, 1
        ):
            raise OtherStoreError(
                f"the announcer {self._config.name!r} has announced step {position.seq} of "
                f"{position.aggregate}, which is not in this store: give another --name"
            )

    async def _announce(self, positions: Positions, start: Position) -> None:
        """Announce from a position on, until `stop` or until another process does.

        Raises:
            NotHolderError: it does.
        """
        config = self._config
        window = Window(start, WINDOW)
        async with Sink(config.sink, config.extensions) as sink:

            async def deliver(item: tuple[Announcement, Pending]) -> None:
                try:
                    await self._deliver(sink, window, *item)
                except Exception as err:  # raised again by `run`
                    self._failure = self._failure or err
                    self._stopping.set()

            lanes = Lanes[str, tuple[Announcement, Pending]](deliver, config.concurrency)
            keeping = asyncio.ensure_future(self._keep(positions, window))
            following = asyncio.ensure_future(self._follow(window, lanes))
            stopped = asyncio.ensure_future(self._stopping.wait())
            try:
                await asyncio.wait(
                    (keeping, following, stopped), return_when=asyncio.FIRST_COMPLETED
                )
                sink.stop()
                if not keeping.done():
                    following.cancel()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_DRAIN):
                            await lanes.below(1)
            finally:
                await cancel_and_wait((keeping, following, stopped))
                await lanes.cancel()
        if not keeping.cancelled():
            keeping.result()
        await positions.leave(window.position)
        if not following.cancelled():
            following.result()

    async def _follow(
        self, window: Window, lanes: Lanes[str, tuple[Announcement, Pending]]
    ) -> None:
        """Read the feed without end."""
        reader = Reader(self._events, f"/amf/{quote(self._config.core)}")
        cursor, idle = window.position.cursor, _FIRST_IDLE
        while True:
            entries = await self._read(cursor)
            if not entries:
                await asyncio.sleep(idle)
                idle = min(idle * 2, IDLE)
                continue
            idle = _FIRST_IDLE
            for entry, events in await self._told(reader, entries):
                await window.room()
                wanted = [event for event in events if event.type in self._config.types]
                pending = window.add(entry, len(wanted))
                for event in wanted:
                    lanes.put(entry.aggregate, (event, pending))
            cursor = entries[-1].cursor
            await asyncio.sleep(0)

    async def _read(self, cursor: bytes) -> list[FeedEntry]:
        try:
            return await self._events.engine.feed(cursor, PAGE)
        except StoreUnavailable as err:
            log.warning("the feed cannot be read: %s", err)
            return []

    async def _told(
        self, reader: Reader, entries: list[FeedEntry]
    ) -> list[tuple[FeedEntry, list[Announcement]]]:
        while True:
            try:
                return await reader.read(entries)
            except StoreUnavailable as err:
                log.warning("the log cannot be read: %s", err)
                await asyncio.sleep(IDLE)

    async def _deliver(
        self, sink: Sink, window: Window, event: Announcement, pending: Pending
    ) -> None:
        try:
            if await sink.deliver(event):
                window.done(pending)
        except RefusedError as err:
            log.warning("%s is a dead letter: %s", event.id, err)
            await self._bury(event, str(err))
            window.done(pending, refused=True)

    async def _bury(self, event: Announcement, reason: str) -> None:
        """Keep an event that the sink refuses, with the reason."""
        headers = {**event.headers, "evcore-reason": header_value(reason)}
        subject = subjects.dead(f"announce.{subjects.token(self._config.name)}")
        js = self._client.jetstream()
        while True:
            try:
                await js.publish(subject, event.body, headers=headers)
            except (TimeoutError, Error) as err:
                log.warning("%s cannot be kept as a dead letter: %s", event.id, err)
                await asyncio.sleep(1.0)
            else:
                return

    async def _keep(self, positions: Positions, window: Window) -> None:
        """Save the position while it moves, and every second.

        Raises:
            NotHolderError: it is another's.
        """
        loop = asyncio.get_running_loop()
        saved, last = window.position, loop.time()
        while True:
            await asyncio.sleep(_SAVE_EVERY)
            if window.position != saved or loop.time() - last >= RENEW - _SAVE_EVERY / 2:
                saved, last = window.position, loop.time()
                await positions.save(saved)

    async def _unless_stopped(self, awaited: Awaitable[T]) -> T | None:
        """What is awaited; None where `stop` comes first."""
        task = asyncio.ensure_future(awaited)
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            await cancel_and_wait((task, stopped))
