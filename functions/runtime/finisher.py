"""The end of a job: its outputs sent, then its event acknowledged."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from eventing.intake import Intake
from eventing.publisher import Outgoing, Publisher
from functions.runtime.effects import Effects
from functions.runtime.job import Job
from schemas.step import FanOut, Step

log = logging.getLogger(__name__)

UNDER_WAY: Final = 16
"""Batches whose hand-offs and timers JetStream has not acknowledged yet, at most."""


class Finisher:
    """Sends effects and acknowledges, without holding up the next batch."""

    def __init__(self, intake: Intake, publisher: Publisher, effects: Effects) -> None:
        self._intake = intake
        self._publisher = publisher
        self._effects = effects
        self._tasks: set[asyncio.Task[None]] = set()

    async def steps(self, done: Sequence[tuple[Job, Step[Any]]]) -> None:
        """Send what steps put out, and acknowledge their events once it is safe.

        NGAP leaves at once. Wake-ups and hand-offs are in JetStream before the event that
        caused them is let go.
        """
        waiting: list[Outgoing] = []
        fan_outs: list[tuple[Job, Step[Any]]] = []
        finished: list[Job] = []
        for job, step in done:
            await self._effects.send_downlinks(job.aggregate, step)
            queued = self._effects.queued(job.aggregate, step)
            waiting.extend(queued)
            if any(isinstance(output, FanOut) for output in step.outputs):
                fan_outs.append((job, step))
            elif not queued:
                await self._intake.ack(job.delivery)
                continue
            finished.append(job)
        if finished:
            await self._later(self._settle(waiting, fan_outs, finished))

    async def publish(self, done: Sequence[tuple[Job, Outgoing]]) -> None:
        """Publish events in the place of others, and acknowledge those."""
        if done:
            messages = [message for _, message in done]
            await self._later(self._settle(messages, [], [job for job, _ in done]))

    async def _settle(
        self,
        messages: Sequence[Outgoing],
        fan_outs: Sequence[tuple[Job, Step[Any]]],
        jobs: Sequence[Job],
    ) -> None:
        await self._publisher.publish(messages)
        for job, step in fan_outs:
            await self._effects.fan_out(job.aggregate, step)
        for job in jobs:
            await self._intake.ack(job.delivery)

    async def _later(self, work: Any) -> None:
        while len(self._tasks) >= UNDER_WAY:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._tasks.discard(task)  # pyright: ignore[reportArgumentType]
        if not task.cancelled() and task.exception() is not None:
            # Not acknowledged: the events come again, and their steps are found.
            log.error("effects could not be sent", exc_info=task.exception())

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way; what is not done by then comes again elsewhere."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
