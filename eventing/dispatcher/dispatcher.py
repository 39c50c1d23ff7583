"""Pulls the partitions of procedures and POSTs their events, each UE's in order.

The order is that of a subject: one procedure's events of one slot. What a UE's connection sends to
two procedures may come here in any order, for it comes by two consumers; the function that has
the later one waits for the earlier, which therefore must not wait here.

An event is acknowledged once its function has answered and what it answered has been sent. Until
then JetStream keeps it: a dispatcher may die at any point, and the function finds the step of an
event that comes again.
"""

import asyncio
import contextlib
import logging
import os
import random
import time
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
from eventing.dispatcher.sink import Later, Refused, Sink
from eventing.jetstream.delivery import Delivery, dead_letter, event_of, stored_as
from eventing.jetstream.intake import Intake
from eventing.jetstream.messages import Outgoing
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from eventing.ownership.assignments import Assignment, wanted
from eventing.ownership.leases import Lease
from eventing.ownership.partitions import Share
from schemas.cloudevents import CloudEvent

log = logging.getLogger(__name__)

BATCH: Final = 128
"""Events taken of JetStream at a time."""
PAGE: Final = 512
"""Messages that are given to JetStream at a time: as many as it acknowledges soon."""
FIRST_PAUSE: Final = 0.05
LAST_PAUSE: Final = 5.0
"""Seconds between two attempts of an event, at first and at last."""
WARN: Final = 10.0
"""Seconds between two warnings that events have to be tried again."""
DELIVERY: Final = "evcore-delivery"
"""The header that tells a function JetStream's reply subject."""


class DispatcherConfig(Struct, frozen=True):
    """What a dispatcher does."""

    procedures: tuple[str, ...]
    bus: BusConfig
    version: str
    concurrency: int = 64
    """Requests under way at a time, each of another subject."""
    backlog: int = 1024
    """Events here, waiting or under way, beyond which none is asked for."""
    attempts: int = 20
    """Attempts at an event that fail on it, before it is a dead letter. A sink that cannot be
    reached or says that it is not ready is tried without end."""


class _Item(Struct):
    """An event here."""

    delivery: Delivery
    event: CloudEvent | None
    touched: float
    """When JetStream was last told that it is not lost, in seconds of the monotonic clock."""
    problem: str = ""
    """Why it is no event."""


