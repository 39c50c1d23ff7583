"""The assignments as one process sees them (`eventing.assignment`)."""

import logging
from collections.abc import Callable

import msgspec
from nats.aio.client import Client
from nats.js.kv import KeyValue

from eventing.assignment import Assignment, bucket, decode
from eventing.watching import Watching

log = logging.getLogger(__name__)


class Assigned:
    """Follows the bucket."""

    def __init__(self, client: Client, changed: Callable[[], None]) -> None:
        """`changed` is called when there is another assignment."""
        self._client = client
        self._changed = changed
        self._watching = Watching(client, "the assignments", self._note)
        self.found: dict[str, Assignment] = {}
        """By procedure."""
        self.revision = 0
        """That of the last assignment, 0 for none."""

    async def start(self) -> KeyValue:
        """Begin; the bucket. What there is is known when it returns, or is not told in a second.

        Raises:
            nats.errors.Error: JetStream has no bucket, and makes none.
        """
        kv = await bucket(self._client)
        await self._watching.start(kv)
        return kv

    async def refresh(self) -> None:
        """Begin anew after a reconnection. To be called every second or so."""
        await self._watching.refresh()

    async def stop(self) -> None:
        """Follow it no more."""
        await self._watching.stop()

    def _note(self, entry: KeyValue.Entry) -> None:
        revision = entry.revision or 0
        if revision <= self.revision:
            return  # seen before the watch began anew
        try:
            assignment = decode(entry.value or b"")
        except msgspec.DecodeError as err:
            log.warning("the assignment of %s cannot be read: %s", entry.key, err)
            return
        self.found[entry.key] = assignment
        self.revision = revision
        self._changed()
