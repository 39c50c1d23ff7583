"""Statistics of a worker, published once a second (`eventing.stats`)."""

import asyncio
import logging
import os
import time
from pathlib import Path
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.jetstream.delivery import Delivery, stored_at
from eventing.stats import PERIOD, Batches, Load, ProcedureStats, Stats, bucket_of
from functions.runtime.room import ENOUGH
from functions.runtime.work import BATCH
from schemas.procedures import Procedure
from schemas.step import Step

log = logging.getLogger(__name__)

SOON: Final = 0.25
"""Seconds between two publications while requests wait, or have waited lately. Gateways act on
them: without a report a worker seems to have served nothing."""
LATELY: Final = 3.0
"""Seconds after requests have waited for which reports stay frequent."""
_DECAY: Final = 0.95
STALL: Final = 0.5
"""Seconds from which on a batch may have waited for the store or for JetStream."""
STALLED: Final = 4.0
"""Times the expected duration that such a batch counts at most. Otherwise the first requests after
a stall would be put off, because they seem to take long. A core that has become slower is seen
after some batches."""


class Meter:
    """The statistics of one worker. Recording an event costs about a microsecond."""

    def __init__(self, client: Client, worker: str, version: str) -> None:
        self._client = client
        self._worker = worker
        self._version = version
        self._counts: dict[tuple[str, str], ProcedureStats] = {}
        self._batches = Batches()
        self._recent = Batches()
        """The same with exponential decay."""
        self._behind = Batches()
        """Batches of called events while many waited, with exponential decay."""
        self._cold_start: float | None = None
        self._changed = False
        self.load = Load()
        """The requests of the worker; its owner keeps them up to date."""
        self.room = ENOUGH
        """The room on the disk of the event log."""

    def decided(self, step: Step[Any], delivery: Delivery, *, rejected: bool = False) -> None:
        """Record an acknowledged event with a step; `rejected` if it rejects the UE's request.

        The latency of an event with a SUCI is counted for `identification` only.
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
        """Record an acknowledged event without a step: it had no effect, or was forwarded."""
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
        """Record that a decision raised, or that an event is not valid. `procedure` is the event's
        procedure, if it is not that of the consumer."""
        self._of(procedure or _procedure(delivery), "").failures += 1
        self._changed = True

    def batch_done(
        self, seconds: float, events: int, messages: int, *, typical: bool = True
    ) -> None:
        """Record the duration of a batch, with its number of events and messages. It changes the
        cost of an event only if it is `typical`."""
        self._batches.add(seconds, events, messages)
        cost = self._recent.cost(events) if events else None
        if cost is not None and seconds >= STALL:
            seconds = min(seconds, STALLED * cost * events)
        if typical:
            self._recent = self._recent.plus(self._recent, _DECAY - 1)
            self._recent.add(seconds, events, messages)
        if self._cold_start is None and events:
            self._cold_start = age_of_process()
            self._changed = True

    def behind(self, seconds: float, events: int) -> None:
        """Record the duration of a batch while a full one waited at its callers, with the pause
        before it."""
        self._behind = self._behind.plus(self._behind, _DECAY - 1)
        self._behind.add(seconds, events, events)

    @property
    def cost_behind(self) -> float | None:
        """Seconds for a called event while many wait, lately; None before a measurement.

        Callers send fewer events together than a worker takes, and HTTP takes time between batches.
        """
        found = self._behind
        return found.seconds / found.events if found.events else self.cost

    @property
    def cost(self) -> float | None:
        """Seconds for an event in a full batch, lately; None before a measurement."""
        return self._recent.cost(BATCH)

    def events_within(self, seconds: float) -> int:
        """Return the number of events that a batch can process in a time; 0 if unknown."""
        line = self._recent.line
        return 0 if line is None else max(1, int((seconds - line[0]) / line[1]))

    def _of(self, procedure: str, version: str) -> ProcedureStats:
        key = (procedure, version)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = ProcedureStats(procedure, version)
        return counts

    def stats(self, *, ended: bool = False) -> Stats:
        """Return the current statistics."""
        return Stats(
            worker=self._worker,
            version=self._version,
            pid=os.getpid(),
            procedures=tuple(self._counts.values()),
            batches=self._batches,
            cold_start=self._cold_start,
            ended=ended,
            load=self.load,
        )

    async def report(self) -> None:
        """Publish the statistics whenever they have changed or are requested, until cancelled."""
        await self._client.subscribe(subjects.STATS_REQUEST, cb=self._requested)
        at, waited = 0.0, float("-inf")
        while True:
            await asyncio.sleep(min(SOON, PERIOD))
            now = time.monotonic()
            waited = now if self.load.requests else waited
            self.load.room = self.room.share
            # Gateways and `evcore up` act on these as long as they are reported.
            held = self.load.stalled or self.load.room < 1.0
            if (self._changed or held) and (now - waited <= LATELY or now - at >= PERIOD):
                at = now
                await self._publish(self.stats())

    async def _requested(self, _: Msg) -> None:
        await self._publish(self.stats())

    async def report_end(self) -> None:
        """Publish the final statistics of the worker."""
        await self._publish(self.stats(ended=True))

    async def _publish(self, stats: Stats) -> None:
        self._changed = False
        try:
            await self._client.publish(subjects.stats(self._worker), msgspec.json.encode(stats))
        except NatsError as err:
            self._changed = True
            log.info("the statistics are not published: %s", err)


def _procedure(delivery: Delivery) -> str:
    """Return the procedure of the consumer of an event."""
    return delivery.consumer.rpartition("-")[0]


def age_of_process() -> float:
    """Return the seconds since this process was started or forked, to about 10 ms."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
