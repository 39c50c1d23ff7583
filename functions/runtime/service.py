"""The finisher of an HTTP function: events come in requests, and outputs go into the responses.

Requests that arrive while a batch is decided share the next batch and its transaction. NGAP and
PFCP messages are sent from here when their step is stored, because another function may send the
UE's next message. Outputs that must be stored are in the response, and the caller stores them.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from msgspec import Struct, field
from nats.aio.client import Client

from eventing import subjects
from eventing.dispatcher.load import Dispatchers
from eventing.jetstream.deadline_queue import opens
from eventing.jetstream.delivery import Delivery, dead_letter
from eventing.jetstream.downlinks import Downlinks
from eventing.jetstream.earlier import EarlierEvents
from eventing.jetstream.intake import Backlog
from eventing.jetstream.messages import Addressed, Outgoing
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkSealer
from eventing.stats import Load
from functions.runtime.effects import Effects, responds_last, send_downlinks
from functions.runtime.job import Job
from functions.runtime.meter import Meter
from functions.runtime.pace import waited
from functions.runtime.round import Decider
from functions.runtime.strangers import Strangers
from functions.runtime.timer_check import TimerCheck
from functions.runtime.work import BATCH, Work
from functions.runtime.worker import WorkerConfig
from schemas.step import Step
from statestore.contract import StoreDamaged
from statestore.log import EventLog

log = logging.getLogger(__name__)

WAITING: Final = 1024
"""Maximum number of waiting requests. More requests must be retried."""
HOLD: Final = 1.0
"""Seconds that an early event waits here. Then its caller must retry it, and may send an earlier
event of the same procedure and slot first."""
GAP: Final = 0.25
"""Seconds between two batches that count as time for the second one, while a batch waits at the
dispatchers: the responses, and the next requests. A longer gap is not the function's."""


class CallResult(Struct):
    """The result of a call."""

    messages: list[Outgoing] = field(default_factory=list[Outgoing])
    """The messages to publish, in this order."""
    refused: str = ""
    """Why the event is not valid."""
    retry_after: float | None = None
    """Seconds before the event must be retried; None if it is processed."""


class _Call(Struct):
    """A pending request."""

    delivery: Delivery
    done: asyncio.Future[CallResult]
    result: CallResult = field(default_factory=CallResult)


