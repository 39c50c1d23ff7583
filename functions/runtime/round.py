"""One round over a batch: find the aggregates, decide in order, append all in one transaction."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from functions.decider import Forward, Inputs
from functions.decision.env import ENTROPY_OCTETS, NotReadyError
from functions.runtime import resolve
from functions.runtime.cache import Cache
from functions.runtime.hosting import Hosted
from functions.runtime.job import Job, out_of_turn
from functions.runtime.lookups import WorkerLookups
from functions.runtime.subscriptions import Subscriptions
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.flags import DEFAULT_FLAGS
from schemas.identity import PARTITIONS, partition_of
from schemas.network import Network
from schemas.procedures import Procedure
from schemas.step import Step
from schemas.ue.waking import WAKE
from statestore.contract import Append, Appended, Duplicate, IndexKey, IndexTaken
from statestore.log import Aggregate, EventLog

log = logging.getLogger(__name__)


class Round(Struct):
    """What became of each job."""

    appended: list[tuple[Job, Step[Any]]] = field(default_factory=list[tuple[Job, Step[Any]]])
    duplicate: list[tuple[Job, int]] = field(default_factory=list[tuple[Job, int]])
    """Taken before, by the step of that number."""
    forward: list[tuple[Job, Procedure]] = field(default_factory=list[tuple[Job, Procedure]])
    moved: list[tuple[Job, int]] = field(default_factory=list[tuple[Job, int]])
    """Of a UE whose slot is another than that of its connection: for the worker of that slot."""
    nothing: list[Job] = field(default_factory=list[Job])
    """Nothing to record, nothing to send."""
    again: list[Job] = field(default_factory=list[Job])
    """Another worker was there first: decide again on what it left."""
    out_of_turn: list[Job] = field(default_factory=list[Job])
    failed: list[tuple[Job, Exception]] = field(default_factory=list[tuple[Job, Exception]])
    """The decision raised: a bug."""


class _Attempt(Struct):
    """What a round has decided, before the store has had it."""

    appends: list[Append] = field(default_factory=list[Append])
    made: list[tuple[Job, Step[Any]]] = field(default_factory=list[tuple[Job, Step[Any]]])
    """What `appends` are of."""
    idle: list[tuple[Job, Forward | None]] = field(default_factory=list[tuple[Job, Forward | None]])
    """Nothing to append, as far as the states here are right."""
    ended: set[str] = field(default_factory=set[str])
    """The keys of the connections that end with `appends`."""


def fresh(_: CloudEvent) -> tuple[int, bytes]:
    """The time, in milliseconds, and the entropy of a new decision."""
    return _milliseconds(), os.urandom(ENTROPY_OCTETS)


def _milliseconds() -> int:
    """The time of this host, which the ages of events are measured with."""
    return time.time_ns() // 1_000_000


class Decider:
    """Decides batches of events for a worker.

    `draw` gives the time and the entropy of a decision; tests give those of a recorded run.
    `partitions` share the addresses of a pool.
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
    ) -> None:
        self._log = events
        self._lookups = WorkerLookups(events, network, partitions)
        self.hosted = hosted
        self._subscriptions = subscriptions
        self._network = network
        self._version = network_version
        self._draw = draw
        self._partitions = partitions
        self._hosting: Sequence[Hosted] | None = None
        self.cache = Cache()

    def host(self, hosting: Sequence[Hosted] | None) -> None:
        """Decide by another `Hosted` in each partition from now on; with None, by the first one."""
        self._hosting = hosting

    def hosted_in(self, slot: int) -> Hosted:
        """Return what decides about the events of a slot here."""
        if self._hosting is None:
            return self.hosted
        return self._hosting[partition_of(slot, self._partitions)]

    async def run(self, jobs: Sequence[Job], *, patient: bool, poisoned: bool = False) -> Round:
        """Decide about `jobs`, in order for each aggregate.

        With `patient`, an event that comes before its turn is left for later, and so is all
        behind it. `poisoned` gives each UE a cause in place of a decision.
        """
        result, attempt = Round(), _Attempt()
        owners = await self._resolve(jobs)
        loaded = await self._load(jobs)
        await self._own(owners, loaded)
        try:
            await self._steps(jobs, result, attempt, patient=patient, poisoned=poisoned)
            await self._append(attempt, result)
            await self._nothing(attempt, loaded, result)
        except BaseException:
            # What was decided is not appended, and the states here have moved past it.
            for job in jobs:
                self.cache.drop(job.aggregate)
            self._lookups.addresses.doubt()
            raise
        self._lookups.addresses.free_unstored()
        return result

    async def _steps(
        self,
        jobs: Sequence[Job],
        result: Round,
        attempt: _Attempt,
        *,
        patient: bool,
        poisoned: bool,
    ) -> None:
        held: set[str] = set()
        for job in jobs:
            if not job.aggregate:
                result.nothing.append(job)
                continue
            slot = resolve.moved_to(job.event, job.aggregate)
            if slot is not None:
                result.moved.append((job, slot))
                continue
            aggregate = self.cache.get(job.aggregate)
            if job.event.partitionkey in attempt.ended:
                job.repeated |= any(made.event.id == job.event.id for made, _ in attempt.made)
                aggregate = None
            if aggregate is None:
                result.again.append(job)
                continue
            early = patient and out_of_turn(job.event, aggregate.state)
            if job.aggregate in held or early:
                held.add(job.aggregate)
                result.out_of_turn.append(job)
                continue
            await self._decide(job, aggregate, result, attempt, poisoned=poisoned)

    async def _resolve(self, jobs: Sequence[Job]) -> dict[IndexKey, str]:
        """Find the aggregate of each job; the owners of index entries that the store told."""
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
        """Where an event goes whose key nobody has: nowhere, if it may have been taken already
        by a connection that is gone since, for then its answer was given."""
        gone = job.repeated and job.event.partitionkey.startswith(resolve.GIVEN_UP)
        return "" if gone else resolve.without_owner(job.event)

    async def _load(self, jobs: Sequence[Job]) -> frozenset[str]:
        """Have the aggregates of all jobs here; the names of those that were not."""
        names = {job.aggregate for job in jobs if job.aggregate}
        missing = [name for name in sorted(names) if self.cache.get(name) is None]
        if missing:
            for aggregate in await self._log.load(missing):
                self.cache.put(aggregate)
        return frozenset(missing)

    async def _own(self, owners: Mapping[IndexKey, str], loaded: frozenset[str]) -> None:
        """Note who owns the entries that the store was asked for.

        It was asked before the aggregates were read. One that has lost an entry meanwhile, to
        another worker's step, or has it in the store and not here yet, is forgotten: its events
        are no errors of whoever sent them, and find their owner anew.
        """
        doubted = [entry for entry, name in owners.items() if not self._leads(entry, name)]
        found = await self._log.engine.owners(doubted) if doubted else []
        still = dict(zip(doubted, found, strict=True))
        for entry, name in owners.items():
            if entry not in still or (still[entry] == name and name in loaded):
                self.cache.own(entry, name)
            else:
                self.cache.drop(name)

    def _leads(self, entry: IndexKey, name: str) -> bool:
        """Whether an index entry is among those of an aggregate here."""
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
        lookups = self._lookups.for_decision(aggregate, job.event, lambda: job.age(_milliseconds()))
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
        hosted = self.hosted_in(slot_of_aggregate(job.aggregate, job.event.slot or 0))
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
            append = EventLog.entry(aggregate, step, before, take_from)
            attempt.appends.append(append)
            attempt.ended.update(key for kind, key in append.drop if kind == "ngap")
            attempt.made.append((job, step))
        else:
            attempt.idle.append((job, step))

    async def _nothing(self, attempt: _Attempt, loaded: frozenset[str], result: Round) -> None:
        """Let go of what there was nothing to append for, once its state is known to be fresh.

        What is appended proves the state that it was decided on. Here that must be asked for: on
        what another worker has left since, there may be something to do.
        """
        proved = {job.aggregate for job, _ in result.appended} | loaded
        for job, step in attempt.idle:
            name = job.aggregate
            aggregate = self.cache.get(name)
            if aggregate is not None and name not in proved:
                if await self._log.engine.read(name, aggregate.seq, 1):
                    self.cache.drop(name)
                    aggregate = None
                else:
                    proved.add(name)
            if aggregate is None:
                result.again.append(job)
            elif step is not None:
                result.forward.append((job, step.procedure))
            else:
                await self._processed_before(job, result)

    async def _processed_before(self, job: Job, result: Round) -> None:
        """An event that changes nothing now may have been taken before, and its effects lost."""
        seq = await self._log.engine.taken(job.aggregate, job.event.id) if job.repeated else None
        if seq is None:
            result.nothing.append(job)
        else:
            result.duplicate.append((job, seq))

    async def _previous_owner(self, job: Job) -> str:
        """The aggregate of a UE unknown, whose connection this event brings along."""
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
            if isinstance(outcome, IndexTaken):
                self._lookups.addresses.conflict(outcome.entry)
            if isinstance(outcome, Duplicate):
                result.duplicate.append((job, outcome.seq))
            else:
                result.again.append(job)
