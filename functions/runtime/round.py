"""One round over a batch: find the aggregates, decide in order, append all in one transaction."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from functions.decider import Forward, Inputs
from functions.decision.env import ENTROPY_OCTETS, NotReadyError
from functions.runtime import resolve, turn
from functions.runtime.cache import Cache, Subscriptions
from functions.runtime.hosting import Hosted
from functions.runtime.job import Job
from functions.runtime.lookups import WorkerLookups
from functions.runtime.room import ENOUGH, Room
from functions.runtime.unsent import recent, unsent
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.flags import DEFAULT_FLAGS
from schemas.identity import PARTITIONS, partition_of
from schemas.network import Network
from schemas.procedures import Procedure
from schemas.step import Step
from schemas.ue.waking import WAKE
from statestore.contract import (
    Append,
    Appended,
    Duplicate,
    IndexConflict,
    IndexKey,
    StoreUnavailable,
)
from statestore.log import Aggregate, EventLog

log = logging.getLogger(__name__)


class Round(Struct):
    """The outcome of each job."""

    appended: list[tuple[Job, Step[Any]]] = field(default_factory=list[tuple[Job, Step[Any]]])
    duplicate: list[tuple[Job, int]] = field(default_factory=list[tuple[Job, int]])
    """Processed before, in the step with that number."""
    forward: list[tuple[Job, Procedure]] = field(default_factory=list[tuple[Job, Procedure]])
    moved: list[tuple[Job, int]] = field(default_factory=list[tuple[Job, int]])
    """To be processed in another slot: the UE's slot is not that of its connection."""
    without_step: list[Job] = field(default_factory=list[Job])
    """No step and no outputs."""
    conflicts: list[Job] = field(default_factory=list[Job])
    """Another worker was faster: to be decided again in the new state."""
    early: list[Job] = field(default_factory=list[Job])
    """They wait for their turn: early events, and the later events of their aggregates."""
    failed: list[tuple[Job, Exception]] = field(default_factory=list[tuple[Job, Exception]])
    """The decision raised an exception: a bug."""
    unsent: list[tuple[str, Step[Any]]] = field(default_factory=list[tuple[str, Step[Any]]])
    """What another worker may not have sent, by aggregate. It goes before the outputs of
    `appended`."""


class _Attempt(Struct):
    """The decisions of a round, before the append."""

    appends: list[Append] = field(default_factory=list[Append])
    made: list[tuple[Job, Step[Any]]] = field(default_factory=list[tuple[Job, Step[Any]]])
    """The jobs and steps of `appends`."""
    idle: list[tuple[Job, Forward | None]] = field(default_factory=list[tuple[Job, Forward | None]])
    """No step, provided that the cached states are fresh."""
    released: set[str] = field(default_factory=set[str])
    """The keys of the connections that `appends` release."""
    before: dict[str, list[Step[Any]]] = field(default_factory=dict[str, list[Step[Any]]])
    """Recent steps of loaded aggregates, which another worker may not have sent."""


def fresh(_: CloudEvent) -> tuple[int, bytes]:
    """Return the time, in milliseconds, and the entropy of a new decision."""
    return _milliseconds(), os.urandom(ENTROPY_OCTETS)


def _milliseconds() -> int:
    """Return the time of this host, which the ages of events are measured with."""
    return time.time_ns() // 1_000_000


