"""The finisher of a worker that pulls: it sends outputs over NATS, then acknowledges their
events."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final

from eventing import subjects
from eventing.jetstream.delivery import Delivery, alone, dead_letter
from eventing.jetstream.downlinks import Downlinks
from eventing.jetstream.intake import Intake
from eventing.jetstream.messages import Addressed, Outgoing, gathered
from eventing.jetstream.publisher import Publisher
from functions.runtime.effects import Effects, responds_last, send_downlinks
from functions.runtime.job import Job
from functions.runtime.meter import Meter
from functions.runtime.pace import waited
from schemas.step import Step
from statestore.contract import StoreDamaged

log = logging.getLogger(__name__)

UNDER_WAY: Final = 16
"""Maximum number of batches with hand-offs and wake-ups that JetStream has not acknowledged."""


class JetStreamFinisher:
    """Sends outputs and acknowledges events, without delaying the next batch."""

    def __init__(
        self,
        downlinks: Downlinks,
        intake: Intake,
        publisher: Publisher,
        effects: Effects,
        meter: Meter,
    ) -> None:
        self._downlinks = downlinks
        self._intake = intake
        self._publisher = publisher
        self._effects = effects
        self._meter = meter
        self._tasks: dict[asyncio.Task[None], Sequence[Job]] = {}
        self.stopping = False
        """Whether events that are given back must not be published again."""

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """Send the outputs of steps, and acknowledge their events when the outputs are safe.

        NGAP and PFCP messages are sent at once, except a response for a whole RAN node, which is
        sent after the events for its UEs (TS 38.413 8.7.4.2.2). JetStream stores wake-ups and
        hand-offs before the event that caused them is acknowledged.
        """
        waiting: list[Outgoing] = []
        wakes: dict[str, Outgoing] = {}
        """By subject: of two messages on one subject, JetStream would keep only the later."""
        finished: list[tuple[Job, Step[Any]]] = []
        await self._send((job, step) for job, step in done if not responds_last(step))
        for job, step in done:
            queued = self._effects.queued(job.aggregate, step, job.wake)
            for message in queued:
                if message.subject.startswith(subjects.TIMERS):
                    wakes[message.subject] = message
                else:
                    waiting.append(message)
            if queued:
                finished.append((job, step))
            else:
                await self._intake.ack(job.delivery)
                self._meter.decided(step, job.delivery, rejected=job.rejected)
        if finished:
            jobs = [job for job, _ in finished]
            await self._later(self._complete([*waiting, *wakes.values()], finished), jobs)

    async def _send(self, done: Iterable[tuple[Job, Step[Any]]]) -> None:
        steps = [(job.aggregate, step) for job, step in done]
        await send_downlinks(self._downlinks, self._effects, steps)

    async def send_unsent(self, unsent: Sequence[tuple[str, Step[Any]]]) -> None:
        """See `Finisher.send_unsent`."""
        await send_downlinks(self._downlinks, self._effects, unsent)

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        """Publish events that replace others, and acknowledge those."""
        if done:
            messages = gathered(message for _, message in done)
            jobs = [job for job, _ in done]
            await self._later(self._publish(messages, jobs), jobs)

    async def wake(self, job: Job) -> None:
        """See `Finisher.wake`."""
        await self._later(self._wake(job), [job])

    async def _wake(self, job: Job) -> None:
        try:
            page = await self._effects.page(job.event, waited(job))
        except StoreDamaged as err:
            await self.refuse(job.delivery, str(err))
            return
        await self._publisher.publish(page.messages)
        await self._downlinks.send(page.then)
        await self.ack(job.delivery)

    async def _publish(self, messages: Sequence[Outgoing], jobs: Sequence[Job]) -> None:
        await self._publisher.publish(messages)
        for job in jobs:
            await self.ack(job.delivery)

    async def _complete(
        self,
        messages: Sequence[Outgoing],
        done: Sequence[tuple[Job, Step[Any]]],
    ) -> None:
        await self._publisher.publish(messages)
        self._effects.stored(messages)
        for job, step in done:
            await self._intake.ack(job.delivery)
            self._meter.decided(step, job.delivery, rejected=job.rejected)

    async def ack(self, delivery: Delivery) -> None:
        """See `Finisher.ack`."""
        await self._intake.ack(delivery)
        self._meter.passed(delivery)

    async def retry(self, job: Job, after: float) -> None:
        """See `Finisher.retry`.

        An event of a batch gets its own message, so that the rest of the batch is not delivered
        again.
        """
        if job.delivery.progress is None or self.stopping:
            await self._intake.redeliver(job.delivery, after)
        else:
            await self._later(self._alone(job.delivery), [job])

    async def _alone(self, delivery: Delivery) -> None:
        await self._publisher.publish([alone(delivery)])
        await self._intake.ack(delivery)

    async def keep(self, delivery: Delivery, reason: str) -> None:
        """Store an event that cannot be processed in the stream of dead letters."""
        await self._publisher.publish([dead_letter(delivery, reason)])

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        """Store an invalid event as a dead letter, and acknowledge it."""
        await self.keep(delivery, reason)
        await self._intake.ack(delivery)
        self._meter.failed(delivery)

    @property
    def under_way(self) -> list[Job]:
        """The jobs with outputs that JetStream has not acknowledged yet."""
        return [job for jobs in self._tasks.values() for job in jobs]

    async def _later(self, work: Coroutine[Any, Any, None], jobs: Sequence[Job]) -> None:
        while len(self._tasks) >= UNDER_WAY:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.ensure_future(work)
        self._tasks[task] = jobs
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            # The events are not acknowledged, so they are redelivered, and their steps are found.
            log.error("effects could not be sent", exc_info=task.exception())

    async def drain(self, seconds: float) -> None:
        """Wait for running tasks. The rest is redelivered to another worker."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
