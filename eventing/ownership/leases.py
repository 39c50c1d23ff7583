"""Which worker pulls which partitions: leases of live workers in a key-value bucket.

Each worker renews one lease that lists its procedures and variants. Every worker sees all leases
and computes the same owners by rendezvous hashing, so no coordinator is needed. Only a worker that
hosts the variant assigned to a partition can own it (`eventing.ownership.assignments`).

A lease outlives a worker that is killed. So a worker also answers requests while it is connected,
and the others forget the lease of one that gives no answer.

Leases keep the events of a UE at one worker. They do not protect against two owners: the expected
sequence number of the log does. Two owners for a moment are harmless.
"""

import asyncio
import contextlib
import functools
import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error, NoRespondersError
from nats.js.errors import KeyDeletedError, KeyNotFoundError
from nats.js.kv import KeyValue

from eventing import subjects
from eventing.jetstream import streams
from eventing.ownership.assignments import Assignment, variant_for
from eventing.ownership.bucket_watch import BucketWatch
from eventing.process import cancel_and_wait

log = logging.getLogger(__name__)

RENEW: Final = 1.0
"""Seconds between two renewals of a lease."""
SLOW: Final = 2.0
"""Seconds for a renewal from which on JetStream was away."""
AGAIN: Final = 0.1
"""Seconds after which a worker without an answer is asked again: it may be reconnecting."""


class Lease(Struct, frozen=True, omit_defaults=True):
    """The entry of a live worker."""

    worker: str
    procedures: tuple[str, ...]
    version: str
    pid: int = 0
    variants: dict[str, str] = field(default_factory=dict[str, str])
    """By procedure, the variant that the worker hosts: the id of its code."""
    assignments: int = 0
    """Revision of the last assignment that the worker has adopted."""
    code: str = ""
    """The id of the code of the worker's release."""
    names: dict[str, str] = field(default_factory=dict[str, str])
    """By variant, a name for people: that of an overlay, or the version of a release."""

    def hosts(self, procedure: str, variant: str) -> bool:
        """Whether the worker hosts this variant of a procedure.

        A worker that hosts its release's own version hosts it under both names: ``""`` and its id.
        """
        if procedure not in self.procedures:
            return False
        if self.is_plain(procedure):
            return variant in ("", self.code)
        return self.variants[procedure] == variant

    def is_plain(self, procedure: str) -> bool:
        """Whether the worker hosts its release's own version of a procedure, under no variant."""
        return procedure in self.procedures and procedure not in self.variants


def owner(
    leases: Iterable[Lease], procedure: str, partition: int, partitions: int, variant: str = ""
) -> str | None:
    """Return the worker that pulls a procedure's partition; None if no worker hosts the variant.

    All procedures of a UE are at one worker if all workers host the same.
    """
    hosts = sorted(lease.worker for lease in leases if lease.hosts(procedure, variant))
    return _shared(tuple(hosts), partitions)[partition] if hosts else None


@functools.lru_cache(maxsize=64)
def _shared(workers: tuple[str, ...], partitions: int) -> tuple[str, ...]:
    """Return the worker of each partition: each worker has as many as any other, or one more.

    The pairs of a worker and a partition are taken by their hashes, the highest first, so that few
    partitions move when a worker joins or leaves. Hashes alone would not do: of eight partitions
    one of two workers would have six or more every third time.
    """
    least, more = divmod(partitions, len(workers))
    loads = dict.fromkeys(workers, 0)
    found: dict[int, str] = {}
    pairs = ((_weight(worker, n), worker, n) for worker in workers for n in range(partitions))
    for _, worker, partition in sorted(pairs, reverse=True):
        load = loads[worker]
        if partition in found or load > least or (load == least and not more):
            continue
        more -= load == least
        loads[worker] += 1
        found[partition] = worker
    return tuple(found[partition] for partition in range(partitions))


def _weight(worker: str, partition: int) -> bytes:
    return hashlib.blake2b(f"{worker}/{partition}".encode(), digest_size=8).digest()


async def live(client: Client) -> list[Lease]:
    """Return the leases of all live workers, for a process that has no lease itself.

    Raises:
        TimeoutError: JetStream does not answer.
        nats.errors.Error: the same.
    """
    found: list[Lease] = []
    async with asyncio.timeout(streams.LEASE_TTL):
        kv = await streams.lease_bucket(client)
        # Not a watch: a watch misses entries that are renewed while it starts.
        stream = await client.jetstream().stream_info(f"KV_{subjects.LEASES}", subjects_filter=">")
        for subject in stream.state.subjects or {}:
            with contextlib.suppress(KeyNotFoundError, KeyDeletedError, msgspec.DecodeError):
                entry = await kv.get(subject.removeprefix(f"$KV.{subjects.LEASES}."))
                found.append(msgspec.json.decode(entry.value or b"", type=Lease))
    return found