class Decider:
    """Decides batches of events for a worker.

    `draw` returns the time and the entropy of a decision; tests return recorded ones. `partitions`
    is the number of partitions that share the addresses of a pool.
    """

    def __init__(
        self,
        events: EventLog,
        hosted: Hosted,
        subscriptions: Subscriptions,
        network: Network,
        network_version: str,
        draw: Callable[[CloudEvent], tuple[int, bytes]] = fresh,
        partitions: int = PARTITIONS,
        room: Room = ENOUGH,
    ) -> None:
        self._log = events
        self._lookups = WorkerLookups(events, network, partitions, room)
        self.room = room
        self.overload = self._lookups.overload
        self.hosted = hosted
        self._subscriptions = subscriptions
        self._network = network
        self._version = network_version
        self._draw = draw
        self._partitions = partitions
        self._hosting: Sequence[Hosted] | None = None
        self.cache = Cache()

    def host(self, hosting: Sequence[Hosted] | None) -> None:
        """Use another `Hosted` in each partition from now on; with None, the first one in all."""
        self._hosting = hosting

    def hosted_in(self, aggregate: str, event: CloudEvent) -> Hosted:
        """Return the hosted procedures for an event. `aggregate` is empty if it is unknown."""
        if self._hosting is None:
            return self.hosted
        slot = slot_of_aggregate(aggregate, event.slot or 0) if aggregate else event.slot or 0
        return self._hosting[partition_of(slot, self._partitions)]

    async def drop_outdated(self, names: Iterable[str]) -> None:
        """Remove the aggregates from the cache that other workers have changed.

        To load one again is much more work than to see that it has no new step. But a UE with
        a connection under transfer is always removed: another aggregate has the step that does it.
        """

        async def check(aggregate: Aggregate) -> None:
            try:
                outdated = turn.is_transferring(aggregate.state) or bool(
                    await self._log.engine.read(aggregate.name, aggregate.seq, 1)
                )
            except StoreUnavailable:
                outdated = True
            if outdated:
                self.cache.drop(aggregate.name)

        cached = [self.cache.get(name) for name in names]
        await asyncio.gather(*(check(one) for one in cached if one is not None))

    async def run(self, jobs: Sequence[Job], *, poisoned: bool = False) -> Round:
        """Decide `jobs`, in order for each aggregate.

        An early event is not decided, nor are the later events of its aggregate. With `poisoned`,
        each UE's request is rejected with a cause instead of being decided.
        """
        result, attempt = Round(), _Attempt()
        owners = await self._resolve(jobs)
        try:
            loaded = await self._load(jobs, attempt)
            await self._own(owners, loaded)
            await self._steps(jobs, result, attempt, poisoned=poisoned)
            await self._append(attempt, result)
            await self._complete_idle(attempt, loaded, result)
            self._find_unsent(attempt, result)
        except BaseException:
            # The decisions are not appended, but the cached states already include them.
            for job in jobs:
                self.cache.drop(job.aggregate)
            self._lookups.addresses.outcome_unknown()
            raise
        self._lookups.addresses.release_unstored()
        return result

    async def _steps(
        self, jobs: Sequence[Job], result: Round, attempt: _Attempt, *, poisoned: bool
    ) -> None:
        held: set[str] = set()
        now = _milliseconds()
        for job in jobs:
            if not job.aggregate:
                result.without_step.append(job)
                continue
            if job.aggregate in held:
                result.early.append(job)
                continue
            slot = resolve.moved_to(job.event, job.aggregate)
            if slot is not None:
                result.moved.append((job, slot))
                continue
            aggregate = self.cache.get(job.aggregate)
            if job.event.partitionkey in attempt.released:
                job.repeated |= any(made.event.id == job.event.id for made, _ in attempt.made)
                aggregate = None
            if aggregate is None:
                result.conflicts.append(job)
                continue
            if turn.waits(job, aggregate.state, now):
                held.add(job.aggregate)
                result.early.append(job)
                continue
            await self._decide(job, aggregate, result, attempt, poisoned=poisoned)

    async def _resolve(self, jobs: Sequence[Job]) -> dict[IndexKey, str]:
        """Find the aggregate of each job. Return the owners of index entries that the store
        returned."""
        unknown: list[Job] = []
        for job in jobs:
            name = resolve.direct(job.event) or self.cache.owner(resolve.entry(job.event))
            job.aggregate = name or ""
            if name is None:
                unknown.append(job)
        if not unknown:
            return {}
        entries = [resolve.entry(job.event) for job in unknown]
        owners = await self._log.engine.owners(entries)
        for job, owner in zip(unknown, owners, strict=True):
            job.aggregate = owner or self._without_owner(job)
        return {e: owner for e, owner in zip(entries, owners, strict=True) if owner is not None}

    @staticmethod
    def _without_owner(job: Job) -> str:
        """Route an event with an unknown key. Drop it if it may already have been processed by a
        connection that was released since."""
        gone = job.repeated and job.event.partitionkey.startswith(resolve.DELETABLE)
        return "" if gone else resolve.without_owner(job.event)

    async def _load(self, jobs: Sequence[Job], attempt: _Attempt) -> frozenset[str]:
        """Load the missing aggregates of all jobs into the cache, and return their names."""
        names = {job.aggregate for job in jobs if job.aggregate}
        missing = [name for name in sorted(names) if self.cache.get(name) is None]
        if missing:
            for aggregate in await self._log.load(missing):
                before = await recent(self._log, aggregate, _milliseconds())
                if before:
                    attempt.before[aggregate.name] = before
                aggregate.tail = []
                self.cache.put(aggregate)
        return frozenset(missing)

    def _find_unsent(self, attempt: _Attempt, result: Round) -> None:
        """Find what is still due of the steps of others, after the steps of this round. What is not
        in the cache is loaded again, with its steps.

        An aggregate with early events only sends nothing: the answer to what it would send may be
        among the events that they wait for.
        """
        decided = {job.aggregate for job, _ in (*attempt.made, *attempt.idle)}
        for name, steps in attempt.before.items():
            aggregate = self.cache.get(name)
            if name not in decided:
                self.cache.drop(name)
            elif aggregate is not None:
                own = [step for job, step in result.appended if job.aggregate == name]
                left = unsent(steps, own, aggregate.state)
                result.unsent += [(name, step) for step in left]

    async def _own(self, owners: Mapping[IndexKey, str], loaded: frozenset[str]) -> None:
        """Cache the owners of the index entries.

        The owners were read before the aggregates. If another worker's step has moved an entry
        since, or the cached state is older than the entry, the aggregate is evicted. Its events are
        retried and find the new owner; they are not errors of their senders.
        """
        uncertain = [entry for entry, name in owners.items() if not self._leads(entry, name)]
        found = await self._log.engine.owners(uncertain) if uncertain else []
        current = dict(zip(uncertain, found, strict=True))
        for entry, name in owners.items():
            if entry not in current or (current[entry] == name and name in loaded):
                self.cache.own(entry, name)
            else:
                self.cache.drop(name)

    def _leads(self, entry: IndexKey, name: str) -> bool:
        """Whether an index entry belongs to the cached state of an aggregate."""
        aggregate = self.cache.get(name)
        return aggregate is None or entry in aggregate.kind.indexes(aggregate.state)

    async def _decide(
        self,
        job: Job,
        aggregate: Aggregate,
        result: Round,
        attempt: _Attempt,
        *,
        poisoned: bool,
    ) -> None:
        if job.event.type == EventType.SUBSCRIPTION_CHANGED:
            self._subscriptions.forget(aggregate.name)
        version, subscriber = await self._subscriptions.of(aggregate.name)
        now, entropy = self._draw(job.event)
        lookups = self._lookups.for_decision(aggregate, job.event, now)
        given = Inputs(
            now=now,
            entropy=entropy,
            network=self._network,
            network_version=self._version,
            subscriber=subscriber,
            subscription=version,
            flags=DEFAULT_FLAGS,
            lookups=lookups,
            poisoned=poisoned,
            rejects=job.reject,
        )
        before = aggregate.state
        hosted = self.hosted_in(job.aggregate, job.event)
        while True:
            try:
                seq = aggregate.seq + 1
                step = hosted.decide(before, seq, job.event, given, lookups.withdraw)
                if isinstance(step, Step):
                    aggregate.apply(step)
                break
            except NotReadyError:
                pass
            except Exception as err:
                lookups.withdraw()
                self.cache.drop(aggregate.name)
                result.failed.append((job, err))
                return
            await lookups.ready()
        if isinstance(step, Step):
            take_from = await self._previous_owner(job)
            ended = lookups.end_quarantines()
            append = EventLog.entry(aggregate, step, before, take_from, ended)
            attempt.appends.append(append)
            attempt.released.update(key for kind, key in append.drop if kind == "ngap")
            attempt.made.append((job, step))
        else:
            attempt.idle.append((job, step))

    async def _complete_idle(
        self, attempt: _Attempt, loaded: frozenset[str], result: Round
    ) -> None:
        """Complete the jobs without a step, after checking that their states are fresh.

        A successful append proves that the state of a decision was fresh. Without an append this is
        read from the store, because another worker may have changed the state.
        """
        verified = {job.aggregate for job, _ in result.appended} | loaded
        for job, step in attempt.idle:
            name = job.aggregate
            aggregate = self.cache.get(name)
            if aggregate is not None and name not in verified:
                if await self._log.engine.read(name, aggregate.seq, 1):
                    self.cache.drop(name)
                    aggregate = None
                else:
                    verified.add(name)
            if aggregate is None:
                result.conflicts.append(job)
            elif step is not None:
                result.forward.append((job, step.procedure))
            else:
                await self._processed_before(job, result)

    async def _processed_before(self, job: Job, result: Round) -> None:
        """Find the step of a redelivered event without effect: its outputs may be lost.

        JetStream forgets deliveries when it dies, so a message of a gNB may always be a copy.
        """
        copy = job.repeated or job.event.type == EventType.NGAP_UPLINK
        seq = await self._log.engine.processed(job.aggregate, job.event.id) if copy else None
        if seq is None:
            result.without_step.append(job)
        else:
            result.duplicate.append((job, seq))

    async def _previous_owner(self, job: Job) -> str:
        """Return the aggregate of an unidentified UE, if this event transfers its connection."""
        if job.event.type != EventType.IDENTIFIED:
            return ""
        entry = resolve.connection_of(job.event)
        return (await self._log.engine.owners([entry]))[0] or ""

    async def _append(self, attempt: _Attempt, result: Round) -> None:
        if not attempt.appends:
            return
        outcomes = await self._log.engine.append(attempt.appends)
        for append, (job, step), outcome in zip(
            attempt.appends, attempt.made, outcomes, strict=True
        ):
            if isinstance(outcome, Appended):
                self.cache.appended(append)
                self._lookups.addresses.appended(append)
                job.wake = next((key for kind, key in append.put if kind == WAKE), "")
                result.appended.append((job, step))
                continue
            job.rejected = False
            self.cache.drop(append.aggregate)
            if isinstance(outcome, IndexConflict):
                self._lookups.addresses.conflict(outcome.entry)
            if isinstance(outcome, Duplicate):
                result.duplicate.append((job, outcome.seq))
            else:
                result.conflicts.append(job)
