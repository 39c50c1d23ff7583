"""Counts what a worker does, and says so once a second (`eventing.stats`)."""

import asyncio
import logging
import os
import time
from pathlib import Path
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.jetstream.delivery import Delivery, stored_at
from eventing.stats import PERIOD, Batches, ProcedureStats, Stats, bucket_of
from schemas.procedures import Procedure
from schemas.step import Step

log = logging.getLogger(__name__)

_FORGET: Final = 0.95


class Meter:
    """The numbers of one worker. What it is told costs about a microsecond an event."""

    def __init__(self, client: Client, worker: str, version: str) -> None:
        self._client = client
        self._worker = worker
        self._version = version
        self._counts: dict[tuple[str, str], ProcedureStats] = {}
        self._batches = Batches()
        self._lately = Batches()
        """The same, where the older ones count less."""
        self._cold_start: float | None = None
        self._changed = False

    def decided(self, step: Step[Any], delivery: Delivery, *, rejected: bool = False) -> None:
        """The event of a delivery has become a step, and is acknowledged; `rejected` says that it
        denies the UE what it asked for.

        What came concealed has waited for its name before it could wait for this: it is not timed.
        """
        first = _procedure(delivery)
        if first == Procedure.IDENTIFICATION:
            self._done(first, "", delivery.reply)
            self._of(step.procedure, step.code).steps += 1
        else:
            self._done(step.procedure, step.code, delivery.reply)
        if rejected:
            self._of(step.procedure, step.code).rejects += 1

    def passed(self, delivery: Delivery) -> None:
        """An event is acknowledged that has left no step: it changed nothing, or was handed on."""
        self._done(_procedure(delivery), "", delivery.reply)

    def _done(self, procedure: str, version: str, reply: str) -> None:
        counts = self._of(procedure, version)
        counts.steps += 1
        self._changed = True
        at = stored_at(reply)
        if at is not None:
            bucket = bucket_of(time.time() - at)
            counts.latency[bucket] = counts.latency.get(bucket, 0) + 1

    def failed(self, delivery: Delivery, procedure: str = "") -> None:
        """A decision about an event raised, or the event cannot be read; `procedure` is the one
        that it was for, if not that of the consumer it came by."""
        self._of(procedure or _procedure(delivery), "").failures += 1
        self._changed = True

    def worked(self, seconds: float, events: int, messages: int) -> None:
        """A batch of events, which came in so many messages, has taken so long."""
        self._batches.add(seconds, events, messages)
        self._lately = self._lately.plus(self._lately, _FORGET - 1)
        self._lately.add(seconds, events, messages)
        if self._cold_start is None and events:
            self._cold_start = age_of_process()
            self._changed = True

    def events_within(self, seconds: float) -> int:
        """How many events a batch may have to take no longer than so; 0 while that is not known."""
        line = self._lately.line
        return 0 if line is None else max(1, int((seconds - line[0]) / line[1]))

    def _of(self, procedure: str, version: str) -> ProcedureStats:
        key = (procedure, version)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = ProcedureStats(procedure, version)
        return counts

    def stats(self, *, ended: bool = False) -> Stats:
        """The numbers as they are now."""
        return Stats(
            worker=self._worker,
            version=self._version,
            pid=os.getpid(),
            procedures=tuple(self._counts.values()),
            batches=self._batches,
            cold_start=self._cold_start,
            ended=ended,
        )

    async def report(self) -> None:
        """Publish the numbers whenever they have changed, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD)
            if self._changed:
                await self._publish(self.stats())

    async def last_words(self) -> None:
        """Publish the numbers as they are at the end of the worker."""
        await self._publish(self.stats(ended=True))

    async def _publish(self, stats: Stats) -> None:
        self._changed = False
        try:
            await self._client.publish(subjects.stats(self._worker), msgspec.json.encode(stats))
        except NatsError as err:
            self._changed = True
            log.info("nobody hears the statistics: %s", err)


def _procedure(delivery: Delivery) -> str:
    """The procedure whose consumer brought an event."""
    return delivery.consumer.rpartition("-")[0]


def age_of_process() -> float:
    """Seconds since this process was started or forked, to about 10 ms."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
