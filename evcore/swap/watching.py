"""The watch over canaries: it promotes those that live, and rolls back those that are worse."""

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
"""Seconds between looks at a canary, when nothing else asks for one."""
START: Final = 30.0
"""Seconds that the first worker of a canary is given to start."""
LOST: Final = 5.0
"""Seconds without any worker of a canary after which it is rolled back."""
ANSWERS: Final = 2.0
"""Seconds that workers have to publish the statistics that this watch asks for."""
DYING: Final = 10.0
"""Seconds after its lease in which a worker that ends in order publishes its last statistics."""
DEATHS: Final = 3
"""Workers of a canary that may end out of order before it is rolled back."""

_Key = tuple[str, str]
"""A procedure and its canary."""


class Canaries:
    """Judges the canaries of a core by the leases and the statistics of their workers."""

    def __init__(
        self,
        kv: KeyValue,
        stats: StatsWatch,
        fault: Callable[[Assignment], str] = lambda _: "",
        before: Sequence[Stats] = (),
    ) -> None:
        """`stats` hears the workers.

        `fault` returns why the workers of a canary are at fault, in a sentence, as far as their
        processes tell it. `before` has earlier statistics of the workers, which do not count.
        """
        self._kv = kv
        self._stats = stats
        self._fault = fault
        self._before = before
        self._begun: dict[str, tuple[Assignment, Counts]] = {}
        """By procedure, the canary that is judged, and its counts when it began."""
        self._alive_at: dict[_Key, float] = {}
        """When a worker of each canary last lived, or was first looked for."""
        self._lived: set[_Key] = set()
        """The canaries with a worker that was ever seen."""
        self._gone: dict[_Key, dict[str, float]] = {}
        """By canary, the workers that were seen, and when their leases were missed first; 0 for
        those that live."""

    async def look(self, on_trial: Sequence[Assignment], live: Sequence[Lease]) -> None:
        """Judge the canaries that are under way, by the leases of all live workers."""
        keys = {_key(one) for one in on_trial}
        self._alive_at = {key: at for key, at in self._alive_at.items() if key in keys}
        self._gone = {key: found for key, found in self._gone.items() if key in keys}
        self._lived &= keys
        for one in on_trial:
            await self._see_to(one, live)

    def missed(self) -> None:
        """Forget when workers were seen: they could not be looked at for some time."""
        self._alive_at.clear()
        self._gone.clear()

    async def _see_to(self, one: Assignment, live: Sequence[Lease]) -> None:
        key, now = _key(one), time.monotonic()
        hosts = {lease.worker for lease in live if lease.hosts(one.procedure, one.canary)}
        seen = self._alive_at.setdefault(key, now)
        if hosts:
            self._alive_at[key] = now
            self._lived.add(key)
        patience = LOST if key in self._lived else START
        why = self._fault(one) or self._deaths(key, hosts, now)
        if not why and not hosts and now - seen > patience:
            why = f"no worker of it has lived for {patience:g} s"
        if not why and one.state == "canary":
            why = self._judged(one)
        if why:
            await self._write(one, assignments.rolled_back(one, why, milliseconds()))
        elif hosts and one.state == "starting":
            await self._write(one, assignments.promoted(one, milliseconds()))

    def _deaths(self, key: _Key, hosts: set[str], now: float) -> str:
        """Return how many workers of a canary have died, in a sentence, if these are too many.

        A worker that ends in order says so in its last statistics.
        """
        seen = self._gone.setdefault(key, {})
        seen |= dict.fromkeys(hosts, 0.0)
        for worker in seen.keys() - hosts:
            seen[worker] = seen[worker] or now
        for worker, stats in self._stats.workers.items():
            if stats.ended:
                seen.pop(worker, None)
        dead = sum(1 for at in seen.values() if at and now - at > DYING)
        return f"{dead} workers of it have died" if dead >= DEATHS else ""

    def _judged(self, one: Assignment) -> str:
        counts = counted(self._stats, one.procedure, one.canary, self._before)
        known = self._begun.get(one.procedure)
        if known is None or known[0] != one:
            self._begun[one.procedure] = (one, counts)
            return ""
        return verdict(counts.since(known[1]), one.margins)

    async def _write(self, before: Assignment, after: Assignment) -> None:
        """Write the new state of a swap, unless it has changed meanwhile."""
        found, revision = await assignments.read(self._kv, before.procedure)
        if found != before:
            return
        try:
            await assignments.write(self._kv, after, revision)
        except (SwapError, Error) as err:
            log.warning("%s: %s", before.procedure, err)


class CanaryWatch:
    """Watches one canary of a core that something else than `evcore up` runs."""

    def __init__(self, client: Client, procedure: str) -> None:
        """Use `watching`."""
        self._client = client
        self._procedure = procedure
        self._woken = asyncio.Event()
        self._assigned = AssignmentWatch(client, self._woken.set)
        self._heard = asyncio.Event()
        self._stats = StatsWatch(lambda _: self._heard.set())

    async def start(self) -> None:
        """Hear the workers, and learn the assignments.

        Raises:
            nats.errors.Error: JetStream does not answer.
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
        """Stop to hear them."""
        await self._assigned.stop()
        await self._stats.stop()

    async def run(self) -> None:
        """Judge the canary of the procedure, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), LOOK)
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
        """Wait until a variant is no canary any more, by a change since a time; return it."""
        while True:
            one = self._assigned.current.get(self._procedure)
            is_new = one is not None and one.canary == variant and one.at >= since
            if one is not None and is_new and not one.under_way:
                return one
            await asyncio.sleep(LOOK / 5)


@asynccontextmanager
async def watching(client: Client, procedure: str) -> AsyncGenerator[CanaryWatch]:
    """Judge the canary of a procedure in this context.

    Raises:
        nats.errors.Error: JetStream does not answer.
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
    """Return the state of a swap as a sentence."""
    what = f"{one.procedure} {one.canary}"
    partitions = ", ".join(map(str, one.partitions))
    match one.state:
        case "starting":
            return f"{what} is being started for partitions {partitions}"
        case "canary":
            return f"{what} decides in partitions {partitions}"
        case "finished":
            return f"{what} decides everywhere"
        case "aborted":
            back = one.stable or "the version that evcore came with"
            return f"{what} was withdrawn ({one.reason}); {back} decides everywhere"
        case "rolled-back":
            return f"{what} is rolled back: {one.reason}"


def _key(one: Assignment) -> _Key:
    return one.procedure, one.canary
