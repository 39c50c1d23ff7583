"""How far an announcer has come, in a key-value bucket, and which process is that announcer.

There is one entry for each announcer, by its name. Whoever writes it says which revision it has
read, so of two processes one finds out that it is not alone. The active one writes it at least
once a second; one that stands by takes it when it was not written for as long as `STALE`. So there
is one at a time, but for a process that was held up and does not know it yet: what both send then
are copies.
"""

import asyncio
import logging
from typing import Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import KeyValueConfig
from nats.js.errors import (
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
)
from nats.js.kv import KeyValue

from eventing import subjects

log = logging.getLogger(__name__)

STALE: Final = 5.0
"""Seconds without a word after which another process takes over."""
RENEW: Final = 1.0
_LOOK: Final = 0.5


class Position(Struct, frozen=True, omit_defaults=True):
    """Up to where everything was acknowledged."""

    cursor: bytes = b""
    """Of the feed; empty for its beginning."""
    aggregate: str = ""
    """The step that it stands behind: a store that does not have it is another one."""
    seq: int = 0
    holder: str = ""
    """The process that is at it; empty for none."""
    sent: int = 0
    """How many events were taken, ever."""
    refused: int = 0
    """How many were not, and are dead letters."""


class NotHolderError(Exception):
    """Another process is the announcer by now, or may be: this one must send nothing more."""


class Positions:
    """The entry of one announcer, as one process reads and writes it."""

    def __init__(self, kv: KeyValue, name: str, holder: str) -> None:
        """Use `opened`. `holder` is unique to this process."""
        self._kv = kv
        self._name = name
        self._holder = holder
        self._revision = 0
        self._until = 0.0

    @classmethod
    async def opened(cls, client: Client, name: str, holder: str, replicas: int) -> "Positions":
        """The entry of the announcer of this name; the bucket is made if it is missing.

        Raises:
            nats.errors.Error: JetStream refuses.
        """
        js = client.jetstream()
        try:
            kv = await js.key_value(subjects.ANNOUNCERS)
        except BucketNotFoundError:
            config = KeyValueConfig(bucket=subjects.ANNOUNCERS, history=1, replicas=replicas)
            kv = await js.create_key_value(config)
        return cls(kv, name, holder)

    async def take(self, first: Position) -> Position:
        """Wait until this process is the announcer; where it is to go on, `first` where nobody
        ever began."""
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
        """Write how far this process has come, and that it goes on.

        Raises:
            NotHolderError: see there.
        """
        await self._save(replace(position, holder=self._holder))

    async def leave(self, position: Position) -> None:
        """Write how far this process has come, for whoever goes on at once.

        Raises:
            NotHolderError: see there.
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
                # The answer to a write may have been lost: then the entry is still ours.
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
