"""A watch of a key-value bucket that survives restarts of the broker."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from nats.aio.client import Client
from nats.errors import Error
from nats.js.kv import KeyValue

from eventing.process import cancel_and_wait

log = logging.getLogger(__name__)

INITIAL_TIMEOUT: Final = 1.0
"""Seconds that `start` waits for the entries that exist already."""
RETRY: Final = 1.0
"""Seconds between two attempts to watch a bucket."""


class BucketWatch:
    """Calls `note` with each entry of a bucket: first the existing entries, then each change."""

    def __init__(self, client: Client, title: str, note: Callable[[KeyValue.Entry], None]) -> None:
        """`title` names the entries in log messages, as ``"the leases"``."""
        self._client = client
        self._title = title
        self._note = note
        self._reconnects = 0
        self._watcher: KeyValue.KeyWatcher | None = None
        self._task: asyncio.Task[None] | None = None
        self._initialized = asyncio.Event()
        """Set once `note` has had the entries that existed at the start."""

    async def start(self, kv: KeyValue) -> None:
        """Start to watch. Returns after the existing entries, or after `INITIAL_TIMEOUT`."""
        self._reconnects = self._client.stats["reconnects"]
        self._task = asyncio.get_running_loop().create_task(self._watch(kv))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(INITIAL_TIMEOUT):
                await self._initialized.wait()

    async def refresh(self) -> None:
        """Watch again after a reconnection: a restarted broker has lost the watch."""
        if self._client.stats["reconnects"] != self._reconnects and self._watcher is not None:
            self._reconnects = self._client.stats["reconnects"]
            with contextlib.suppress(Error):  # it has ended
                await self._watcher.stop()

    async def stop(self) -> None:
        """Stop to watch."""
        if self._task is not None:
            await cancel_and_wait([self._task])

    async def _watch(self, kv: KeyValue) -> None:
        while True:
            try:
                self._watcher = await kv.watchall()
                async for entry in self._watcher:
                    if entry is None:
                        self._initialized.set()  # nats-py's mark after the existing entries
                    else:
                        self._note(entry)
            except (TimeoutError, Error) as err:
                log.warning("%s cannot be watched: %s", self._title, err)
            await asyncio.sleep(RETRY)
