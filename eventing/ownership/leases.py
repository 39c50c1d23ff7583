"""Which worker pulls which partitions: leases of live workers in a key-value bucket.

Each worker renews one entry with what it hosts. Every worker sees all entries and computes
the same owners by rendezvous hashing, so nobody hands anything out. Only those take part that
host the version that is assigned to the partition (`eventing.ownership.assignments`). Leases make a UE's
events stick to one worker; what keeps two workers from harming each other is the log's expected
sequence number, so a moment of two owners is harmless.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import KeyValueConfig
from nats.js.errors import BucketNotFoundError, KeyDeletedError, KeyNotFoundError
from nats.js.kv import KeyValue

from eventing import subjects
from eventing.ownership.assignments import Assignment, wanted
from eventing.ownership.bucket_watch import Watching
from eventing.process import end

log = logging.getLogger(__name__)

TTL: Final = 4.0
"""Seconds after its last renewal that a worker counts as dead."""
RENEW: Final = 1.0


class Lease(Struct, frozen=True, omit_defaults=True):
    """What a live worker says of itself."""

    worker: str
    procedures: tuple[str, ...]
    version: str
    pid: int = 0
    variants: dict[str, str] = field(default_factory=dict[str, str])
    """By procedure, what it hosts in the place of what its evcore came with."""
    assignments: int = 0
    """The revision of the last assignment that it has taken over, and decides by."""

    def hosts(self, procedure: str, variant: str) -> bool:
        """Whether it hosts this variant of a procedure."""
        return procedure in self.procedures and self.variants.get(procedure, "") == variant


def owner(leases: Iterable[Lease], procedure: str, partition: int, variant: str = "") -> str | None:
    """The worker that pulls a procedure's partition: the highest hash of those that host the
    variant of it that is to decide there.

    The hash leaves the procedure out, so that all procedures of a UE are with one worker
    where one worker hosts them all.
    """
    hosts = (lease.worker for lease in leases if lease.hosts(procedure, variant))
    return max(hosts, key=lambda worker: (_weight(worker, partition), worker), default=None)


def _weight(worker: str, partition: int) -> bytes:
    return hashlib.blake2b(f"{worker}/{partition}".encode(), digest_size=8).digest()


async def bucket(client: Client, replicas: int = 1) -> KeyValue:
    """The bucket of leases, made if it is missing."""
    js = client.jetstream()
    try:
        return await js.key_value(subjects.LEASES)
    except BucketNotFoundError:
        config = KeyValueConfig(bucket=subjects.LEASES, history=1, ttl=TTL, replicas=replicas)
        return await js.create_key_value(config)


async def live(client: Client) -> list[Lease]:
    """The leases of all workers that are alive, for one who is none of them.

    Raises:
        TimeoutError: JetStream does not say.
        nats.errors.Error: the same.
    """
    found: list[Lease] = []
    async with asyncio.timeout(TTL):
        kv = await bucket(client)
        # Not a watch: it overlooks what is renewed while it begins.
        stream = await client.jetstream().stream_info(f"KV_{subjects.LEASES}", subjects_filter=">")
        for subject in stream.state.subjects or {}:
            with contextlib.suppress(KeyNotFoundError, KeyDeletedError, msgspec.DecodeError):
                entry = await kv.get(subject.removeprefix(f"$KV.{subjects.LEASES}."))
                found.append(msgspec.json.decode(entry.value or b"", type=Lease))
    return found


class Membership:
    """This worker's lease, and its view of all the others'."""

    def __init__(self, client: Client, lease: Lease, changed: Callable[[], None]) -> None:
        self._client = client
        self._lease = lease
        self._changed = changed
        self._seen: dict[str, tuple[Lease, float]] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._kv: KeyValue | None = None
        self._watching = Watching(client, "the leases", self._note)

    async def join(self) -> None:
        """Take the lease and start to renew it. `changed` is called when the workers change.

        Who else is there is known when it returns, or cannot be told within a second.
        """
        self._kv = await bucket(self._client)
        await self._renew()
        self._renewing = asyncio.get_running_loop().create_task(self._renew_forever())
        await self._watching.start(self._kv)

    async def leave(self) -> None:
        """Give the lease up: the others take over at once."""
        if self._renewing is not None:
            await end([self._renewing])
        await self._watching.stop()
        if self._kv is not None:
            with contextlib.suppress(Error, asyncio.TimeoutError):
                await self._kv.delete(self._lease.worker)

    async def took_over(self, revision: int) -> None:
        """Say that this worker decides by the assignments up to a revision from now on."""
        self._lease = replace(self._lease, assignments=revision)
        with contextlib.suppress(Error, asyncio.TimeoutError):  # the next renewal says it, too
            await self._renew()

    @property
    def lease(self) -> Lease:
        """This worker's."""
        return self._lease

    def live(self) -> list[Lease]:
        """The workers that are alive, this one always among them."""
        now = asyncio.get_running_loop().time()
        others = [lease for lease, until in self._seen.values() if until > now]
        return [self._lease, *(found for found in others if found.worker != self._lease.worker)]

    def owned(
        self, partitions: int, assignments: Mapping[str, Assignment] | None = None
    ) -> list[tuple[str, int]]:
        """The (procedure, partition) pairs that are this worker's."""
        live, assigned = self.live(), assignments or {}
        mine = self._lease
        return [
            (procedure, partition)
            for procedure in mine.procedures
            for partition in range(partitions)
            if owner(live, procedure, partition, wanted(assigned, procedure, partition))
            == mine.worker
        ]

    async def _renew(self) -> None:
        if self._kv is not None:
            await self._kv.put(self._lease.worker, msgspec.json.encode(self._lease))

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(RENEW)
            try:
                await self._renew()
                await self._watching.refresh()
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

    def _note(self, entry: KeyValue.Entry) -> None:
        worker = entry.key
        if entry.operation in ("DEL", "PURGE") or not entry.value:
            known = self._seen.pop(worker, None)
            if known is not None:
                self._changed()
            return
        try:
            lease = msgspec.json.decode(entry.value, type=Lease)
        except msgspec.DecodeError as err:
            log.warning("the lease of %s cannot be read: %s", worker, err)
            return
        known = self._seen.get(worker)
        self._seen[worker] = (lease, asyncio.get_running_loop().time() + TTL)
        if known is None or known[0] != lease:
            self._changed()
