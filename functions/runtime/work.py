"""Decide batches of events: in order for each UE, with many UEs in one transaction.

A `Finisher` completes the events: over JetStream in a worker, in HTTP responses in a function.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec.structs import replace

from eventing import subjects
from eventing.jetstream.delivery import Delivery, stored_at
from eventing.jetstream.messages import Addressed, addressed
from eventing.jetstream.streams import BusConfig
from functions.decider import Forward
from functions.gmm.identification import HomeNetworkKey
from functions.runtime.job import Job, in_turn, parse
from functions.runtime.resendable import resendable
from functions.runtime.round import Decider, Round
from schemas.aggregates import gnb_aggregate, slot_of_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import partition_of, slot_of
from schemas.procedures import Procedure
from schemas.step import Step
from statestore.contract import StoreDamaged, StoreUnavailable
from statestore.log import EventLog

log = logging.getLogger(__name__)

BATCH: Final = 128
"""Maximum number of events in a batch, which shares one transaction."""
HOLD_POLL: Final = 0.05
"""Seconds between checks whether the message before a waiting one is processed."""
FAILURES: Final = 1024
"""Maximum number of remembered events with a failed decision."""
CONFLICTS: Final = 20
"""Maximum number of conflicts with other workers before a job is retried later."""


class Finisher(Protocol):
    """Completes events. Each event is completed once: by `ack`, `retry`, `refuse`, `steps` or
    `publish`."""

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """Send the outputs of steps. This completes their events."""
        ...

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        """Publish the replacements of events. This completes the replaced events."""
        ...

    async def wake(self, job: Job) -> None:
        """Wake all UEs that share a wake-up. This completes the event."""
        ...

    async def ack(self, delivery: Delivery) -> None:
        """Complete an event without outputs."""
        ...

    async def retry(self, job: Job, after: float) -> None:
        """Retry an event after some seconds; with 0, at once but apart from its batch."""
        ...

    async def keep(self, delivery: Delivery, reason: str) -> None:
        """Store an event as a dead letter. This does not complete it."""
        ...

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        """Complete a delivery that is not a valid event."""
        ...


class Work:
    """Decides deliveries.

    Events that wait for their turn are held until the next `run`; see `held`.
    """

    def __init__(
        self,
        decider: Decider,
        events: EventLog,
        finisher: Finisher,
        bus: BusConfig,
        home_network_keys: Mapping[int, HomeNetworkKey],
        stopping: Callable[[], bool],
        failed: Callable[[Delivery, str], None] | None = None,
        pulls: Callable[[str], bool] | None = None,
    ) -> None:
        self._decider = decider
        self._log = events
        self._finisher = finisher
        self._bus = bus
        self._keys = home_network_keys
        self._held: list[Job] = []
        self._active: dict[int, Job] = {}
        self._failures: dict[str, None] = {}
        """The last events with a failed decision in this process."""
        self.retries_forever = False
        """Whether failed events are retried instead of becoming dead letters: an earlier version
        may decide them."""
        self._stopping = stopping
        """Whether the worker is stopping."""
        self._on_failure = failed
        """Called for each event with a failed decision."""
        self._pulls = pulls
        """Whether this worker pulls from a consumer. If so, the worker decides the events of an
        identified UE of this consumer itself, without publishing them."""
        self._suspended_until = 0.0
        """The end of the last suspension of this process, in seconds since 1970; 0 for never."""

    def suspended(self, until: float) -> None:
        """Record that the process was suspended for longer than JetStream's acknowledgement
        timeout.

        Another worker may have processed all events that arrived before `until`, in seconds since
        1970.
        """
        self._suspended_until = until
        for job in self._active.values():
            job.repeated = True

    @property
    def held(self) -> list[Job]:
        """The jobs that wait for their turn."""
        return self._held

    @property
    def active(self) -> list[Job]:
        """The jobs in progress, and those that wait for their turn."""
        return [*self._active.values()]

    async def run(self, deliveries: Sequence[Delivery]) -> None:
        """Decide deliveries and the held jobs."""
        jobs, self._held = self._held, []
        for job in jobs:
            # Another worker may append the event that the job waits for.
            self._decider.cache.drop(job.aggregate)
        identify: list[Job] = []
        wakes: list[Job] = []
        for delivery in deliveries:
            job = await self._parse(delivery)
            if job is None:
                continue
            if job.event.type == EventType.TIMERS_DUE:
                wakes.append(job)
            elif job.event.procedure == Procedure.IDENTIFICATION:
                identify.append(job)
            else:
                jobs.append(job)
        self._active = {id(job): job for job in (*jobs, *identify, *wakes)}
        for job in wakes:
            await self._finisher.wake(job)
        if identify:
            jobs += await self._identify(identify)
        await self._decide(in_turn(jobs))
        self._active = {id(job): job for job in self._held}

    async def _parse(self, delivery: Delivery) -> Job | None:
        try:
            job = Job(delivery, parse(delivery), time.monotonic())
        except ValueError as err:
            await self._finisher.refuse(delivery, str(err))
            return None
        if self._suspended_until:
            stored = stored_at(delivery.reply)
            job.repeated |= stored is not None and stored < self._suspended_until
        return job

    async def _identify(self, jobs: Sequence[Job]) -> list[Job]:
        """Forward the events of identified UEs. Return those that this worker processes itself."""
        done: list[tuple[Job, Addressed]] = []
        ours: list[Job] = []
        for job in jobs:
            hosted = self._decider.hosted_in("", job.event)
            try:
                event = hosted.identify(job.event, self._keys)
            except Exception as err:
                # Retry this event alone. The other events do not wait for it.
                await self._failed(job, err)
                continue
            if isinstance(event, Forward):
                done.append((job, self._replacement(job, job.event)))
            elif self._is_ours(event):
                job.event = event
                ours.append(job)
            else:
                done.append((job, self._replacement(job, event)))
        await self._finisher.publish(done)
        return ours

    def _is_ours(self, event: CloudEvent) -> bool:
        if self._pulls is None or event.slot is None or event.procedure is None:
            return False
        partition = partition_of(event.slot, self._bus.partitions)
        return self._pulls(subjects.consumer(partition, event.procedure))

    async def _decide(self, jobs: list[Job]) -> None:
        now = time.monotonic()
        patient = [job for job in jobs if not job.deadline or job.deadline > now]
        expired = [job for job in jobs if job.deadline and job.deadline <= now]
        await self._rounds(expired, patient=False)
        await self._rounds(patient, patient=True)

    async def _rounds(self, todo: list[Job], *, patient: bool) -> None:
        """Decide until all jobs are decided. Jobs with a conflict are decided again in the new
        state."""
        pause, conflicts = 0.05, 0
        while todo:
            try:
                result = await self._decider.run(todo, patient=patient)
            except StoreUnavailable as err:
                log.warning("the store is not available: %s", err)
                if self._stopping():
                    await self._give_back(todo, 0)
                    return
                for job in todo:
                    # The step may have been appended.
                    job.repeated = True
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)
                continue
            except Exception as err:
                if len(todo) == 1:
                    await self._failed(todo[0], err)
                    return
                # One event cannot be loaded or stored. The others may be stored already.
                for job in todo:
                    job.repeated = True
                    await self._rounds([job], patient=patient)
                return
            await self._finish(result)
            todo, conflicts = result.conflicts, conflicts + 1
            if conflicts >= CONFLICTS:
                await self._give_back(todo, 0.1)
                return

    async def _give_back(self, jobs: Sequence[Job], after: float) -> None:
        for job in jobs:
            await self._finisher.retry(job, after)

    async def _finish(self, result: Round) -> None:
        await self._finisher.steps(result.appended)
        for job, seq in result.duplicate:
            try:
                await self._processed_before(job, seq)
            except StoreUnavailable:
                await self._finisher.retry(job, 1.0)
            except Exception as err:
                await self._failed(job, err)
        await self._finisher.publish([self._forwarded(job, to) for job, to in result.forward])
        await self._finisher.publish(
            [
                (job, self._replacement(job, replace(job.event, slot=slot)))
                for job, slot in result.moved
            ]
        )
        for job in result.without_step:
            await self._finisher.ack(job.delivery)
        hold = self._bus.ack_wait + 1.0
        for job in result.out_of_turn:
            job.deadline = job.deadline or time.monotonic() + hold
            self._held.append(job)
        for job, err in result.failed:
            await self._failed(job, err)

    async def _processed_before(self, job: Job, seq: int) -> None:
        """Send the outputs of a stored step again: its worker may have died before it sent them.

        Outputs that are not resendable in the current state are omitted. The timers of NAS and N4
        repeat lost messages.
        """
        step = await self._log.step(job.aggregate, seq)
        if step is None:
            raise StoreDamaged(f"{job.aggregate} has no step {seq}")
        (aggregate,) = await self._log.load([job.aggregate])
        if aggregate.seq != seq:
            step = resendable(step, aggregate.state)
        await self._finisher.steps([(job, step)])

    def _forwarded(self, job: Job, procedure: Procedure) -> tuple[Job, Addressed]:
        event = replace(job.event, procedure=procedure)
        if procedure == Procedure.RAN:
            # The message of a UE may be an error of the RAN node, which has its own partition.
            gnb = job.aggregate.removeprefix(gnb_aggregate(""))
            event = replace(event, partitionkey=f"gnb-{gnb}", slot=slot_of(gnb))
        elif procedure == Procedure.UPF:
            # The message of a session may be for the UPF.
            slot = slot_of_aggregate(job.aggregate, 0)
            event = replace(event, partitionkey=job.aggregate, slot=slot)
        else:
            # The slot of the aggregate determines the assigned variant.
            slot = slot_of_aggregate(job.aggregate, event.slot or 0)
            event = replace(event, slot=slot)
        return job, self._replacement(job, event)

    def _replacement(self, job: Job, event: CloudEvent) -> Addressed:
        """Return the message that replaces a job's event.

        If the key of the event led to an aggregate, the message counts as repeated. If the
        destination does not know the key, the connection was released meanwhile, and the RAN node
        made no error.
        """
        repeated = job.repeated or bool(job.aggregate)
        return addressed(event, self._bus.partitions, repeated=repeated)

    # Failures

    async def _failed(self, job: Job, err: Exception) -> None:
        """Retry a failed decision, here or in another worker.

        After the last attempt, store the event as a dead letter and reject the UE's request.
        """
        log.error("%s: %s", job.event.id, err, exc_info=err)
        if self._on_failure is not None:
            self._on_failure(job.delivery, job.event.procedure or "")
        deliveries = job.delivery.deliveries
        # The delivery count also includes deliveries without a failed decision.
        failed_here = job.event.id in self._failures
        if deliveries < self._bus.max_deliveries or not failed_here or self.retries_forever:
            self._failures[job.event.id] = None
            if len(self._failures) > FAILURES:
                del self._failures[next(iter(self._failures))]
            await self._finisher.retry(job, 0.1 * 2 ** min(deliveries, 5))
            return
        result = Round()
        if job.aggregate.startswith("ue/"):
            try:
                result = await self._decider.run([job], patient=False, poisoned=True)
            except StoreUnavailable:
                await self._finisher.retry(job, 1.0)
                return
            except Exception:
                log.exception("%s: the UE's request cannot be rejected", job.event.id)
        if result.conflicts:
            await self._finisher.retry(job, 0)
            return
        await self._finisher.keep(job.delivery, f"{type(err).__name__}: {err}")
        if result.appended:
            await self._finisher.steps(result.appended)
            return
        try:
            for _, seq in result.duplicate:  # appended by a worker that died before this point
                await self._processed_before(job, seq)
                return
        except StoreUnavailable:
            await self._finisher.retry(job, 1.0)
            return
        except Exception:
            log.exception("%s: its outputs cannot be sent again", job.event.id)
        await self._finisher.ack(job.delivery)
