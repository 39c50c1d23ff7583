"""Following a key-value bucket, through restarts of the broker."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from nats.aio.client import Client
from nats.errors import Error
from nats.js.kv import KeyValue

from eventing.process import end

log = logging.getLogger(__name__)

KNOWN: Final = 1.0
"""Seconds for which what there is already is waited for."""
AGAIN: Final = 1.0
"""Seconds after which a bucket that cannot be watched is tried again."""


class Watching:
    """Gives each entry of a bucket to `note`: those that there are, then those that come."""

    def __init__(self, client: Client, what: str, note: Callable[[KeyValue.Entry], None]) -> None:
        """`what` is what the entries are, in a sentence: ``"the leases"``."""
        self._client = client
        self._what = what
        self._note = note
        self._connects = 0
        self._watcher: KeyValue.KeyWatcher | None = None
        self._task: asyncio.Task[None] | None = None
        self._known = asyncio.Event()
        """Set once the entries that there were at the start have been seen."""

    async def start(self, kv: KeyValue) -> None:
        """Begin. What there is has been noted when it returns, or is not told within a second."""
        self._connects = self._client.stats["reconnects"]
        self._task = asyncio.get_running_loop().create_task(self._watch(kv))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KNOWN):
                await self._known.wait()

    async def refresh(self) -> None:
        """Begin anew if there was a reconnection: a broker that was started anew has forgotten who
        watches."""
        if self._client.stats["reconnects"] != self._connects and self._watcher is not None:
            self._connects = self._client.stats["reconnects"]
            await self._watcher.stop()

    async def stop(self) -> None:
        """Watch no more."""
        if self._task is not None:
            await end([self._task])

    async def _watch(self, kv: KeyValue) -> None:
        while True:
            try:
                self._watcher = await kv.watchall()
                async for entry in self._watcher:
                    if entry is None:
                        self._known.set()  # after what there was: nats-py's sign
                    else:
                        self._note(entry)
            except (TimeoutError, Error) as err:
                log.warning("%s cannot be watched: %s", self._what, err)
            await asyncio.sleep(AGAIN)
