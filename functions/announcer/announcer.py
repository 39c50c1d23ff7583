"""The announcer: reads the feed of the log and sends domain events to a sink by HTTP POST.

Every event is sent at least once. The events of an aggregate are sent in order, each after the
acknowledgement of the one before. Aggregates do not wait for each other, except for the window:
while an event cannot be sent, at most `WINDOW` later steps are sent. The feed has no notification:
at its end it is read again after 20 ms, then after longer and longer pauses up to `IDLE`.
"""

import asyncio
import logging
import ssl
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
from eventing.dispatcher.credentials import Token
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
"""Maximum seconds between two reads at the end of the feed."""
_FIRST_IDLE: Final = 0.02
_SAVE_EVERY: Final = RENEW / 2
_DRAIN: Final = 10.0
"""Time limit in seconds for running requests when the announcer stops."""


class AnnouncerConfig(Struct, frozen=True):
    """Settings of an announcer."""

    sink: str
    """The URL of the sink."""
    name: str = "default"
    """The announcer's name. Each name has its own position."""
    core: str = "evcore"
    """The name of the AMF, for the attribute `source`."""
    start: Literal["start", "now"] = "start"
    """The initial position of a new name."""
    types: frozenset[DomainType] = frozenset(DomainType)
    extensions: Mapping[str, str] = {}
    """Attributes that are added to every event, or replace its own."""
    concurrency: int = 32
    """Maximum number of concurrent requests."""


class OtherStoreError(Exception):
    """The position of the announcer belongs to another store. The message says so."""


class Announcer:
    """One process of an announcer. Call `run` once."""

    def __init__(
        self,
        config: AnnouncerConfig,
        client: Client,
        events: EventLog,
        token: Token | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`token` and `context` are for the sink; see `Sink`."""
        self._config = config
        self._token = token
        self._context = context
        self._client = client
        self._events = events
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """Finish the running requests and stop `run`."""
        self._stopping.set()

    async def run(self) -> None:
        """Announce while no other process of this name does, until `stop`.

        Raises:
            OtherStoreError: the position of the announcer belongs to another store.
            StoreError: the log cannot be read.
            BusError: the bucket of positions does not exist.
            nats.errors.Error: JetStream refuses a request.
        """
        config = self._config
        positions = await Positions.opened(self._client, config.name, str(uuid4()))
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
        """Raise `OtherStoreError` if the store never had the step that was announced last."""
        if (
            position.aggregate
            and not await self._events.engine.read(position.aggregate, position.seq - 1, 1)
            and not await self._is_removed(position)
        ):
            raise OtherStoreError(
                f"the announcer {self._config.name!r} has announced step {position.seq} of "
                f"{position.aggregate}, which is not in this store: give another --name"
            )

    async def _is_removed(self, position: Position) -> bool:
        """Whether the aggregate of the last announced step may have been removed since: it has no
        steps or those of a stranger, and the feed has not become shorter."""
        if await self._events.engine.feed_end() < position.cursor:
            return False
        (found,) = await self._events.load([position.aggregate])
        return not found.seq or found.kind.removable(found.state) is not None

    async def _announce(self, positions: Positions, start: Position) -> None:
        """Announce from a position on, until `stop` or until another process takes over.

        Raises:
            NotHolderError: another process took over.
        """
        config = self._config
        window = Window(start, WINDOW)
        async with Sink(config.sink, config.extensions, self._token, self._context) as sink:

            async def deliver(item: tuple[Announcement, Pending]) -> bool:
                try:
                    await self._deliver(sink, window, *item)
                except Exception as err:  # raised again by `run`
                    self._failure = self._failure or err
                    self._stopping.set()
                return True

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
        """Read the feed, without end."""
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
        """Store an event that the sink refused, with the reason."""
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
        """Save the position when it changes, and every second.

        Raises:
            NotHolderError: another process took over.
        """
        loop = asyncio.get_running_loop()
        saved, last = window.position, loop.time()
        while True:
            await asyncio.sleep(_SAVE_EVERY)
            if window.position != saved or loop.time() - last >= RENEW - _SAVE_EVERY / 2:
                saved, last = window.position, loop.time()
                await positions.save(saved)

    async def _unless_stopped(self, awaited: Awaitable[T]) -> T | None:
        """Return the result of an awaitable; None if `stop` is called first."""
        task = asyncio.ensure_future(awaited)
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            await cancel_and_wait((task, stopped))
