"""The desk of a function that is called: events come in requests, outcomes go in responses.

Requests that come while a batch is decided share the next one, and its transaction. NGAP and PFCP
messages leave from here, as soon as their step is stored: the next message to a UE may be another
function's. What has to be kept until it is acted upon is in the response, for the caller to store.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, Final

from msgspec import Struct, field
from nats.aio.client import Client

from eventing.jetstream.delivery import Delivery, dead_letter
from eventing.jetstream.messages import Addressed, Outgoing
from functions.runtime.effects import Effects, answers_last, fans_out, send_downlinks
from functions.runtime.job import Job
from functions.runtime.meter import Meter
from functions.runtime.round import Decider
from functions.runtime.work import BATCH, HOLD_POLL, Work
from functions.runtime.worker import WorkerConfig
from schemas.step import Step
from statestore.log import EventLog

log = logging.getLogger(__name__)

WAITING: Final = 1024
"""Requests that wait to be decided, at most; more are told to come again."""


class Answer(Struct):
    """What becomes of a request."""

    messages: list[Outgoing] = field(default_factory=list[Outgoing])
    """To be sent, in this order."""
    refused: str = ""
    """Why the event will never be taken."""
    after: float | None = None
    """In how many seconds it is to come again; None for one that is done with."""


class _Call(Struct):
    """A request whose answer is being made."""

    delivery: Delivery
    done: asyncio.Future[Answer]
    answer: Answer = field(default_factory=Answer)


class Service:
    """Decides about events that it is called with. `run` has to run meanwhile."""

    def __init__(
        self, config: WorkerConfig, client: Client, decider: Decider, events: EventLog
    ) -> None:
        self._client = client
        self._effects = Effects(events.engine, config.bus.partitions)
        self._stopping = False
        self._meter = Meter(client, f"{os.getpid()}-{os.urandom(4).hex()}", config.version)
        self._work = Work(
            decider,
            events,
            self,
            config.bus,
            config.home_network_keys,
            lambda: self._stopping,
            self._meter.failed,
        )
        self._calls: dict[int, _Call] = {}
        self._waiting: deque[Delivery] = deque()
        self._arrived = asyncio.Event()
        self._telling: set[asyncio.Task[None]] = set()
        """What tells many UEs something."""

    @property
    def waiting(self) -> int:
        """Events that the next batch will take."""
        return len(self._waiting)

    async def call(self, delivery: Delivery) -> Answer:
        """What comes of an event, once it has been appended."""
        if len(self._waiting) >= WAITING or self._stopping:
            return Answer(after=1.0)
        done = asyncio.get_running_loop().create_future()
        self._calls[id(delivery)] = _Call(delivery, done)
        self._waiting.append(delivery)
        self._arrived.set()
        return await done

    async def run(self) -> None:
        """Decide, until stopped and all calls are answered."""
        reporting = asyncio.ensure_future(self._meter.report())
        try:
            await self._run()
        finally:
            self._stopping = True
            for task in (reporting, *self._telling):
                task.cancel()
            for call in [*self._calls.values()]:
                await self._end(call.delivery, after=1.0)
            await self._meter.last_words()

    async def _run(self) -> None:
        while not self._stopping or self._calls:
            if not self._waiting:
                self._arrived.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(HOLD_POLL if self._work.held else None):
                        await self._arrived.wait()
            count, begun = min(BATCH, len(self._waiting)), time.monotonic()
            await self._work.run([self._waiting.popleft() for _ in range(count)])
            self._meter.worked(time.monotonic() - begun, count, count)

    def stop(self) -> None:
        """Take no more, and have `run` return."""
        self._stopping = True
        self._arrived.set()

    # The desk

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """See `Desk.steps`. An answer for UEs that are to be told first is in the response, behind
        what tells them."""
        first = [(job.aggregate, step) for job, step in done if not answers_last(step)]
        await send_downlinks(self._client, self._effects, first)
        for job, step in done:
            messages = self._effects.queued(job.aggregate, step, job.wake)
            if fans_out(step):
                self._meanwhile(self._tell(job, step, messages))
            else:
                await self._decided(job, step, messages)

    async def _tell(self, job: Job, step: Step[Any], messages: list[Outgoing]) -> None:
        """Answer with what tells many UEs something; the next batch does not wait for that."""
        # It is in the log: when the event comes again, its step is found.
        told = await self._gathered(job, self._last(job, step))
        if told is not None:
            await self._decided(job, step, [*messages, *told])

    async def _last(self, job: Job, step: Step[Any]) -> AsyncIterator[list[Addressed]]:
        async for page in self._effects.fan_out(job.aggregate, step):
            yield page
        if answers_last(step):
            yield await self._effects.downlinks(job.aggregate, step)

    async def _gathered(
        self, job: Job, pages: AsyncIterator[list[Addressed]]
    ) -> list[Outgoing] | None:
        """What many are told; None where it cannot be had, and the event is to come again."""
        try:
            return [message.outgoing async for page in pages for message in page]
        except Exception as err:
            log.warning("%s: its UEs cannot be told: %s", job.event.id, err)
            await self._end(job.delivery, after=1.0)
            return None

    async def _decided(self, job: Job, step: Step[Any], messages: Sequence[Outgoing]) -> None:
        await self._end(job.delivery, messages)
        self._meter.decided(step, job.delivery, rejected=job.rejected)

    async def wake(self, job: Job) -> None:
        """See `Desk.wake`."""
        self._meanwhile(self._wake(job))

    async def _wake(self, job: Job) -> None:
        messages = await self._gathered(job, self._effects.woken(job.event))
        if messages is not None:
            await self._end(job.delivery, messages)
            self._meter.passed(job.delivery)

    def _meanwhile(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what the next batch does not wait for."""
        task = asyncio.ensure_future(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        """See `Desk.publish`."""
        for job, message in done:
            await self._end(job.delivery, [message.outgoing])
            self._meter.passed(job.delivery)

    async def ack(self, delivery: Delivery) -> None:
        """See `Desk.ack`."""
        await self._end(delivery)
        self._meter.passed(delivery)

    async def again(self, job: Job, after: float) -> None:
        """See `Desk.again`."""
        await self._end(job.delivery, after=after)

    async def keep(self, delivery: Delivery, reason: str) -> None:
        """See `Desk.keep`."""
        call = self._calls.get(id(delivery))
        if call is not None:
            call.answer.messages.append(dead_letter(delivery, reason))

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        """See `Desk.refuse`."""
        call = self._calls.get(id(delivery))
        if call is not None:
            call.answer.refused = reason
        await self._end(delivery)

    async def _end(
        self, delivery: Delivery, messages: Sequence[Outgoing] = (), after: float | None = None
    ) -> None:
        call = self._calls.pop(id(delivery), None)
        if call is None:
            return
        if self._stopping:
            self._arrived.set()
        call.answer.messages.extend(messages)
        call.answer.after = after
        if not call.done.done():
            call.done.set_result(call.answer)