class Service:
    """Decides the events of calls. `run` must be running."""

    def __init__(
        self, config: WorkerConfig, client: Client, decider: Decider, events: EventLog
    ) -> None:
        self._client = client
        self._downlinks = Downlinks(client, DownlinkSealer(config.network.tmsi_key))
        self._log = events
        self._strangers = config.strangers
        self._cache = decider.cache
        self._bus = config.bus
        self._consumers = {
            subjects.consumer(partition, procedure)
            for procedure in config.procedures
            for partition in range(config.bus.partitions)
        }
        self._effects = Effects(events, config.bus.partitions)
        self._stopping = False
        self.name = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._meter = Meter(client, self.name, config.version)
        self._overload = decider.overload
        self._meter.load = decider.overload.load
        self._meter.room = decider.room
        self.dispatchers = Dispatchers()
        """The queues of the callers."""
        self._work = Work(
            decider,
            events,
            self,
            config.bus,
            config.home_network_keys,
            lambda: self._stopping,
            EarlierEvents(client, config.bus.partitions).none_earlier,
            self._meter.failed,
        )
        self._calls: dict[int, _Call] = {}
        self._waiting: deque[Delivery] = deque()
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        """Running tasks with events for many UEs."""

    @property
    def waiting(self) -> int:
        """The number of events for the next batch."""
        return len(self._waiting)

    @property
    def load(self) -> Load:
        """The requests of UEs, with their queue."""
        return self._overload.load

    @property
    def excess(self) -> int:
        """The waiting requests of UEs that are to be rejected."""
        return self._overload.excess

    def _backlog(self) -> Backlog:
        """Return the events that wait behind the next batch, here and at the dispatchers."""
        requests, others = self.dispatchers.backlog
        here = sum(map(opens, self._waiting))
        return Backlog(requests + here, others + len(self._waiting) - here)

    async def call(self, delivery: Delivery) -> CallResult:
        """Process an event, and return the result when its step is appended."""
        if len(self._waiting) >= WAITING or self._stopping:
            return CallResult(retry_after=1.0)
        done = asyncio.get_running_loop().create_future()
        self._calls[id(delivery)] = _Call(delivery, done)
        self._waiting.append(delivery)
        self._arrived.set()
        return await done

    async def run(self) -> None:
        """Decide until stopped and all calls have a result."""
        reporting = asyncio.ensure_future(self._meter.report())
        checking = asyncio.ensure_future(self._check_timers())
        removing = asyncio.ensure_future(self._remove_strangers())
        try:
            await self._run()
        finally:
            self._stopping = True
            for task in (reporting, checking, removing, *self._tasks):
                task.cancel()
            for call in [*self._calls.values()]:
                await self._end(call.delivery, retry_after=1.0)
            await self._meter.report_end()

    async def _check_timers(self) -> None:
        """Check the wake-ups of the procedures that this function hosts, in all partitions."""
        publisher = Publisher(self._client, self._bus.partitions)
        await publisher.start()
        await TimerCheck(self._client, self._log.engine, publisher, self._hosts).run()

    async def _remove_strangers(self) -> None:
        """Remove the strangers of the procedures that this function hosts, in all partitions."""
        none_earlier = EarlierEvents(self._client, self._bus.partitions).none_earlier
        await Strangers(
            self._log,
            self._strangers,
            self._bus.partitions,
            self._hosts,
            none_earlier,
            self._cache.drop,
        ).run()

    def _hosts(self, consumer: str) -> bool:
        return consumer in self._consumers

    async def _run(self) -> None:
        ended = 0.0
        while not self._stopping or self._calls:
            if not self._waiting:
                self._arrived.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._work.pause):
                        await self._arrived.wait()
            count, begun = min(BATCH, len(self._waiting)), time.monotonic()
            taken = [self._waiting.popleft() for _ in range(count)]
            left = self._backlog()
            deliveries, given_up = self._overload.begin(taken, left, self._meter.cost_behind)
            for delivery in given_up:
                await self.ack(delivery)
            await self._work.run(deliveries)
            await self._work.give_back_after(HOLD)
            before, ended = ended, time.monotonic()
            if count := len(deliveries):
                self._meter.batch_done(ended - begun, count, count)
                if sum(left) >= BATCH:
                    gap = begun - before
                    self._meter.behind(ended - begun + (gap if gap < GAP else 0.0), count)

    def stop(self) -> None:
        """Refuse new calls, and stop `run`."""
        self._stopping = True
        self._arrived.set()

    # Finisher

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """See `Finisher.steps`. A response that is sent after the events for its UEs is in the
        result, behind them."""
        first = [(job.aggregate, step) for job, step in done if not responds_last(step)]
        await send_downlinks(self._downlinks, self._effects, first)
        for job, step in done:
            messages = self._effects.queued(job.aggregate, step, job.wake)
            await self._decided(job, step, messages)

    async def _decided(self, job: Job, step: Step[Any], messages: Sequence[Outgoing]) -> None:
        await self._end(job.delivery, messages)
        self._meter.decided(step, job.delivery, rejected=job.rejected)

    async def send_unsent(self, unsent: Sequence[tuple[str, Step[Any]]]) -> None:
        """See `Finisher.send_unsent`."""
        await send_downlinks(self._downlinks, self._effects, unsent)

    async def wake(self, job: Job) -> None:
        """See `Finisher.wake`."""
        self._in_background(self._wake(job))

    async def _wake(self, job: Job) -> None:
        try:
            page = await self._effects.page(job.event, waited(job))
        except StoreDamaged as err:
            await self.refuse(job.delivery, str(err))
            return
        except Exception as err:
            # Any error: the caller waits for an answer, and sends the event again.
            log.warning("%s: the events for its UEs cannot be read: %s", job.event.id, err)
            await self._end(job.delivery, retry_after=1.0)
            return
        last = self._downlinks.messages(page.then, 1)
        await self._end(job.delivery, [*page.messages, *last])
        self._meter.passed(job.delivery)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task that the next batch does not wait for."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        """See `Finisher.publish`."""
        for job, message in done:
            await self._end(job.delivery, [message.outgoing])
            self._meter.passed(job.delivery)

    async def ack(self, delivery: Delivery) -> None:
        """See `Finisher.ack`."""
        await self._end(delivery)
        self._meter.passed(delivery)

    async def retry(self, job: Job, after: float) -> None:
        """See `Finisher.retry`."""
        await self._end(job.delivery, retry_after=after)

    async def keep(self, delivery: Delivery, reason: str) -> None:
        """See `Finisher.keep`."""
        call = self._calls.get(id(delivery))
        if call is not None:
            call.result.messages.append(dead_letter(delivery, reason))

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        """See `Finisher.refuse`."""
        call = self._calls.get(id(delivery))
        if call is not None:
            call.result.refused = reason
        await self._end(delivery)

    async def _end(
        self,
        delivery: Delivery,
        messages: Sequence[Outgoing] = (),
        retry_after: float | None = None,
    ) -> None:
        call = self._calls.pop(id(delivery), None)
        if call is None:
            return
        if self._stopping:
            self._arrived.set()
        call.result.messages.extend(messages)
        call.result.retry_after = retry_after
        if not call.done.done():
            call.done.set_result(call.result)
