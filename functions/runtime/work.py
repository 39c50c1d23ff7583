"""Batches of events to steps, in order for each UE, many UEs in one transaction.

Where the events come from and where the outcome goes is a `Desk`: JetStream for a worker that
pulls, HTTP requests and their responses for a function that is called.
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
"""Events taken at a time: what shares one transaction."""
HOLD_POLL: Final = 0.05
"""Seconds between looks at whether the message before one that waits has been taken."""
FAILURES: Final = 1024
"""Events whose decision raised that are remembered."""
CONFLICTS: Final = 20
"""Rounds that a job may lose to other workers before it is to come again."""


class Desk(Protocol):
    """Takes what becomes of events. Each event is done with once: by `ack`, `again`, `refuse`, or
    with what `steps` and `publish` were given."""

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """Send what steps put out; the events that they are of are done with then."""
        ...

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        """Publish events in the place of others, which are done with then."""
        ...

    async def wake(self, job: Job) -> None:
        """Wake all that share the wake-up that has come; it is done with then."""
        ...

    async def ack(self, delivery: Delivery) -> None:
        """There is nothing to send for an event."""
        ...

    async def again(self, job: Job, after: float) -> None:
        """An event cannot be decided now: it is to come again after some seconds, or at once where
        it has to leave the others that it came with first."""
        ...

    async def keep(self, delivery: Delivery, reason: str) -> None:
        """Keep an event as a dead letter. It is not done with by this."""
        ...

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        """What came is no event of evcore, and never will be."""
        ...


class Work:
    """Decides about deliveries.

    What waits for its turn is held until the next `run`; whether something is, `held` says.
    """

    def __init__(
        self,
        decider: Decider,
        events: EventLog,
        desk: Desk,
        bus: BusConfig,
        home_network_keys: Mapping[int, HomeNetworkKey],
        stopping: Callable[[], bool],
        failed: Callable[[Delivery, str], None] | None = None,
        pulls: Callable[[str], bool] | None = None,
    ) -> None:
        self._decider = decider
        self._log = events
        self._desk = desk
        self._bus = bus
        self._keys = home_network_keys
        self._held: list[Job] = []
        self._active: dict[int, Job] = {}
        self._failures: dict[str, None] = {}
        """The last events whose decision raised here."""
        self.spares = False
        """Whether an event whose decision raises never becomes a dead letter here: there is a
        version that decided it before, and it comes again until that has it."""
        self._stopping = stopping
        """Whether nothing is to be waited for any more."""
        self._raised = failed
        """Told of each event whose decision raised."""
        self._pulls = pulls
        """Whether the events of a consumer come here: an identified UE's need not go by it then."""
        self._doubted_until = 0.0
        """When this process stood still last, in seconds since 1970; 0 for never."""

    def stood_still(self, until: float) -> None:
        """The process did nothing for longer than JetStream waits for an answer, until a time in
        seconds since 1970: another worker may have had what had reached this one by then."""
        self._doubted_until = until
        for job in self._active.values():
            job.repeated = True

    @property
    def held(self) -> list[Job]:
        """What waits for its turn."""
        return self._held

    @property
    def active(self) -> list[Job]:
        """What is worked on, and what waits for its turn."""
        return [*self._active.values()]

    async def run(self, deliveries: Sequence[Delivery]) -> None:
        """Decide about deliveries, and about what was held."""
        jobs, self._held = self._held, []
        for job in jobs:
            self._decider.cache.drop(job.aggregate)  # what it waits for is another's to append
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
            await self._desk.wake(job)
        if identify:
            jobs += await self._identify(identify)
        await self._decide(in_turn(jobs))
        self._active = {id(job): job for job in self._held}

    async def _parse(self, delivery: Delivery) -> Job | None:
        try:
            job = Job(delivery, parse(delivery), time.monotonic())
        except ValueError as err:
            await self._desk.refuse(delivery, str(err))
            return None
        if self._doubted_until:
            stored = stored_at(delivery.reply)
            job.repeated |= stored is not None and stored < self._doubted_until
        return job

    async def _identify(self, jobs: Sequence[Job]) -> list[Job]:
        """Give events on that name their UE now; those that would come back here are returned."""
        done: list[tuple[Job, Addressed]] = []
        here: list[Job] = []
        for job in jobs:
            hosted = self._decider.hosted_in(job.event.slot or 0)
            try:
                event = hosted.identify(job.event, self._keys)
            except Exception as err:
                # It comes again by itself, and the others do not wait for that.
                await self._failed(job, err)
                continue
            if isinstance(event, Forward):
                done.append((job, self._onward(job, job.event)))
            elif self._is_here(event):
                job.event = event
                here.append(job)
            else:
                done.append((job, self._onward(job, event)))
        await self._desk.publish(done)
        return here

    def _is_here(self, event: CloudEvent) -> bool:
        if self._pulls is None or event.slot is None or event.procedure is None:
            return False
        partition = partition_of(event.slot, self._bus.partitions)
        return self._pulls(subjects.consumer(partition, event.procedure))

    async def _decide(self, jobs: list[Job]) -> None:
        now = time.monotonic()
        patient = [job for job in jobs if not job.deadline or job.deadline > now]
        spent = [job for job in jobs if job.deadline and job.deadline <= now]
        await self._rounds(spent, patient=False)
        await self._rounds(patient, patient=True)

    async def _rounds(self, todo: list[Job], *, patient: bool) -> None:
        """Decide until all are decided, on what other workers leave where they are first."""
        pause, lost = 0.05, 0
        while todo:
            try:
                result = await self._decider.run(todo, patient=patient)
            except StoreUnavailable as err:
                log.warning("the store is not available: %s", err)
                if self._stopping():
                    await self._give_back(todo, 0)
                    return
                for job in todo:
                    job.repeated = True  # for whether it was appended is not known
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)
                continue
            except Exception as err:
                if len(todo) == 1:
                    await self._failed(todo[0], err)
                    return
                # One cannot even be read or stored; the others can, or have been.
                for job in todo:
                    job.repeated = True
                    await self._rounds([job], patient=patient)
                return
            await self._finish(result)
            todo, lost = result.again, lost + 1
            if lost >= CONFLICTS:
                await self._give_back(todo, 0.1)
                return

    async def _give_back(self, jobs: Sequence[Job], after: float) -> None:
        for job in jobs:
            await self._desk.again(job, after)

    async def _finish(self, result: Round) -> None:
        await self._desk.steps(result.appended)
        for job, seq in result.duplicate:
            try:
                await self._processed_before(job, seq)
            except StoreUnavailable:
                await self._desk.again(job, 1.0)
            except Exception as err:
                await self._failed(job, err)
        await self._desk.publish([self._forwarded(job, to) for job, to in result.forward])
        await self._desk.publish(
            [(job, self._onward(job, replace(job.event, slot=slot))) for job, slot in result.moved]
        )
        for job in result.nothing:
            await self._desk.ack(job.delivery)
        hold = self._bus.ack_wait + 1.0
        for job in result.out_of_turn:
            job.deadline = job.deadline or time.monotonic() + hold
            self._held.append(job)
        for job, err in result.failed:
            await self._failed(job, err)

    async def _processed_before(self, job: Job, seq: int) -> None:
        """Send what the step of an event put out once more: its worker may not have got to it.

        What does not stand any more, now that the aggregate has moved on, is left out; where it
        should not be, the timers of NAS and N4 repeat what is missing.
        """
        step = await self._log.step(job.aggregate, seq)
        if step is None:
            raise StoreDamaged(f"{job.aggregate} has no step {seq}")
        (aggregate,) = await self._log.load([job.aggregate])
        if aggregate.seq != seq:
            step = resendable(step, aggregate.state)
        await self._desk.steps([(job, step)])

    def _forwarded(self, job: Job, procedure: Procedure) -> tuple[Job, Addressed]:
        event = replace(job.event, procedure=procedure)
        if procedure == Procedure.RAN:
            # A UE's message may turn out to be the RAN node's error, in its own partition.
            gnb = job.aggregate.removeprefix(gnb_aggregate(""))
            event = replace(event, partitionkey=f"gnb-{gnb}", slot=slot_of(gnb))
        elif procedure == Procedure.UPF:
            # So may that of a session be the UPF's.
            slot = slot_of_aggregate(job.aggregate, 0)
            event = replace(event, partitionkey=job.aggregate, slot=slot)
        else:
            # Which version is to decide goes by the aggregate.
            slot = slot_of_aggregate(job.aggregate, event.slot or 0)
            event = replace(event, slot=slot)
        return job, self._onward(job, event)

    def _onward(self, job: Job, event: CloudEvent) -> Addressed:
        """The message that takes the place of a job's.

        Its key led to an aggregate. If it leads to none where it goes, the connection is gone
        since, and the event is no error of the RAN node: the same as with one that comes again.
        """
        repeated = job.repeated or bool(job.aggregate)
        return addressed(event, self._bus.partitions, repeated=repeated)

    # What goes wrong

    async def _failed(self, job: Job, err: Exception) -> None:
        """A decision raised. Once more may help, another worker may; then the UE gets a cause."""
        log.error("%s: %s", job.event.id, err, exc_info=err)
        if self._raised is not None:
            self._raised(job.delivery, job.event.procedure or "")
        deliveries = job.delivery.deliveries
        # It may have been delivered often for other reasons, and nobody has tried it twice.
        tried = job.event.id in self._failures
        if deliveries < self._bus.max_deliveries or not tried or self.spares:
            self._failures[job.event.id] = None
            if len(self._failures) > FAILURES:
                del self._failures[next(iter(self._failures))]
            await self._desk.again(job, 0.1 * 2 ** min(deliveries, 5))
            return
        result = Round()
        if job.aggregate.startswith("ue/"):
            try:
                result = await self._decider.run([job], patient=False, poisoned=True)
            except StoreUnavailable:
                await self._desk.again(job, 1.0)
                return
            except Exception:
                log.exception("%s: the UE cannot be given a cause", job.event.id)
        if result.again:
            await self._desk.again(job, 0)
            return
        await self._desk.keep(job.delivery, f"{type(err).__name__}: {err}")
        if result.appended:
            await self._desk.steps(result.appended)
            return
        try:
            for _, seq in result.duplicate:  # by a worker that died before it got here
                await self._processed_before(job, seq)
                return
        except StoreUnavailable:
            await self._desk.again(job, 1.0)
            return
        except Exception:
            log.exception("%s: what was appended for it cannot be sent again", job.event.id)
        await self._desk.ack(job.delivery)
