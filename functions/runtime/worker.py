"""The worker that pulls: it takes batches of events from JetStream, and passes them to `Work`.

An event is acknowledged after its outputs are sent, and the outputs are sent after the append. If a
worker dies, the event is redelivered. Then either no step was appended, or the step is found by its
trigger and its outputs are sent again.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from nats.aio.client import Client

from eventing.jetstream.delivery import messages_of
from eventing.jetstream.downlinks import Downlinks
from eventing.jetstream.earlier import EarlierEvents
from eventing.jetstream.intake import Intake
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkSealer
from eventing.jetstream.streams import BusConfig, check
from eventing.ownership.leases import Lease
from eventing.ownership.partitions import OwnedPartitions
from functions.gmm.identification import HomeNetworkKey
from functions.runtime.cache import Subscriptions
from functions.runtime.code import this_code
from functions.runtime.deadlines import Deadlines
from functions.runtime.effects import Effects
from functions.runtime.finisher import JetStreamFinisher
from functions.runtime.hosting import NO_VARIANTS, Hosted, by_partition, on_trial
from functions.runtime.meter import Meter
from functions.runtime.overload import Overload
from functions.runtime.room import Room
from functions.runtime.round import Decider, fresh
from functions.runtime.strangers import Strangers
from functions.runtime.timer_check import TimerCheck
from functions.runtime.variants import Variant, version_with
from functions.runtime.work import BATCH, Work
from schemas.cloudevents import CloudEvent
from schemas.config.objectives import Objectives
from schemas.config.strangers import DEFAULT_POLICY, StrangerPolicy
from schemas.network import Network
from schemas.procedures import Procedure
from statestore import damage
from statestore.log import EventLog
from statestore.subscribers import SubscriberStore

TRIAL_BATCH: Final = 8
"""Maximum batch of a canary: a slow canary delays few events, and its latency is measured between
small batches."""
FEWEST: Final = 32
"""Minimum batch with short objectives: with smaller batches, all events would wait longer."""
SETTLED: Final = 5.0
"""Seconds after JetStream was away in which the worker recovers (`Overload.recovering`)."""
RECOVERY: Final = 20.0
"""The longest time for an outage and the recovery. If it takes longer, it is the usual state."""
DRAIN: Final = 3.0
"""Seconds for running tasks when a worker stops."""


class WorkerConfig(Struct, frozen=True):
    """Settings of a worker."""

    procedures: tuple[Procedure, ...]
    bus: BusConfig
    network: Network
    home_network_keys: Mapping[int, HomeNetworkKey]
    version: str
    objectives: Objectives = Objectives()
    strangers: StrangerPolicy = DEFAULT_POLICY
    variants: Mapping[Procedure, Variant] = NO_VARIANTS
    """The variants that decide for some procedures instead of this release."""
    directory: Path | None = None
    """The directory of the event log; None if the log is not on a disk of this machine."""
    min_free_bytes: int = 0
    """The octets that should stay free there; 0 for no limit."""
    as_variant: bool = False
    """Whether the worker hosts this release as a variant, under the id of its code."""

    @property
    def hosted_variants(self) -> dict[str, str]:
        """The ids of the hosted variants, by procedure."""
        own = dict.fromkeys(map(str, self.procedures), this_code().id) if self.as_variant else {}
        return own | {str(p): one.id for p, one in self.variants.items() if p in self.procedures}

    @property
    def label(self) -> str:
        """The version of the worker, with its variants."""
        return version_with(self.version, self.hosted_variants)

    def lease(self) -> Lease:
        """Return the lease of a new worker."""
        code = this_code()
        names = {one.id: one.code.variant for one in self.variants.values()}
        return Lease(
            f"{os.getpid()}-{os.urandom(4).hex()}",
            tuple(self.procedures),
            self.label,
            os.getpid(),
            self.hosted_variants,
            code=code.id,
            names={code.id: code.release, **names},
        )


async def open_decider(
    config: WorkerConfig,
    events: EventLog,
    subscribers: SubscriberStore,
    draw: Callable[[CloudEvent], tuple[int, bytes]] = fresh,
) -> Decider:
    """Return the decider of a worker, after publishing its network and code to the log.

    Known damage of the log is named in the output of the process.

    Raises:
        StoreError: the store cannot be used.
    """
    version = await events.publish_network(config.network)
    code = await events.publish_code(this_code())
    for variant in config.variants.values():
        await events.publish_code(variant.code)
    await damage.warn(events.engine)
    return Decider(
        events,
        Hosted(config.procedures, config.variants, code),
        Subscriptions(subscribers),
        config.network,
        version,
        draw,
        config.bus.partitions,
        Room(config.directory, config.min_free_bytes),
    )


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
        self._subscribers = subscribers
        self._draw = draw
        self._deadlines = Deadlines(config.objectives)
        self._intake = Intake(
            client,
            self._deadlines,
            reads_all=bool(config.objectives),
            weights=config.network.weights,
        )
        self._publisher = Publisher(client, config.bus.partitions)
        effects = Effects(events, config.bus.partitions)
        lease = config.lease()
        self._meter = Meter(client, lease.worker, lease.version)
        downlinks = Downlinks(client, DownlinkSealer(config.network.tmsi_key))
        self._finisher = JetStreamFinisher(
            downlinks, self._intake, self._publisher, effects, self._meter
        )
        self._owned = OwnedPartitions(
            client, self._intake, lease, config.bus.partitions, self._reassigned
        )
        self._is_reassigned = False
        """Whether there are assignments that this worker has not applied yet."""
        self._batch = BATCH
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._work: Work
        self._decider: Decider
        self._overload: Overload

    async def run(self) -> None:
        """Work until `stop`."""
        await self._start()
        work, settled_at = self._work, time.monotonic()
        try:
            while not self._stopping.is_set():
                asked, pause, overload = time.monotonic(), work.pause, self._overload
                patience = 1.0 if pause is None else pause
                limit, excess, room = self._limit(), overload.excess, overload.room
                deliveries = await self._intake.take(limit, patience, excess, room)
                if self._is_reassigned:
                    await self._apply_assignments()
                begun = time.monotonic()
                work.quiet = begun - self._owned.membership.away_at
                if work.quiet >= SETTLED:
                    settled_at = begun
                overload.recovering = begun - settled_at < RECOVERY and work.quiet < SETTLED
                left, cost = self._intake.backlog(), self._meter.cost
                senders = self._intake.senders()
                deliveries, given_up = overload.begin(deliveries, left, cost, senders)
                for delivery in given_up:
                    await self._finisher.ack(delivery)
                await work.run(deliveries, backlog=self._intake.waiting > 0)
                seconds = time.monotonic() - begun
                if deliveries:
                    overload.worked(begun - asked, seconds)
                    events, messages = len(deliveries), messages_of(deliveries)
                    typical = not overload.recovering
                    self._meter.batch_done(seconds, events, messages, typical=typical)
                else:
                    overload.worked(begun - asked + seconds, 0.0)
        finally:
            await self._end()

    def _limit(self) -> int:
        """Return the maximum batch: with objectives, a batch takes at most half of the shortest
        one."""
        objectives = self._config.objectives
        within = self._meter.events_within(objectives.strictest / 2) if objectives else 0
        return min(self._batch, max(FEWEST, within)) if within else self._batch

    def _reassigned(self) -> None:
        self._is_reassigned = True
        self._intake.wake()

    async def _apply_assignments(self) -> None:
        """Decide and pull according to the current assignments. No batch is running."""
        self._is_reassigned = False
        assignments = self._owned.latest()
        lease = self._owned.membership.lease
        partitions = self._config.bus.partitions
        self._decider.host(by_partition(self._decider.hosted, lease, assignments, partitions))
        trial = on_trial(lease.variants, assignments)
        self._work.retries_forever = trial
        self._overload.on_trial = trial
        self._batch = TRIAL_BATCH if trial else BATCH
        await self._owned.adopt()

    def stop(self) -> None:
        """Finish the running batch, give the rest back, and return from `run`."""
        self._stopping.set()
        self._finisher.stopping = True
        self._intake.wake()

    async def _start(self) -> None:
        config = self._config
        decider = await open_decider(config, self._log, self._subscribers, self._draw)
        self._decider = decider
        self._deadlines.cache = decider.cache
        self._overload = decider.overload
        self._meter.load = decider.overload.load
        self._meter.room = decider.room
        self._work = Work(
            decider,
            self._log,
            self._finisher,
            config.bus,
            config.home_network_keys,
            self._stopping.is_set,
            EarlierEvents(self._client, config.bus.partitions).none_earlier,
            self._meter.failed,
            self._intake.pulls,
        )
        await check(self._client, config.bus, config.procedures)
        await self._publisher.start()
        await self._owned.join()
        await self._apply_assignments()
        loop = asyncio.get_running_loop()
        timers = TimerCheck(self._client, self._log.engine, self._publisher, self._intake.pulls)
        self._tasks = [
            loop.create_task(self._keep_in_progress()),
            loop.create_task(self._meter.report()),
            loop.create_task(timers.run()),
            loop.create_task(self._strangers(decider).run()),
        ]

    def _strangers(self, decider: Decider) -> Strangers:
        partitions = self._config.bus.partitions
        return Strangers(
            self._log,
            self._config.strangers,
            partitions,
            self._intake.pulls,
            EarlierEvents(self._client, partitions).none_earlier,
            decider.cache.drop,
        )

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._owned.leave()
        left = [job.delivery for job in self._work.held]
        while self._intake.waiting:
            left.extend(await self._intake.take(BATCH))
        for delivery in left:
            await self._intake.redeliver(delivery, 0)
        await self._finisher.drain(DRAIN)
        await self._meter.report_end()
        with contextlib.suppress(Exception):
            await self._client.flush(timeout=1)

    async def _keep_in_progress(self) -> None:
        """Report slow events to JetStream as in progress, before its acknowledgement timeout."""
        period = self._config.bus.ack_wait / 3
        while True:
            slept_at = time.time()
            await asyncio.sleep(period)
            if time.time() - slept_at >= self._config.bus.ack_wait:
                self._work.suspended(time.time())
            now = time.monotonic()
            slow = [
                job
                for job in (*self._work.active, *self._finisher.under_way)
                if now - job.touched >= period
            ]
            for job in slow:
                job.touched = now
            with contextlib.suppress(Exception):
                await self._intake.in_progress(*(job.delivery for job in slow))
            with contextlib.suppress(Exception):
                await self._intake.keep()
