"""Watch canaries: promote those with a live worker, roll back those that fail or are worse."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from nats.aio.client import Client
from nats.errors import Error
from nats.js.kv import KeyValue

from evcore.swap.judge import Counts, counted, verdict
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment, AssignmentWatch, SwapError
from eventing.ownership.leases import Lease
from eventing.process import cancel_and_wait
from eventing.stats import Stats, StatsWatch

log = logging.getLogger(__name__)

LOOK: Final = 0.5
"""Seconds between two checks of a canary. A changed assignment is checked at once."""
START: Final = 30.0
"""Seconds in which the first worker of a canary must start."""
LOST: Final = 5.0
"""Seconds without a live worker after which a started canary is rolled back."""
ANSWERS: Final = 2.0
"""Seconds to wait for the statistics that a watch requests from all workers."""
DYING: Final = 10.0
"""Seconds without a lease after which a worker counts as dead.

A worker that ends in order publishes its last statistics within this time."""
DEATHS: Final = 3
"""Number of dead workers at which a canary is rolled back."""

_Key = tuple[str, str]
"""A procedure and the id of its canary."""


class Canaries:
    """Judges canaries by the leases and the statistics of their workers."""

    def __init__(
        self,
        kv: KeyValue,
        stats: StatsWatch,
        fault: Callable[[Assignment], str] = lambda _: "",
        before: Sequence[Stats] = (),
    ) -> None:
        """`stats` receives the statistics of the workers.

        `fault` returns a sentence if a worker process of a canary has failed or hangs, otherwise an
        empty string. `before` has earlier statistics of the workers, which do not count.
        """
        self._kv = kv
        self._stats = stats
        self._fault = fault
        self._before = before
        self._begun: dict[str, tuple[Assignment, Counts]] = {}
        """By procedure, the assignment that is judged, and the counts at its first check."""
        self._alive_at: dict[_Key, float] = {}
        """By canary, the time of the last check with a live worker, or of the first check."""
        self._started: set[_Key] = set()
        """The canaries that have had a live worker."""
        self._missing_since: dict[_Key, dict[str, float]] = {}
        """By canary and worker, the time of the first check without the lease of the worker; 0
        while the worker has a lease."""

    async def look(self, on_trial: Sequence[Assignment], live: Sequence[Lease]) -> None:
        """Judge the canaries `on_trial`, by the leases of all live workers."""
        keys = {_key(one) for one in on_trial}
        self._alive_at = {key: at for key, at in self._alive_at.items() if key in keys}
        self._missing_since = {k: since for k, since in self._missing_since.items() if k in keys}
        self._started &= keys
        for one in on_trial:
            await self._check(one, live)

    def missed(self) -> None:
        """Restart all periods without a worker, because a check was not possible."""
        self._alive_at.clear()
        self._missing_since.clear()

    async def _check(self, one: Assignment, live: Sequence[Lease]) -> None:
        key, now = _key(one), time.monotonic()
        hosts = {lease.worker for lease in live if lease.hosts(one.procedure, one.canary)}
        alive_at = self._alive_at.setdefault(key, now)
        if hosts:
            self._alive_at[key] = now
            self._started.add(key)
        limit = LOST if key in self._started else START
        reason = self._fault(one) or self._deaths(key, hosts, now)
        if not reason and not hosts and now - alive_at > limit:
            reason = f"no worker of it has lived for {limit:g} s"
        if not reason and one.state == "canary":
            reason = self._compared(one)
        if reason:
            await self._write(one, assignments.rolled_back(one, reason, milliseconds()))
        elif hosts and one.state == "starting":
            await self._write(one, assignments.promoted(one, milliseconds()))

    def _deaths(self, key: _Key, hosts: set[str], now: float) -> str:
        """Return a sentence if `DEATHS` workers of a canary have died, otherwise an empty string.

        A worker that ends in order does not count: `ended` is set in its last statistics.
        """
        missing_since = self._missing_since.setdefault(key, {})
        missing_since |= dict.fromkeys(hosts, 0.0)
        for worker in missing_since.keys() - hosts:
            missing_since[worker] = missing_since[worker] or now
        for worker, stats in self._stats.workers.items():
            if stats.ended:
                missing_since.pop(worker, None)
        dead = sum(1 for since in missing_since.values() if since and now - since > DYING)
        return f"{dead} workers of it have died" if dead >= DEATHS else ""

    def _compared(self, one: Assignment) -> str:
        """Return a sentence if the canary is worse than the stable version, since its first check.

        Return an empty string if it is not.
        """
        counts = counted(self._stats, one.procedure, one.canary, self._before)
        judged, at_begin = self._begun.get(one.procedure, (None, counts))
        if judged != one:
            self._begun[one.procedure] = (one, counts)
            return ""
        return verdict(counts.since(at_begin), one.margins)

    async def _write(self, before: Assignment, after: Assignment) -> None:
        """Replace the assignment `before` by `after`, unless another process has changed it."""
        current, revision = await assignments.read(self._kv, before.procedure)
        if current != before:
            return
        try:
            await assignments.write(self._kv, after, revision)
        except (SwapError, Error) as err:
            log.warning("%s: %s", before.procedure, err)


class CanaryWatch:
    """Watches one canary of a core that `evcore up` does not run."""

    def __init__(self, client: Client, procedure: str) -> None:
        """Make an inactive watch. `watching` starts and stops one."""
        self._client = client
        self._procedure = procedure
        self._woken = asyncio.Event()
        self._assigned = AssignmentWatch(client, self._woken.set)
        self._heard = asyncio.Event()
        self._stats = StatsWatch(lambda _: self._heard.set())

    async def start(self) -> None:
        """Request the statistics of the workers, and read the assignments.

        Raises:
            TimeoutError: JetStream does not answer.
            nats.errors.Error: the same.
        """
        workers = {lease.worker for lease in await leases.live(self._client)}
        await self._stats.start(self._client)
        await self._stats.request(self._client)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWERS):
                while workers - self._stats.workers.keys():
                    self._heard.clear()
                    await self._heard.wait()
        before = tuple(self._stats.workers.values())
        kv = await self._assigned.start()
        self._canaries = Canaries(kv, self._stats, before=before)

    async def stop(self) -> None:
        """Stop receiving assignments and statistics."""
        await self._assigned.stop()
        await self._stats.stop()

    async def run(self) -> None:
        """Judge the canary of the procedure, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self._woken.wait()
            self._woken.clear()
            try:
                await self._assigned.refresh()
                one = self._assigned.current.get(self._procedure)
                if one is not None and one.under_way:
                    await self._canaries.look([one], await leases.live(self._client))
            except Exception as err:
                log.warning("the canary could not be judged", exc_info=err)
                self._canaries.missed()

    async def ended(self, variant: str, since: int) -> Assignment:
        """Wait until the swap of a variant ends, and return the last assignment.

        A change before `since`, in milliseconds since the Unix epoch, belongs to an earlier swap.
        """
        while True:
            one = self._assigned.current.get(self._procedure)
            is_new = one is not None and one.canary == variant and one.at >= since
            if one is not None and is_new and not one.under_way:
                return one
            await asyncio.sleep(LOOK / 5)


@asynccontextmanager
async def watching(client: Client, procedure: str) -> AsyncGenerator[CanaryWatch]:
    """Judge the canary of a procedure while the context is open.

    Raises:
        TimeoutError: JetStream does not answer.
        nats.errors.Error: the same.
    """
    watch = CanaryWatch(client, procedure)
    await watch.start()
    running = asyncio.ensure_future(watch.run())
    try:
        yield watch
    finally:
        await cancel_and_wait([running])
        await watch.stop()


def milliseconds() -> int:
    """Return the time of this host, in milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def sentence(one: Assignment) -> str:
    """Return the state of a swap as a sentence for the operator."""
    subject = f"{one.procedure} {one.canary}"
    partitions = ", ".join(map(str, one.partitions))
    match one.state:
        case "starting":
            return f"{subject} is being started for partitions {partitions}"
        case "canary":
            return f"{subject} decides in partitions {partitions}"
        case "finished":
            return f"{subject} decides everywhere"
        case "aborted":
            back = one.stable or "the version that evcore came with"
            return f"{subject} was withdrawn ({one.reason}); {back} decides everywhere"
        case "rolled-back":
            return f"{subject} is rolled back: {one.reason}"


def _key(one: Assignment) -> _Key:
    return one.procedure, one.canary