class Dispatcher:
    """Stands between JetStream and a sink."""

    def __init__(self, config: DispatcherConfig, client: Client, sink: Sink) -> None:
        self._config = config
        self._client = client
        self._sink = sink
        self._intake = Intake(client)
        self._publisher = Publisher(client, config.bus.partitions)
        lease = Lease(
            f"{os.getpid()}-{os.urandom(4).hex()}", config.procedures, config.version, os.getpid()
        )
        self._share = Share(client, self._intake, lease, config.bus.partitions, self._reassigned)
        self._assignments: Mapping[str, Assignment] = {}
        """Which versions decide where. Functions are called where the one that they come with is
        to."""
        self._is_reassigned = False
        # A later message of a UE may wait at its function for an earlier one, which is of another
        # subject: all places might be taken by those that wait.
        self._lanes: Lanes[str, _Item] = Lanes(
            self._deliver, config.concurrency, lambda item: stored_as(item.delivery.reply)
        )
        self._warned_at = -WARN
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Dispatch until `stop`."""
        config = self._config
        await ensure(self._client, config.bus, config.procedures)
        await self._publisher.start()
        await self._share.join()
        await self._take_over()
        keeping = asyncio.ensure_future(self._keep_in_progress())
        try:
            while not self._stopping.is_set():
                deliveries = await self._intake.take(BATCH, 1.0)
                if self._is_reassigned:
                    await self._take_over()
                for delivery in deliveries:
                    if self._is_for_workers(delivery):
                        await self._intake.again(delivery, 0)
                    else:
                        self._accept(delivery)
                await self._room(self._config.backlog)
        finally:
            try:
                await self._end()
            finally:
                keeping.cancel()

    def stop(self) -> None:
        """Take no more, finish what is under way within seconds, and return from `run`."""
        self._stopping.set()
        self._intake.wake()

    @property
    def in_hand(self) -> int:
        """Events here that are not done with."""
        return len(self._lanes)

    def _reassigned(self) -> None:
        self._is_reassigned = True
        self._intake.wake()

    async def _take_over(self) -> None:
        """Go by the assignments as they are now, once what is here is done with.

        Not for ever: a sink may be away, and what its function decides late is decided on a state
        that the log knows to be old.
        """
        self._is_reassigned = False
        self._assignments = self._share.latest()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.bus.ack_wait):
                await self._room(1)
        await self._share.take_over()

    def _is_for_workers(self, delivery: Delivery) -> bool:
        """Whether another version than a function's is to decide about an event."""
        _, partition, procedure, *_ = delivery.subject.split(".")
        return wanted(self._assignments, procedure, int(partition)) != ""

    async def _room(self, below: int) -> None:
        """Wait until fewer than `below` events are here, or `stop`."""
        room = asyncio.ensure_future(self._lanes.below(below))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait([room, stopping], return_when=asyncio.FIRST_COMPLETED)
        room.cancel()
        stopping.cancel()

    async def _end(self) -> None:
        await self._share.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.bus.ack_wait):
                await self._lanes.below(1)
        await self._lanes.cancel()
        left = [item.delivery for item in self._lanes.items]
        while self._intake.waiting:
            left.extend(await self._intake.take(BATCH))
        for delivery in left:
            await self._intake.again(delivery, 0)
        with contextlib.suppress(Exception):
            await self._client.flush(timeout=1)

    def _accept(self, delivery: Delivery) -> None:
        try:
            event = event_of(delivery)
            slot = subjects.slot_of_subject(delivery.subject)
        except ValueError as err:
            item = _Item(delivery, None, time.monotonic(), str(err))
            self._lanes.put(delivery.subject, item)
            return
        if event.slot is None or event.procedure is None:
            procedure = delivery.subject.split(".")[2]
            event = replace(event, slot=slot, procedure=procedure)
        self._lanes.put(delivery.subject, _Item(delivery, event, time.monotonic()))

    async def _deliver(self, item: _Item) -> None:
        """POST an event until it is taken or refused."""
        delivery, event = item.delivery, item.event
        if event is None:
            await self._bury(delivery, item.problem)
            return
        headers = {DELIVERY: delivery.reply}
        if REPEATED in delivery.headers:
            headers[REPEATED] = delivery.headers[REPEATED]
        pause, failures, attempt = FIRST_PAUSE, 0, delivery.deliveries
        while True:
            headers[http_binding.ATTEMPT] = str(attempt)
            attempt += 1
            outcome = await self._sink.post(event, headers)
            match outcome:
                case Later(reason, after, tried):
                    failures += tried
                    if failures >= self._config.attempts:
                        await self._bury(delivery, f"{failures} attempts, at last {reason}")
                        return
                    self._tell_again(event.id, reason, lasts=pause >= LAST_PAUSE)
                    # Whether it was taken before an answer was lost is not known.
                    headers[REPEATED] = "1"
                    wait = max(pause, after) * (0.8 + 0.4 * random.random())  # noqa: S311
                    await asyncio.sleep(min(wait, LAST_PAUSE))
                    pause = min(pause * 2, LAST_PAUSE)
                case Refused(reason):
                    await self._bury(delivery, reason)
                    return
                case _:
                    await self._send(outcome.replies)
                    await self._intake.ack(delivery)
                    return

    def _tell_again(self, name: str, reason: str, *, lasts: bool) -> None:
        """Log that an event is tried again; where that has lasted, as a warning, one of many."""
        now = time.monotonic()
        warns = lasts and now - self._warned_at >= WARN
        if warns:
            self._warned_at = now
        log.log(logging.WARNING if warns else logging.INFO, "%s: again: %s", name, reason)

    async def _send(self, replies: list[Reply]) -> None:
        """Send what a function has answered, in its order."""
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
                log.warning("%s: a message is not sent: %s", headers["ce-id"], err)
        if lasting:
            await self._publisher.publish(lasting)

    async def _bury(self, delivery: Delivery, reason: str) -> None:
        await self._publisher.publish([dead_letter(delivery, reason)])
        await self._intake.ack(delivery)

    async def _keep_in_progress(self) -> None:
        """Tell JetStream of events that wait here, or whose function takes its time."""
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