class Membership:
    """This worker's lease, and its view of the other workers' leases."""

    def __init__(self, client: Client, lease: Lease, changed: Callable[[], None]) -> None:
        """`changed` is called when another worker joins, leaves or changes its lease."""
        self._client = client
        self._lease = lease
        self._changed = changed
        self._seen: dict[str, tuple[Lease, float]] = {}
        """By worker, its lease and the loop's time at which the lease expires."""
        self._renewing: asyncio.Task[None] | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        """By worker, the request whether it is connected."""
        self._kv: KeyValue | None = None
        self._watch = BucketWatch(client, "the leases", self._note)
        self._renewed_from = math.inf
        """When the renewal began that has no answer, in seconds of the monotonic clock."""
        self._away_at = -math.inf

    @property
    def away_at(self) -> float:
        """When JetStream was last known to be away, in seconds of the monotonic clock: a renewal
        failed, or took `SLOW`."""
        now = time.monotonic()
        return now if now - self._renewed_from >= SLOW else self._away_at

    async def join(self) -> None:
        """Write the lease and start to renew it.

        Returns when the other workers' leases are known, after one second at most.
        """
        self._kv = await streams.lease_bucket(self._client)
        await self._client.subscribe(subjects.alive(self._lease.worker), cb=self._answer)
        await self._renew()
        self._renewing = asyncio.get_running_loop().create_task(self._renew_forever())
        await self._watch.start(self._kv)

    async def leave(self) -> None:
        """Delete the lease: the other workers take over at once."""
        if self._renewing is not None:
            await cancel_and_wait([self._renewing, *self._asking.values()])
        await self._watch.stop()
        if self._kv is not None:
            with contextlib.suppress(Error, asyncio.TimeoutError):
                await self._kv.delete(self._lease.worker)

    async def adopt(self, revision: int) -> None:
        """Tell the other processes that this worker has adopted the assignments of a revision."""
        self._lease = replace(self._lease, assignments=revision)
        with contextlib.suppress(Error, asyncio.TimeoutError):  # the next renewal tells them too
            await self._renew()

    @property
    def lease(self) -> Lease:
        """This worker's lease."""
        return self._lease

    def live(self) -> list[Lease]:
        """Return the leases of all live workers, this worker's first."""
        now = asyncio.get_running_loop().time()
        others = [lease for lease, until in self._seen.values() if until > now]
        return [self._lease, *(found for found in others if found.worker != self._lease.worker)]

    def owned(
        self, partitions: int, assignments: Mapping[str, Assignment] | None = None
    ) -> list[tuple[str, int]]:
        """Return the (procedure, partition) pairs that this worker owns."""
        live, assigned = self.live(), assignments or {}
        mine = self._lease
        return [
            (procedure, partition)
            for procedure in mine.procedures
            for partition in range(partitions)
            if owner(
                live,
                procedure,
                partition,
                partitions,
                variant_for(assigned, procedure, partition),
            )
            == mine.worker
        ]

    async def _renew(self) -> None:
        if self._kv is not None:
            await self._kv.put(self._lease.worker, msgspec.json.encode(self._lease))

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(RENEW)
            self._renewed_from = time.monotonic()
            try:
                await self._renew()
                self._away_at = self.away_at
                await self._watch.refresh()
            except (TimeoutError, Error) as err:
                self._away_at = time.monotonic()
                log.warning("the lease cannot be renewed: %s", err)
            self._renewed_from = math.inf
            self._remove_expired()

    @staticmethod
    async def _answer(request: Msg) -> None:
        await request.respond(b"")

    def _ask(self, worker: str) -> None:
        """Ask whether a worker is connected."""
        if worker not in self._asking:
            asking = asyncio.get_running_loop().create_task(self._forget_unless_connected(worker))
            self._asking[worker] = asking
            asking.add_done_callback(lambda _: self._asking.pop(worker, None))

    async def _forget_unless_connected(self, worker: str) -> None:
        for pause in (AGAIN, 0.0):
            try:
                await self._client.request(subjects.alive(worker), timeout=RENEW)
            except NoRespondersError:
                await asyncio.sleep(pause)
            except (Error, TimeoutError):  # it is slow, or the broker is: its lease may expire
                return
            else:
                return
        if self._seen.pop(worker, None) is not None:
            self._changed()

    def _remove_expired(self) -> None:
        """Forget the workers whose lease has expired, and ask those that are late to renew it."""
        now = asyncio.get_running_loop().time()
        for worker, (_, until) in self._seen.items():
            if until - now < streams.LEASE_TTL - 1.5 * RENEW:
                self._ask(worker)
        expired = [worker for worker, (_, until) in self._seen.items() if until <= now]
        for worker in expired:
            del self._seen[worker]
        if expired:
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
        if known is None and worker != self._lease.worker:
            self._ask(worker)
        self._seen[worker] = (lease, asyncio.get_running_loop().time() + streams.LEASE_TTL)
        if known is None or known[0] != lease:
            self._changed()
