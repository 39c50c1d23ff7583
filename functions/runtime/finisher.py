"""The end of a job: its outputs sent, then its event acknowledged."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from eventing.intake import Intake
from eventing.publisher import Outgoing, Publisher
from functions.runtime.effects import Effects
from functions.runtime.job import Job
from schemas.step import FanOut, FanOutSessions, Step

log = logging.getLogger(__name__)

UNDER_WAY: Final = 16
"""Batches whose hand-offs and timers JetStream has not acknowledged yet, at most."""


class Finisher:
    """Sends effects and acknowledges, without holding up the next batch."""

    def __init__(self, intake: Intake, publisher: Publisher, effects: Effects) -> None:
        self._intake = intake
        self._publisher = publisher
        self._effects = effects
        self._tasks: dict[asyncio.Task[None], Sequence[Job]] = {}

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """Send what steps put out, and acknowledge their events once it is safe.

        NGAP and PFCP leave at once, but what answers for a whole RAN node after its UEs have been
        told (TS 38.413 8.7.4.2.2). Wake-ups and hand-offs are in JetStream before the event that
        caused them is let go.
        """
        waiting: list[Outgoing] = []
        fan_outs: list[tuple[Job, Step[Any]]] = []
        finished: list[Job] = []
        for job, step in done:
            queued = self._effects.queued(job.aggregate, step)
            waiting.extend(queued)
            fans_out = any(isinstance(output, FanOut | FanOutSessions) for output in step.outputs)
            if fans_out:
                fan_outs.append((job, step))
            if not _answers_last(step):
                await self._effects.send_downlinks(job.aggregate, step)
            if fans_out or queued:
                finished.append(job)
            else:
                await self._intake.ack(job.delivery)
        if finished:
            await self._later(self._settle(waiting, fan_outs, finished), finished)

    async def publish(self, done: Sequence[tuple[Job, Outgoing]]) -> None:
        """Publish events in the place of others, and acknowledge those."""
        if done:
            messages = [message for _, message in done]
            jobs = [job for job, _ in done]
            await self._later(self._settle(messages, [], jobs), jobs)

    async def _settle(
        self,
        messages: Sequence[Outgoing],
        fan_outs: Sequence[tuple[Job, Step[Any]]],
        jobs: Sequence[Job],
    ) -> None:
        await self._publisher.publish(messages)
        for job, step in fan_outs:
            await self._effects.fan_out(job.aggregate, step)
            if _answers_last(step):
                await self._effects.send_downlinks(job.aggregate, step)
        for job in jobs:
            await self._intake.ack(job.delivery)

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


def _answers_last(step: Step[Any]) -> bool:
    """Whether what a step says is an answer for UEs that are to be told first. A UPF is answered
    before: it is to be associated when its sessions come back."""
    return any(isinstance(output, FanOut) for output in step.outputs)
