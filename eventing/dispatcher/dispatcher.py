"""Pulls the partitions of procedures and POSTs their events, each UE's in order.

The order is that of the events of one procedure and one slot, by position. Messages of a UE's
connection to two procedures may arrive in any order, since two consumers deliver them. The
function that gets the later message waits for the earlier one, so the earlier one must not wait
here.

An event is acknowledged once its function has answered and the messages in the answer are sent.
Until then JetStream keeps the event: a dispatcher may die at any point. The function finds the
step of a redelivered event in the log.
"""

import asyncio
import contextlib
import logging
import os
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.cloudevents import http_binding
from eventing.cloudevents.nats_binding import REPEATED
from eventing.dispatcher.lanes import Lanes
from eventing.dispatcher.replies import Reply
from eventing.dispatcher.sink import FunctionSink, Refused, RetryLater
from eventing.fair_shares import sender_of
from eventing.jetstream.deadline_queue import opens, source_of
from eventing.jetstream.delivery import Delivery, alone, dead_letter, event_of
from eventing.jetstream.intake import Backlog, Intake
from eventing.jetstream.messages import Outgoing
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, check
from eventing.ownership.assignments import Assignment, variant_for
from eventing.ownership.leases import Lease
from eventing.ownership.partitions import OwnedPartitions
from schemas.cloudevents import CloudEvent

log = logging.getLogger(__name__)

BATCH: Final = 128
"""Events taken from JetStream at a time."""
PAGE: Final = 512
"""Messages published to JetStream at a time: it acknowledges so many quickly."""
FIRST_PAUSE: Final = 0.05
LAST_PAUSE: Final = 5.0
"""Seconds between two attempts at an event: the first pause, and the longest."""
WARN: Final = 10.0
"""Minimum seconds between two warnings about retries."""
DELIVERY: Final = "evcore-delivery"
"""The header with JetStream's reply subject for the function."""


class DispatcherConfig(Struct, frozen=True):
    """Settings of a dispatcher."""

    procedures: tuple[str, ...]
    bus: BusConfig
    version: str
    concurrency: int = 64
    """Maximum concurrent requests, each for another subject."""
    backlog: int = 1024
    """Unfinished events beyond which the dispatcher takes no more."""
    attempts: int = 20
    """Failed attempts at an event before it becomes a dead letter. Attempts do not count if the
    sink cannot be reached or is not ready: those are repeated without end."""


class _Item(Struct):
    """An unfinished event."""

    delivery: Delivery
    event: CloudEvent | None
    lane: str
    """The procedure and the slot. Events of one lane are in order, whatever their origins."""
    touched: float
    """Time of the last in-progress answer to JetStream, in seconds of the monotonic clock."""
    opens: bool = False
    """Whether it is a request of a UE, which opens a connection."""
    problem: str = ""
    """Why the delivery is not an event; empty if it is one."""


def _rank(item: _Item) -> tuple[int, int]:
    position = item.event.position if item.event is not None else item.delivery.position
    return (0, 0) if position is None else (position.sequence, position.index)


def _sender(item: _Item) -> str:
    return sender_of(source_of(item.delivery))


