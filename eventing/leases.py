"""Which worker pulls which partitions: leases of live workers in a key-value bucket.

Each worker renews one entry with what it hosts. Every worker sees all entries and computes
the same owners by rendezvous hashing, so nobody hands anything out. Leases make a UE's events
stick to one worker; what keeps two workers from harming each other is the log's expected
sequence number, so a moment of two owners is harmless.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable, Collection, Iterable
from typing import Final

import msgspec
from msgspec import Struct
from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import KeyValueConfig
from nats.js.errors import BucketNotFoundError
from nats.js.kv import KeyValue

from eventing import subjects

log = logging.getLogger(__name__)

TTL: Final = 4.0
"""Seconds after its last renewal that a worker counts as dead."""
RENEW: Final = 1.0


class Lease(Struct, frozen=True):
    """What a live worker says of itself."""

    worker: str
    procedures: tuple[str, ...]
    version: str
    pid: int = 0


def owner(leases: Iterable[Lease], procedure: str, partition: int) -> str | None:
    """The worker that pulls a procedure's partition: the highest hash of those that host it.

    The hash leaves the procedure out, so that all procedures of a UE are with one worker
    where one worker hosts them all.
    """
    hosts = (lease.worker for lease in leases if procedure in lease.procedures)
    return max(hosts, key=lambda worker: (_weight(worker, partition), worker), default=None)


def _weight(worker: str, partition: int) -> bytes:
    return hashlib.blake2b(f"{worker}/{partition}".encode(), digest_size=8).digest()


async def bucket(client: Client) -> KeyValue:
    """The bucket of leases, made if it is missing."""
    js = client.jetstream()
    try:
        return await js.key_value(subjects.LEASES)
    except BucketNotFoundError:
        config = KeyValueConfig(bucket=subjects.LEASES, history=1, ttl=TTL)
        return await js.create_key_value(config)


class Membership:
    """This worker's lease, and its view of all the others'."""

    def __init__(self, client: Client, lease: Lease, changed: Callable[[], None]) -> None:
        self._client = client
        self._lease = lease
        self._changed = changed
        self._seen: dict[str, tuple[Lease, float]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._kv: KeyValue | None = None
        self._watcher: KeyValue.KeyWatcher | None = None
        self._known = asyncio.Event()
        """Set once the leases that there were at the start have been seen."""

    async def join(self) -> None:
        """Take the lease and start to renew it. `changed` is called when the workers change.

        Who else is there is known when it returns, or cannot be told within a second.
        """
        self._kv = await bucket(self._client)
        await self._renew()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._renew_forever()), loop.create_task(self._watch())]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._known.wait()

    async def leave(self) -> None:
        """Give the lease up: the others take over at once."""
        tasks: Collection[asyncio.Task[None]] = self._tasks
        while tasks:
            # More than once: what nats-py waits for with a timeout may come just then, and the
            # `asyncio.wait_for` of Python 3.11 then forgets that it was cancelled.
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=0.1)
        if self._kv is not None:
            with contextlib.suppress(Error, asyncio.TimeoutError):
                await self._kv.delete(self._lease.worker)

    def live(self) -> list[Lease]:
        """The workers that are alive, this one always among them."""
        now = asyncio.get_running_loop().time()
        others = [lease for lease, until in self._seen.values() if until > now]
        return [self._lease, *(found for found in others if found.worker != self._lease.worker)]

    def owned(self, partitions: int) -> list[tuple[str, int]]:
        """The (procedure, partition) pairs that are this worker's."""
        live = self.live()
        mine = self._lease
        return [
            (procedure, partition)
            for procedure in mine.procedures
            for partition in range(partitions)
            if owner(live, procedure, partition) == mine.worker
        ]

    async def _renew(self) -> None:
        if self._kv is not None:
            await self._kv.put(self._lease.worker, msgspec.json.encode(self._lease))

    async def _renew_forever(self) -> None:
        connects = self._client.stats["reconnects"]
        while True:
            await asyncio.sleep(RENEW)
            try:
                await self._renew()
                if self._client.stats["reconnects"] != connects and self._watcher is not None:
                    # A broker that was started anew has forgotten who watches.
                    connects = self._client.stats["reconnects"]
                    await self._watcher.stop()
            except (TimeoutError, Error) as err:
                log.warning("the lease could not be renewed: %s", err)
            self._forget_dead()

    def _forget_dead(self) -> None:
        now = asyncio.get_running_loop().time()
        dead = [worker for worker, (_, until) in self._seen.items() if until <= now]
        for worker in dead:
            del self._seen[worker]
        if dead:
            self._changed()

    async def _watch(self) -> None:
        while self._kv is not None:
            try:
                self._watcher = await self._kv.watchall()
                async for entry in self._watcher:
                    if entry is None:
                        self._known.set()  # after what there was: nats-py's sign
                    else:
                        self._note(entry.key, entry.value, entry.operation)
            except (TimeoutError, Error) as err:
                log.warning("the leases cannot be watched: %s", err)
            await asyncio.sleep(RENEW)

    def _note(self, worker: str, value: bytes | None, operation: str | None) -> None:
        if operation in ("DEL", "PURGE") or not value:
            known = self._seen.pop(worker, None)
            if known is not None:
                self._changed()
            return
        try:
            lease = msgspec.json.decode(value, type=Lease)
        except msgspec.DecodeError as err:
            log.warning("the lease of %s cannot be read: %s", worker, err)
            return
        known = self._seen.get(worker)
        self._seen[worker] = (lease, asyncio.get_running_loop().time() + TTL)
        if known is None or known[0] != lease:
            self._changed()
