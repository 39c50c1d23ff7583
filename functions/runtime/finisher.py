"""The desk of a worker that pulls: outputs sent over NATS, then their event acknowledged."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final

from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.delivery import Delivery, dead_letter, event_of
from eventing.jetstream.intake import Intake
from eventing.jetstream.messages import Addressed, Outgoing, gathered
from eventing.jetstream.publisher import Publisher
from functions.runtime.effects import Effects, answers_last, fans_out, send_downlinks
from functions.runtime.job import Job
from functions.runtime.meter import Meter
from schemas.step import Step

log = logging.getLogger(__name__)

UNDER_WAY: Final = 16
"""Batches whose hand-offs and timers JetStream has not acknowledged yet, at most."""


class Finisher:
    """Sends effects and acknowledges, without holding up the next batch."""

    def __init__(
        self,
        client: Client,
        intake: Intake,
        publisher: Publisher,
        effects: Effects,
        meter: Meter,
    ) -> None:
        self._client = client
        self._intake = intake
        self._publisher = publisher
        self._effects = effects
        self._meter = meter
        self._tasks: dict[asyncio.Task[None], Sequence[Job]] = {}
        self.stopping = False
        """Whether all that is given back is to come again as it came."""

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """Send what steps put out, and acknowledge their events once it is safe.

        NGAP and PFCP leave at once, but what answers for a whole RAN node after its UEs have been
        told (TS 38.413 8.7.4.2.2). Wake-ups and hand-offs are in JetStream before the event that
        caused them is let go.
        """
        waiting: list[Outgoing] = []
        wakes: dict[str, Outgoing] = {}
        """By their subjects: of two on one, JetStream would keep the later."""
        fan_outs: list[tuple[Job, Step[Any]]] = []
        finished: list[tuple[Job, Step[Any]]] = []
        await self._send((job, step) for job, step in done if not answers_last(step))
        for job, step in done:
            queued = self._effects.queued(job.aggregate, step, job.wake)
            for message in queued:
                if message.subject.startswith(subjects.TIMERS):
                    wakes[message.subject] = message
                else:
                    waiting.append(message)
            many = fans_out(step)
            if many:
                fan_outs.append((job, step))
            if many or queued:
                finished.append((job, step))
            else:
                await self._intake.ack(job.delivery)
                self._meter.decided(step, job.delivery, rejected=job.rejected)
        if finished:
            jobs = [job for job, _ in finished]
            await self._later(self._settle([*waiting, *wakes.values()], fan_outs, finished), jobs)

    async def _send(self, done: Iterable[tuple[Job, Step[Any]]]) -> None:
        steps = [(job.aggregate, step) for job, step in done]
        await send_downlinks(self._client, self._effects, steps)

    async def publish(self, done: Sequence[tuple[Job, Addressed]]) -> None:
        """Publish events in the place of others, and acknowledge those."""
        if done:
            messages = gathered(message for _, message in done)
            jobs = [job for job, _ in done]
            await self._later(self._hand_on(messages, jobs), jobs)

    async def wake(self, job: Job) -> None:
        """See `Desk.wake`."""
        await self._later(self._wake(job), [job])

    async def _wake(self, job: Job) -> None:
        async for page in self._effects.woken(job.event):
            await self._publisher.publish(gathered(page))
        await self.ack(job.delivery)

    async def _hand_on(self, messages: Sequence[Outgoing], jobs: Sequence[Job]) -> None:
        await self._publisher.publish(messages)
        for job in jobs:
            await self.ack(job.delivery)

    async def _settle(
        self,
        messages: Sequence[Outgoing],
        fan_outs: Sequence[tuple[Job, Step[Any]]],
        done: Sequence[tuple[Job, Step[Any]]],
    ) -> None:
        await self._publisher.publish(messages)
        self._effects.kept(messages)
        for job, step in fan_outs:
            async for page in self._effects.fan_out(job.aggregate, step):
                await self._publisher.publish(gathered(page))
            if answers_last(step):
                await self._send([(job, step)])
        for job, step in done:
            await self._intake.ack(job.delivery)
            self._meter.decided(step, job.delivery, rejected=job.rejected)

    async def ack(self, delivery: Delivery) -> None:
        """See `Desk.ack`."""
        await self._intake.ack(delivery)
        self._meter.passed(delivery)

    async def again(self, job: Job, after: float) -> None:
        """See `Desk.again`. One that came with others gets a message of its own: it does not wait
        for them, nor do they come again with it."""
        if job.delivery.progress is None or self.stopping:
            await self._intake.again(job.delivery, after)
        else:
            await self._later(self._alone(job.delivery), [job])

    async def _alone(self, delivery: Delivery) -> None:
        alone = Addressed(delivery.subject, event_of(delivery), repeated=True).outgoing
        await self._publisher.publish([alone])
        await self._intake.ack(delivery)

    async def keep(self, delivery: Delivery, reason: str) -> None:
        """Put an event that nobody can take into the stream of dead letters."""
        await self._publisher.publish([dead_letter(delivery, reason)])

    async def refuse(self, delivery: Delivery, reason: str) -> None:
        """Keep what is no event as a dead letter, and acknowledge it."""
        await self.keep(delivery, reason)
        await self._intake.ack(delivery)
        self._meter.failed(delivery)

    @property
    def under_way(self) -> list[Job]:
        """The jobs whose effects JetStream has not acknowledged yet."""
        return [job for jobs in self._tasks.values() for job in jobs]

    async def _later(self, work: Coroutine[Any, Any, None], jobs: Sequence[Job]) -> None:
        while len(self._tasks) >= UNDER_WAY:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.ensure_future(work)
        self._tasks[task] = jobs
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            # Not acknowledged: the events come again, and their steps are found.
            log.error("effects could not be sent", exc_info=task.exception())

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way; what is not done by then comes again elsewhere."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
