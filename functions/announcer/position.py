"""The position of an announcer in a key-value bucket, and the process that is the announcer.

The bucket has one entry for each announcer, by its name. Each write names the revision that was
read, so one of two processes notices the other. The active process writes at least once a second. A
standby process takes over if there was no write for `STALE` seconds. So one process is active at a
time, except for a delayed process that has not noticed the takeover yet: both then send the same
events.
"""

import asyncio
import logging
from typing import Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error
from nats.js.errors import (
    KeyNotFoundError,
    KeyWrongLastSequenceError,
)
from nats.js.kv import KeyValue

from eventing import subjects
from eventing.jetstream.streams import bucket

log = logging.getLogger(__name__)

STALE: Final = 5.0
"""Seconds without a write after which another process takes over."""
RENEW: Final = 1.0
_LOOK: Final = 0.5


class Position(Struct, frozen=True, omit_defaults=True):
    """The position up to which all events are acknowledged."""

    cursor: bytes = b""
    """The cursor of the feed; empty for its start."""
    aggregate: str = ""
    """The aggregate of the last announced step. A store without this step is a different store."""
    seq: int = 0
    holder: str = ""
    """The active process; empty for none."""
    sent: int = 0
    """Total number of events that the sink accepted."""
    refused: int = 0
    """Total number of events that the sink refused, and that are dead letters."""


class NotHolderError(Exception):
    """Another process is the announcer, or may be. This one must not send any more events."""


class Positions:
    """The entry of one announcer, as one process reads and writes it."""

    def __init__(self, kv: KeyValue, name: str, holder: str) -> None:
        """Use `opened` instead. `holder` is unique to this process."""
        self._kv = kv
        self._name = name
        self._holder = holder
        self._revision = 0
        self._until = 0.0

    @classmethod
    async def opened(cls, client: Client, name: str, holder: str) -> "Positions":
        """Return the entry of the announcer of this name.

        Raises:
            BusError: the bucket does not exist.
            nats.errors.Error: JetStream refuses a request.
        """
        return cls(await bucket(client, subjects.ANNOUNCERS), name, holder)

    async def take(self, first: Position) -> Position:
        """Wait until this process is the announcer; return its position, `first` for a new name."""
        loop = asyncio.get_running_loop()
        seen, since = -1, loop.time()
        while True:
            try:
                revision, found = await self._read()
                if revision != seen:
                    seen, since = revision, loop.time()
                ours = found is None or found.holder in ("", self._holder)
                if ours or loop.time() - since >= STALE:
                    position = replace(found or first, holder=self._holder)
                    if await self._swap(position, revision):
                        return position
            except (TimeoutError, Error) as err:
                log.warning("the position of %s cannot be had: %s", self._name, err)
            await asyncio.sleep(_LOOK)

    async def save(self, position: Position) -> None:
        """Write the position; this process remains the announcer.

        Raises:
            NotHolderError: another process is the announcer, or may be.
        """
        await self._save(replace(position, holder=self._holder))

    async def leave(self, position: Position) -> None:
        """Write the position, so that another process can continue at once.

        Raises:
            NotHolderError: another process is the announcer, or may be.
        """
        await self._save(replace(position, holder=""))

    async def _save(self, position: Position) -> None:
        try:
            async with asyncio.timeout_at(self._until):
                await self._write(position)
        except TimeoutError:
            raise NotHolderError("JetStream has not taken the position for too long") from None

    async def _write(self, position: Position) -> None:
        while True:
            try:
                if await self._swap(position, self._revision):
                    return
                # If only the response to the write was lost, the entry is still ours.
                self._revision, found = await self._read()
                if found == position:
                    return
                if found is None or found.holder != self._holder:
                    raise NotHolderError("another process has taken the position over")
            except (TimeoutError, Error):
                await asyncio.sleep(_LOOK)

    async def _read(self) -> tuple[int, Position | None]:
        try:
            entry = await self._kv.get(self._name)
        except KeyNotFoundError as err:
            deleted = cast("KeyValue.Entry | None", err.entry)
            return (deleted.revision or 0) if deleted is not None else 0, None
        return entry.revision or 0, msgspec.json.decode(entry.value or b"", type=Position)

    async def _swap(self, position: Position, revision: int) -> bool:
        octets = msgspec.json.encode(position)
        started = asyncio.get_running_loop().time()
        try:
            self._revision = await self._kv.update(self._name, octets, last=revision)
        except KeyWrongLastSequenceError:
            return False
        self._until = started + STALE - RENEW
        return True