class Dispatcher:
    """Pulls events from JetStream and POSTs them to a sink."""

    def __init__(self, config: DispatcherConfig, client: Client, sink: FunctionSink) -> None:
        self._config = config
        self._client = client
        self._sink = sink
        self._intake = Intake(client)
        self._publisher = Publisher(client, config.bus.partitions)
        lease = Lease(
            f"{os.getpid()}-{os.urandom(4).hex()}", config.procedures, config.version, os.getpid()
        )
        self._owned = OwnedPartitions(
            client, self._intake, lease, config.bus.partitions, self._reassigned
        )
        self._name = lease.worker
        self._left = Backlog(0, 0)
        """The events that the last `take` left."""
        self._waiting = Counter[bool]()
        """The accepted events that wait for a free place, by whether they open connections."""
        self._assignments: Mapping[str, Assignment] = {}
        """The assignments by procedure. A function decides only where no variant does."""
        self._is_reassigned = False
        # A later message of a UE may wait at its function for an earlier message of another
        # subject. Without the rank, waiting messages could occupy all places.
        self._lanes: Lanes[str, _Item] = Lanes(self._deliver, config.concurrency, _rank, _sender)
        self._warned_at = -WARN
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Dispatch until `stop`."""
        config = self._config
        await check(self._client, config.bus, config.procedures)
        await self._publisher.start()
        await self._owned.join()
        await self._adopt()
        keeping = asyncio.ensure_future(self._keep_in_progress())
        try:
            while not self._stopping.is_set():
                deliveries = await self._intake.take(BATCH, 1.0, self._sink.functions.excess)
                self._left = self._intake.backlog()
                if self._is_reassigned:
                    await self._adopt()
                for delivery in deliveries:
                    if self._is_for_workers(delivery):
                        await self._intake.redeliver(delivery, 0)
                    else:
                        self._accept(delivery)
                await self._room(self._config.backlog)
        finally:
            try:
                await self._end()
            finally:
                keeping.cancel()

    def stop(self) -> None:
        """Take no more events, finish running requests within seconds, and return from `run`."""
        self._stopping.set()
        self._intake.wake()

    @property
    def unfinished(self) -> int:
        """Number of unfinished events."""
        return len(self._lanes)

    def _reassigned(self) -> None:
        self._is_reassigned = True
        self._intake.wake()

    async def _adopt(self) -> None:
        """Adopt the current assignments, once all events here are finished.

        The wait is bounded, since a sink may be unreachable. A late decision of its function is
        harmless: the log refuses a step on an old state.
        """
        self._is_reassigned = False
        self._assignments = self._owned.latest()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.bus.ack_wait):
                await self._room(1)
        await self._owned.adopt()

    def _is_for_workers(self, delivery: Delivery) -> bool:
        """Whether a variant decides an event, which only workers host."""
        _, partition, procedure, *_ = delivery.subject.split(".")
        return variant_for(self._assignments, procedure, int(partition)) != ""

    async def _room(self, below: int) -> None:
        """Wait until fewer than `below` events are unfinished, or until `stop`."""
        room = asyncio.ensure_future(self._lanes.below(below))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait([room, stopping], return_when=asyncio.FIRST_COMPLETED)
        room.cancel()
        stopping.cancel()

    async def _end(self) -> None:
        await self._owned.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.bus.ack_wait):
                await self._lanes.below(1)
        await self._lanes.cancel()
        left = [item.delivery for item in self._lanes.items]
        while self._intake.waiting:
            left.extend(await self._intake.take(BATCH))
        for delivery in left:
            await self._intake.redeliver(delivery, 0)
        with contextlib.suppress(Exception):
            await self._client.flush(timeout=1)

    def _accept(self, delivery: Delivery) -> None:
        try:
            event = event_of(delivery)
            slot = subjects.slot_of_subject(delivery.subject)
        except ValueError as err:
            item = _Item(delivery, None, delivery.subject, time.monotonic(), problem=str(err))
            self._waiting[False] += 1
            self._lanes.put(item.lane, item)
            return
        if event.slot is None or event.procedure is None:
            procedure = delivery.subject.split(".")[2]
            event = replace(event, slot=slot, procedure=procedure)
        lane = f"{event.procedure}.{slot}"
        item = _Item(delivery, event, lane, time.monotonic(), opens(delivery))
        self._waiting[item.opens] += 1
        self._lanes.put(lane, item)

    def _backlog(self) -> Backlog:
        """Return the events that wait here and at JetStream."""
        left = self._left
        return Backlog(left.requests + self._waiting[True], left.others + self._waiting[False])

    async def _deliver(self, item: _Item) -> bool:
        """POST an event until it is processed or refused.

        Return False if an earlier event of its lane must go first: it may wait for that one.
        """
        delivery, event = item.delivery, item.event
        self._waiting[item.opens] -= 1
        if event is None:
            await self._bury(delivery, item.problem)
            return True
        headers = {DELIVERY: delivery.reply}
        if REPEATED in delivery.headers:
            headers[REPEATED] = delivery.headers[REPEATED]
        pause, failures, attempt = FIRST_PAUSE, 0, delivery.deliveries
        while True:
            headers[http_binding.ATTEMPT] = str(attempt)
            headers |= self._sink.functions.header(self._name, self._backlog())
            attempt += 1
            outcome = await self._sink.post(event, headers)
            match outcome:
                case RetryLater(reason, after, tried):
                    if (tried or after) and delivery.progress is not None and delivery.is_next:
                        await self._leave_batch(delivery)
                        return True
                    failures += tried
                    if failures >= self._config.attempts:
                        await self._bury(delivery, f"{failures} attempts, at last {reason}")
                        return True
                    self._log_retry(event.id, reason, lasts=pause >= LAST_PAUSE)
                    # The function may have processed it, and only the answer is lost.
                    headers[REPEATED] = "1"
                    wait = max(pause, after) * (0.8 + 0.4 * random.random())  # noqa: S311
                    await asyncio.sleep(min(wait, LAST_PAUSE))
                    pause = min(pause * 2, LAST_PAUSE)
                    if self._lanes.overtaken(item.lane):
                        self._waiting[item.opens] += 1
                        return False
                case Refused(reason):
                    await self._bury(delivery, reason)
                    return True
                case _:
                    await self._send(outcome.replies)
                    await self._intake.ack(delivery)
                    return True

    def _log_retry(self, name: str, reason: str, *, lasts: bool) -> None:
        """Log a retry; after many retries, as a warning, at most one in `WARN` seconds."""
        now = time.monotonic()
        warns = lasts and now - self._warned_at >= WARN
        if warns:
            self._warned_at = now
        log.log(logging.WARNING if warns else logging.INFO, "%s: retry: %s", name, reason)

    async def _send(self, replies: list[Reply]) -> None:
        """Send the messages of a function's answer, in order."""
        lasting: list[Outgoing] = []
        for reply in replies:
            if reply.lasting:
                lasting.append(reply.message)
            if lasting and (not reply.lasting or len(lasting) >= PAGE):
                await self._publisher.publish(lasting)
                lasting = []
            if reply.lasting:
                continue
            subject, data, headers = reply.message
            try:
                await self._client.publish(subject, data, headers=headers)
            except NatsError as err:
                log.warning("%s: a message cannot be sent: %s", headers["ce-id"], err)
        if lasting:
            await self._publisher.publish(lasting)

    async def _leave_batch(self, delivery: Delivery) -> None:
        """Publish an event apart from its batch, because its function has given it back.

        The stream has a batch until all its events are processed. Events of other UEs may wait for
        an event that is processed but whose batch is not. The events before it in its batch must
        have left, as the check of earlier events demands (`eventing.jetstream.earlier`). A sink
        that does not answer by itself, as at zero, keeps its batches: all of their events wait.
        """
        await self._publisher.publish([alone(delivery)])
        await self._intake.ack(delivery)

    async def _bury(self, delivery: Delivery, reason: str) -> None:
        await self._publisher.publish([dead_letter(delivery, reason)])
        await self._intake.ack(delivery)

    async def _keep_in_progress(self) -> None:
        """Tell JetStream regularly which events are in progress: waiting here, or at a function."""
        period = self._config.bus.ack_wait / 3
        while True:
            await asyncio.sleep(period)
            now = time.monotonic()
            slow = [item for item in self._lanes.items if now - item.touched >= period]
            for item in slow:
                item.touched = now
            with contextlib.suppress(Exception):
                await self._intake.in_progress(*(item.delivery for item in slow))
            with contextlib.suppress(Exception):
                await self._intake.keep()
