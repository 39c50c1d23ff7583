"""Decide batches of events: in order for each UE, with many UEs in one transaction.

A `Finisher` completes the events: over JetStream in a worker, in HTTP responses in a function.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec.structs import replace

from eventing import subjects
from eventing.jetstream.delivery import Delivery, stored_at
from eventing.jetstream.earlier import Waiting
from eventing.jetstream.messages import Addressed, addressed
from eventing.jetstream.streams import BusConfig
from functions.decider import Forward
from functions.gmm.identification import HomeNetworkKey
from functions.runtime.job import Job, parse
from functions.runtime.round import Decider, Round
from functions.runtime.turn import in_order
from functions.runtime.unsent import of_copy
from functions.runtime.wakes import postponed
from schemas.aggregates import gnb_aggregate, slot_of_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import partition_of, slot_of
from schemas.procedures import Procedure
from schemas.step import Step
from statestore.contract import StoreUnavailable
from statestore.log import EventLog

log = logging.getLogger(__name__)

BATCH: Final = 128
"""Maximum number of events in a batch, which shares one transaction."""
FIRST_LOOK: Final = 0.01
LAST_LOOK: Final = 0.25
"""Seconds between two looks for the events before an early one: the first pause, and the
longest."""
SPARSE: Final = 8.0
"""Times the duration of a look, the longest pause if that is more: looks for a thousand early
events must not take the time of the one that is next."""
LONGEST_REST: Final = 0.5
REST: Final = 4.0
"""With a backlog, times the duration of a look until the next one, but at most `LONGEST_REST`
seconds. Many events are early then, because those before them wait in other consumers; they get
their turn when those are decided. So looks must not take the time for decisions."""
LOOKS: Final = 0.05
"""Seconds after which `Work.run` begins no more looks, and returns to take new deliveries."""
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

    async def send_unsent(self, unsent: Sequence[tuple[str, Step[Any]]]) -> None:
        """Send the NGAP messages and PAGING of steps, each with its aggregate, that another worker
        may not have sent."""
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

    Events that wait for their turn are held until they have it; see `held`.
    """

    def __init__(
        self,
        decider: Decider,
        events: EventLog,
        finisher: Finisher,
        bus: BusConfig,
        home_network_keys: Mapping[int, HomeNetworkKey],
        stopping: Callable[[], bool],
        none_earlier: Callable[[Sequence[Waiting]], Awaitable[list[bool]]],
        failed: Callable[[Delivery, str], None] | None = None,
        pulls: Callable[[str], bool] | None = None,
    ) -> None:
        self._decider = decider
        self._log = events
        self._finisher = finisher
        self._bus = bus
        self._keys = home_network_keys
        self._none_earlier = none_earlier
        """`EarlierEvents.none_earlier`."""
        self._held: list[Job] = []
        self._look_from = 0.0
        """When the next look may begin, in seconds of the monotonic clock."""
        self._active: dict[int, Job] = {}
        self._failures: dict[str, None] = {}
        """The last events with a failed decision in this process."""
        self.retries_forever = False
        """Whether failed events are retried instead of becoming dead letters: an earlier version
        may decide them."""
        self.quiet = math.inf
        """Seconds since JetStream was last known to be away."""
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
    def pause(self) -> float | None:
        """Seconds until the next look for the events before an early one; None if none waits."""
        if not self._held:
            return None
        if self._without_early():
            return 0.0
        first = min(job.look_at for job in self._held if job.waiting is not None)
        return max(0.0, self._look_from - time.monotonic(), first - time.monotonic())

    @property
    def active(self) -> list[Job]:
        """The jobs in progress, and those that wait for their turn."""
        return [*self._active.values()]

    async def run(self, deliveries: Sequence[Delivery], *, backlog: bool = False) -> None:
        """Decide deliveries and the held jobs that may go; `backlog` if more deliveries wait
        already."""
        jobs: list[Job] = []
        identify: list[Job] = []
        wakes: list[Job] = []
        now = time.time_ns() // 1_000_000
        for delivery in deliveries:
            job = await self._parse(delivery)
            if job is None:
                continue
            wait = 0.0 if job.repeated else postponed(job.event, now, self.quiet)
            if wait:
                await self._finisher.retry(job, wait)
            elif job.event.type in (EventType.TIMERS_DUE, EventType.FAN_OUT):
                wakes.append(job)
            elif job.event.procedure == Procedure.IDENTIFICATION:
                identify.append(job)
            else:
                jobs.append(job)
        self._active = {id(job): job for job in (*self._held, *jobs, *identify, *wakes)}
        for job in wakes:
            await self._finisher.wake(job)
        self._finished(wakes)
        if identify:
            jobs += await self._identify(identify)
        # A new event may stand before one that is held, and it is not known yet of which UE it is.
        again = {job.aggregate for job in self._held} if jobs else self._without_early()
        await self._rounds(in_order([*jobs, *self._take_held(again)]))
        until = time.monotonic() + LOOKS
        # The early events of one UE get their turn one after the other. New deliveries do not wait
        # for all of them.
        while time.monotonic() < until and (again := await self._look(backlog=backlog)):
            await self._rounds(in_order(self._take_held(again)))
        self._active = {id(job): job for job in self._held}

    async def give_back_after(self, seconds: float) -> None:
        """Give back the events that have waited for their turn for longer than `seconds`."""
        now = time.monotonic()
        given = [job for job in self._held if now - job.begun >= seconds]
        self._held = [job for job in self._held if now - job.begun < seconds]
        await self._give_back(given, 0.1)

    def _without_early(self) -> set[str]:
        """Return the aggregates of held jobs that wait for no event: the early event of each has
        left."""
        early = {job.aggregate for job in self._held if job.waiting is not None}
        return {job.aggregate for job in self._held} - early

    def _take_held(self, aggregates: Container[str]) -> list[Job]:
        """Remove and return the held jobs of some aggregates."""
        found = [job for job in self._held if job.aggregate in aggregates]
        self._held = [job for job in self._held if job.aggregate not in aggregates]
        return found

    async def _look(self, *, backlog: bool) -> set[str]:
        """Ask the stream for the events before the early ones. Return the aggregates of those that
        are judged again: those that have their turn, and some that may not be early any more."""
        now = time.monotonic()
        if now < self._look_from:
            return set()
        early = [job for job in self._held if job.waiting is not None and job.look_at <= now]
        if not early:
            return set()
        # Read before the stream: an event leaves its batch once it is stored in another message.
        is_next = [job.delivery.is_next for job in early]
        waiting = [job.waiting for job in early if job.waiting is not None]
        none_earlier = await self._none_earlier(waiting)
        done = time.monotonic()
        longest = max(LAST_LOOK, SPARSE * (done - now))
        if backlog:
            self._look_from = done + min(REST * (done - now), LONGEST_REST)
        for index, job in enumerate(early):
            job.has_turn = none_earlier[index] and is_next[index]
            job.look_at = now + min(FIRST_LOOK * 2 ** min(job.looks, 8), longest)
            job.looks += 1
        again = {job.aggregate for job in early if job.has_turn or _is_judged_again(job)}
        # Another worker may have appended the events that the job waited for.
        await self._decider.drop_outdated(again)
        await self._leave_batches([job for job in early if not job.has_turn])
        return again

    async def _leave_batches(self, early: Sequence[Job]) -> None:
        """Publish events that go on waiting apart from their batches: the stream has a batch until
        all its events are processed, so events of other UEs would wait for it too.

        An event leaves after those before it in its batch, as the check of earlier events demands.
        """
        leaving = [
            job
            for job in early
            if job.delivery.progress is not None and job.delivery.is_next and job.looks > 1
        ]
        if leaving:
            ids = set(map(id, leaving))
            self._held = [job for job in self._held if id(job) not in ids]
            await self._give_back(leaving, 0)

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
        self._finished(job for job, _ in done)
        return ours

    def _is_ours(self, event: CloudEvent) -> bool:
        if self._pulls is None or event.slot is None or event.procedure is None:
            return False
        partition = partition_of(event.slot, self._bus.partitions)
        return self._pulls(subjects.consumer(partition, event.procedure))

    async def _rounds(self, todo: list[Job]) -> None:
        """Decide until all jobs are decided. Jobs with a conflict are decided again in the new
        state."""
        pause, conflicts = 0.05, 0
        while todo:
            try:
                result = await self._decider.run(todo)
            except StoreUnavailable as err:
                self._stalled(str(err))
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
                    if any(held.aggregate == job.aggregate for held in self._held):
                        self._held.append(job)  # behind an early event of its aggregate
                    else:
                        await self._rounds([job])
                return
            self._stalled("")
            await self._finish(result)
            left = set(map(id, (*result.conflicts, *result.early)))
            self._finished(job for job in todo if id(job) not in left)
            todo, conflicts = result.conflicts, conflicts + 1
            if conflicts >= CONFLICTS:
                await self._give_back(todo, 0.1)
                return

    def _stalled(self, why: str) -> None:
        """Note why the store takes no steps, or with "" that it takes them, and log each change."""
        load = self._decider.overload.load
        if why == load.stalled:
            return
        if why:
            log.warning("the store is not available: %s", why)
        else:
            log.warning("the store is available again")
        load.stalled = why

    async def _give_back(self, jobs: Sequence[Job], after: float) -> None:
        for job in jobs:
            await self._finisher.retry(job, after)
        self._finished(jobs)

    def _finished(self, jobs: Iterable[Job]) -> None:
        """Leave jobs to the finisher. To report one as in progress after its acknowledgement, which
        a broker that died has lost, would put its redelivery off."""
        for job in jobs:
            self._active.pop(id(job), None)

    async def _finish(self, result: Round) -> None:
        await self._finisher.send_unsent(result.unsent)
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
        self._held += result.early
        for job, err in result.failed:
            await self._failed(job, err)

    async def _processed_before(self, job: Job, seq: int) -> None:
        """Send what is still due of a stored step: its worker may have died before it sent it."""
        now = time.time_ns() // 1_000_000
        before, step = await of_copy(self._log, job.aggregate, seq, now)
        await self._finisher.send_unsent([(job.aggregate, one) for one in before])
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
                job.has_turn = True
                result = await self._decider.run([job], poisoned=True)
            except StoreUnavailable:
                await self._finisher.retry(job, 1.0)
                return
            except Exception:
                log.exception("%s: the UE's request cannot be rejected", job.event.id)
        if result.conflicts or result.early:
            await self._finisher.retry(job, 0)
            return
        await self._finisher.keep(job.delivery, f"{type(err).__name__}: {err}")
        await self._finisher.send_unsent(result.unsent)
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


def _is_judged_again(job: Job) -> bool:
    """Whether a job that waits is judged again without its turn, after 1, 2, 4, ... looks.

    Its state may be old: another worker may have processed the event that is missing there. And
    what stands before it may be of another UE with the same slot.
    """
    return job.looks & (job.looks - 1) == 0
