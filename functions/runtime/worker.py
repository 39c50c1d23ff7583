"""The worker: batches of events to steps, in order for each UE, many UEs in one transaction.

An event is acknowledged after its effects, and its effects leave after its append. A worker
may die at any point: the event is delivered again, and either nothing was appended, or the
step is found by its trigger and its outputs are sent again.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client

from eventing import binding, subjects
from eventing.intake import Delivery, Intake
from eventing.leases import Lease, Membership
from eventing.publisher import Outgoing, Publisher
from eventing.streams import BusConfig, ensure
from functions import identification
from functions.dispatch import Procedures
from functions.identification import HomeNetworkKey
from functions.runtime.effects import Effects
from functions.runtime.finisher import Finisher
from functions.runtime.job import Job, in_turn, parse
from functions.runtime.round import Decider, Round, fresh
from functions.runtime.standing import stands
from functions.runtime.subscriptions import Subscriptions
from schemas.aggregates import gnb_aggregate, slot_of_aggregate
from schemas.cloudevents import CloudEvent
from schemas.identity import slot_of
from schemas.network import Network
from schemas.procedures import Procedure
from statestore.contract import StoreDamaged, StoreUnavailable
from statestore.log import EventLog
from statestore.subscribers import SubscriberStore

log = logging.getLogger(__name__)

BATCH: Final = 128
"""Events taken at a time: what shares one transaction."""
HOLD_POLL: Final = 0.05
"""Seconds between looks at whether the message before one that waits has been taken."""
FAILURES: Final = 1024
"""Events whose decision raised that are remembered."""
DRAIN: Final = 3.0
"""Seconds that a worker that is asked to stop gives what it has begun."""
CONFLICTS: Final = 20
"""Rounds that a job may lose to other workers before JetStream is asked to bring it again."""


class WorkerConfig(Struct, frozen=True):
    """What a worker is."""

    procedures: tuple[Procedure, ...]
    bus: BusConfig
    network: Network
    home_network_keys: Mapping[int, HomeNetworkKey]
    version: str


class Worker:
    """Hosts procedures on one connection to NATS and one to the store."""

    def __init__(
        self,
        config: WorkerConfig,
        client: Client,
        events: EventLog,
        subscribers: SubscriberStore,
        draw: Callable[[CloudEvent], tuple[int, bytes]] = fresh,
    ) -> None:
        self._config = config
        self._client = client
        self._log = events
        self._draw = draw
        self._subscriptions = Subscriptions(subscribers)
        self._intake = Intake(client)
        self._publisher = Publisher(client, config.bus.partitions)
        effects = Effects(client, self._publisher, events.engine, config.bus.partitions)
        self._finisher = Finisher(self._intake, self._publisher, effects)
        lease = Lease(
            f"{os.getpid()}-{os.urandom(4).hex()}",
            tuple(config.procedures),
            config.version,
            os.getpid(),
        )
        self._membership = Membership(client, lease, self._members_changed)
        self._members = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures: dict[str, None] = {}
        """The last events whose decision raised here."""
        self._held: list[Job] = []
        self._active: dict[int, Job] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.first_message_at = 0.0
        """When the first event was taken, on the monotonic clock; 0 before."""

    # Life

    async def run(self) -> None:
        """Work until `stop`."""
        await self._start()
        try:
            while not self._stopping.is_set():
                patience = HOLD_POLL if self._held else 1.0
                deliveries = await self._intake.take(BATCH, patience)
                if deliveries and not self.first_message_at:
                    self.first_message_at = time.monotonic()
                await self._work(deliveries)
        finally:
            await self._end()

    def stop(self) -> None:
        """Finish what is begun, give the rest back, and return from `run`."""
        self._stopping.set()
        self._intake.wake()

    async def _start(self) -> None:
        version = await self._log.publish_network(self._config.network)
        procedures = Procedures(self._config.procedures)
        self._decider = Decider(
            self._log,
            procedures,
            self._subscriptions,
            self._config.network,
            version,
            self._draw,
            self._config.bus.partitions,
        )
        await ensure(self._client, self._config.bus, self._config.procedures)
        await self._publisher.start()
        await self._intake.start()
        await self._membership.join()
        await self._pull()
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._follow_members()),
            loop.create_task(self._keep_in_progress()),
        ]

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._intake.stop()
        await self._membership.leave()
        left = [job.delivery for job in self._held]
        while self._intake.waiting:
            left.extend(await self._intake.take(BATCH))
        for delivery in left:
            await self._intake.again(delivery, 0)
        await self._finisher.drain(DRAIN)
        with contextlib.suppress(Exception):
            await self._client.flush(timeout=1)

    # Which partitions

    def _members_changed(self) -> None:
        self._members.set()

    async def _follow_members(self) -> None:
        """Pull from what is this worker's, as workers come and go, and after reconnections."""
        connects = self._client.stats["reconnects"]
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._members.wait(), 1.0)
            self._members.clear()
            try:
                await self._pull()
                reconnected = self._client.stats["reconnects"] != connects
                connects = self._client.stats["reconnects"]
                await self._intake.refresh(forget=reconnected)
            except Exception as err:
                log.warning("the partitions could not be followed: %s", err)

    async def _pull(self) -> None:
        owned = self._membership.owned(self._config.bus.partitions)
        await self._intake.consume(
            subjects.consumer(partition, procedure) for procedure, partition in owned
        )

    async def _keep_in_progress(self) -> None:
        """Tell JetStream of events whose work takes longer than it would wait."""
        period = self._config.bus.ack_wait / 3
        while True:
            await asyncio.sleep(period)
            now = time.monotonic()
            for job in [*self._active.values(), *self._finisher.under_way]:
                if now - job.touched >= period:
                    job.touched = now
                    with contextlib.suppress(Exception):
                        await self._intake.in_progress(job.delivery)
            with contextlib.suppress(Exception):
                await self._intake.keep()

    # Work

    async def _work(self, deliveries: Sequence[Delivery]) -> None:
        jobs, self._held = self._held, []
        for job in jobs:
            self._decider.cache.drop(job.aggregate)  # what it waits for is another's to append
        identify: list[Job] = []
        for delivery in deliveries:
            job = await self._parse(delivery)
            if job is None:
                continue
            if job.event.procedure == Procedure.IDENTIFICATION:
                identify.append(job)
            else:
                jobs.append(job)
        self._active = {id(job): job for job in (*jobs, *identify)}
        if identify:
            await self._identify(identify)
        await self._decide(in_turn(jobs))
        self._active = {id(job): job for job in self._held}

    async def _parse(self, delivery: Delivery) -> Job | None:
        try:
            return Job(delivery, parse(delivery), time.monotonic())
        except ValueError as err:
            await self._bury(delivery, str(err))
            return None

    async def _identify(self, jobs: Sequence[Job]) -> None:
        keys = self._config.home_network_keys
        done: list[tuple[Job, Outgoing]] = []
        for job in jobs:
            try:
                event = identification.decide(job.event, keys)
            except Exception as err:
                await self._failed(job, err)
                continue
            done.append((job, self._onward(job, event)))
        await self._finisher.publish(done)

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
                if self._stopping.is_set():
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
            await self._intake.again(job.delivery, after)

    async def _finish(self, result: Round) -> None:
        await self._finisher.steps(result.appended)
        for job, seq in result.duplicate:
            try:
                await self._taken_before(job, seq)
            except StoreUnavailable:
                await self._intake.again(job.delivery, 1.0)
            except Exception as err:
                await self._failed(job, err)
        await self._finisher.publish([self._forwarded(job, to) for job, to in result.forward])
        await self._finisher.publish(
            [(job, self._onward(job, replace(job.event, slot=slot))) for job, slot in result.moved]
        )
        for job in result.nothing:
            await self._intake.ack(job.delivery)
        hold = self._config.bus.ack_wait + 1.0
        for job in result.out_of_turn:
            job.deadline = job.deadline or time.monotonic() + hold
            self._held.append(job)
        for job, err in result.failed:
            await self._failed(job, err)

    async def _taken_before(self, job: Job, seq: int) -> None:
        """Send what the step of an event put out once more: its worker may not have got to it.

        What does not stand any more, now that the aggregate has moved on, is left out; where it
        should not be, the timers of NAS and N4 repeat what is missing.
        """
        step = await self._log.step(job.aggregate, seq)
        if step is None:
            raise StoreDamaged(f"{job.aggregate} has no step {seq}")
        (aggregate,) = await self._log.load([job.aggregate])
        if aggregate.seq != seq:
            kept = tuple(o for o in step.outputs if stands(o, aggregate.state))
            step = replace(step, outputs=kept)
        await self._finisher.steps([(job, step)])

    def _forwarded(self, job: Job, procedure: Procedure) -> tuple[Job, Outgoing]:
        event = replace(job.event, procedure=procedure)
        if procedure == Procedure.RAN:
            # A UE's message may turn out to be the RAN node's error, in its own partition.
            gnb = job.aggregate.removeprefix(gnb_aggregate(""))
            event = replace(event, partitionkey=f"gnb-{gnb}", slot=slot_of(gnb))
        elif procedure == Procedure.UPF:
            # So may that of a session be the UPF's.
            slot = slot_of_aggregate(job.aggregate, 0)
            event = replace(event, partitionkey=job.aggregate, slot=slot)
        return job, self._onward(job, event)

    def _onward(self, job: Job, event: CloudEvent) -> Outgoing:
        """The message that takes the place of a job's.

        Its key led to an aggregate. If it leads to none where it goes, the connection is gone
        since, and the event is no error of the RAN node: the same as with one that comes again.
        """
        return self._publisher.outgoing(event, repeated=job.repeated or bool(job.aggregate))

    # What goes wrong

    async def _failed(self, job: Job, err: Exception) -> None:
        """A decision raised. Once more may help, another worker may; then the UE gets a cause."""
        log.error("%s: %s", job.event.id, err, exc_info=err)
        deliveries = job.delivery.deliveries
        # It may have been delivered often for other reasons, and nobody has tried it twice.
        tried = job.event.id in self._failures
        if deliveries < self._config.bus.max_deliveries or not tried:
            self._failures[job.event.id] = None
            if len(self._failures) > FAILURES:
                del self._failures[next(iter(self._failures))]
            await self._intake.again(job.delivery, 0.1 * 2 ** min(deliveries, 5))
            return
        result = Round()
        if job.aggregate.startswith("ue/"):
            try:
                result = await self._decider.run([job], patient=False, poisoned=True)
            except StoreUnavailable:
                await self._intake.again(job.delivery, 1.0)
                return
            except Exception:
                log.exception("%s: the UE cannot be given a cause", job.event.id)
        if result.again:
            await self._intake.again(job.delivery, 0)
            return
        await self._keep(job.delivery, f"{type(err).__name__}: {err}")
        if result.appended:
            await self._finisher.steps(result.appended)
            return
        try:
            for _, seq in result.duplicate:  # by a worker that died before it got here
                await self._taken_before(job, seq)
                return
        except StoreUnavailable:
            await self._intake.again(job.delivery, 1.0)
            return
        except Exception:
            log.exception("%s: what was appended for it cannot be sent again", job.event.id)
        await self._intake.ack(job.delivery)

    async def _bury(self, delivery: Delivery, reason: str) -> None:
        """Keep an event that is none as a dead letter, and acknowledge it."""
        await self._keep(delivery, reason)
        await self._intake.ack(delivery)

    async def _keep(self, delivery: Delivery, reason: str) -> None:
        """Put an event that nobody can take into the stream of dead letters."""
        log.error("%s is a dead letter: %s", delivery.subject, reason)
        headers = {**delivery.headers, "evcore-reason": binding.header_value(reason)}
        letter = Outgoing(subjects.dead(delivery.subject), delivery.data, headers)
        await self._publisher.publish([letter])
