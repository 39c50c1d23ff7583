"""What workers say of their work: once a second, on core NATS, to whoever listens.

A worker publishes its `Stats` on ``stats.<worker>`` when they have changed, and once more at its
end. All numbers in them are of the time since it was started: what is lost is made good by the
next, and a difference of two is what happened between them. `StatsWatch` keeps the last of each
worker.
"""

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from eventing import subjects

log = logging.getLogger(__name__)

PERIOD: Final = 1.0
"""Seconds between two publications of a worker."""
SHORTEST: Final = 0.000_1
"""Seconds up to which a latency is in the first bucket."""
PER_OCTAVE: Final = 4
"""Buckets from a latency to its double: a quantile is right within a fifth."""
LAST: Final = 23 * PER_OCTAVE
"""The bucket of all that took longer than a quarter of an hour."""
KEPT: Final = 1024
"""Workers that a watch tells apart; of older ones it keeps the sum."""


def bucket_of(seconds: float) -> int:
    """The bucket of a latency."""
    if seconds <= SHORTEST:
        return 0
    return min(LAST, math.ceil(math.log2(seconds / SHORTEST) * PER_OCTAVE))


def bound_of(bucket: int) -> float:
    """The longest latency of a bucket, in seconds."""
    return float(SHORTEST * 2 ** (bucket / PER_OCTAVE))


def quantile(latency: Mapping[int, int], share: float) -> float | None:
    """The latency, in seconds, that `share` (0 to 1) of all stay within; None where none are.

    It is the upper bound of a bucket, so never too low and at most a fifth too high.
    """
    left = share * sum(latency.values())
    for bucket in sorted(latency):
        left -= latency[bucket]
        if left <= 0 and latency[bucket]:
            return bound_of(bucket)
    return None


def share_above(latency: Mapping[int, int], seconds: float) -> float:
    """The share of events that took longer than some seconds, to a bucket; 0 of none."""
    count = sum(latency.values())
    within = bucket_of(seconds)
    above = sum(found for bucket, found in latency.items() if bucket > within)
    return above / count if count else 0.0


class ProcedureStats(Struct):
    """What became of the events of one procedure, decided by one version of it."""

    procedure: str
    version: str = ""
    """The version of the procedure that decided, as it is in its steps; empty where none did."""
    steps: int = 0
    """Events that are done with: decided, acknowledged."""
    failures: int = 0
    """Decisions that raised, each time, and events that became dead letters unread."""
    latency: dict[int, int] = field(default_factory=dict[int, int])
    """Events by the bucket of the time from JetStream's storing them to their acknowledgement."""
    rejects: int = 0
    """Steps that denied a UE what it asked for: 5GMM and 5GSM rejects."""

    def merge(self, other: "ProcedureStats") -> None:
        """Add what another worker has done."""
        self.steps += other.steps
        self.failures += other.failures
        self.rejects += other.rejects
        for bucket, count in other.latency.items():
            self.latency[bucket] = self.latency.get(bucket, 0) + count

    def since(self, before: "ProcedureStats | None") -> "ProcedureStats":
        """What came between an earlier state of the same sum and this one."""
        if before is None:
            return self
        latency = {
            bucket: count - before.latency.get(bucket, 0)
            for bucket, count in self.latency.items()
            if count > before.latency.get(bucket, 0)
        }
        return ProcedureStats(
            self.procedure,
            self.version,
            max(0, self.steps - before.steps),
            max(0, self.failures - before.failures),
            latency,
            max(0, self.rejects - before.rejects),
        )


class Batches(Struct):
    """What batches of events have cost: the sums that a line of seconds over events is found by."""

    count: float = 0
    events: float = 0
    seconds: float = 0.0
    squares: float = 0
    """Of the numbers of events."""
    products: float = 0.0
    """Of events and seconds."""
    messages: float = 0
    """In which the events came: what JetStream counts."""

    def add(self, seconds: float, events: int, messages: int) -> None:
        """Count another batch."""
        self.messages += messages
        self.count += 1
        self.events += events
        self.seconds += seconds
        self.squares += events * events
        self.products += events * seconds

    def plus(self, other: "Batches", times: float = 1.0) -> "Batches":
        """The sums of these and of others, which count so many times; -1 takes them off."""
        return Batches(*(a + times * b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def line(self) -> tuple[float, float] | None:
        """Seconds that a batch costs by itself, and that each of its events does; None while
        nothing is known.

        Where the two cannot be told apart, by what was measured, an event costs what events have
        cost on average; and a quarter of that at least.
        """
        if self.events <= 0 or self.seconds <= 0:
            return None
        mean = self.seconds / self.events
        spread = self.count * self.squares - self.events**2
        if spread < self.events**2 / 100:
            return 0.0, mean
        slope = (self.count * self.products - self.events * self.seconds) / spread
        each = min(mean, max(mean / 4, slope))
        return (self.seconds - each * self.events) / self.count, each

    @property
    def per_message(self) -> float:
        """Events that come in a message; 1 while nothing is known."""
        return max(1.0, self.events / self.messages) if self.messages > 0 else 1.0

    def cost(self, events: int) -> float | None:
        """Seconds that an event costs in a batch of so many; None while nothing is known."""
        line = self.line
        return None if line is None else line[1] + line[0] / events


class Stats(Struct, frozen=True):
    """One worker's numbers since its start."""

    worker: str
    """The name of its lease."""
    version: str
    """The version of its lease: what a canary is told by."""
    pid: int
    procedures: tuple[ProcedureStats, ...] = ()
    batches: Batches = field(default_factory=Batches)
    cold_start: float | None = None
    """Seconds from the start of the process to the first event that was done with; None before."""
    ended: bool = False
    """Whether these are its last words."""


Key = tuple[str, str]
"""A procedure and its version."""


def merged(found: Iterable[Stats]) -> dict[Key, ProcedureStats]:
    """The sums over some workers, by procedure and version."""
    sums: dict[Key, ProcedureStats] = {}
    for stats in found:
        for one in stats.procedures:
            key = (one.procedure, one.version)
            if key not in sums:
                sums[key] = ProcedureStats(*key)
            sums[key].merge(one)
    return sums


def between(
    before: Mapping[Key, ProcedureStats], after: Mapping[Key, ProcedureStats]
) -> dict[Key, ProcedureStats]:
    """What came between two sums over the same workers."""
    return {key: one.since(before.get(key)) for key, one in after.items()}


class StatsWatch:
    """The last numbers of every worker that has been heard."""

    def __init__(self, changed: Callable[[Stats], None] | None = None) -> None:
        """`changed` is called with each that comes."""
        self._changed = changed
        self._subscription: Subscription | None = None
        self._gone: dict[str, Stats] = {}
        self.workers: dict[str, Stats] = {}
        """By the names of their leases; those that have ended as well."""

    async def start(self, client: Client) -> None:
        """Listen from now on."""
        self._subscription = await client.subscribe(subjects.stats("*"), cb=self._heard)

    async def stop(self) -> None:
        """Listen no more."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            await subscription.unsubscribe()

    def totals(self, version: str | None = None) -> dict[Key, ProcedureStats]:
        """The sums over all workers, or over those with a version in their leases."""
        found = [*self._gone.values(), *self.workers.values()]
        return merged(s for s in found if version is None or s.version == version)

    async def _heard(self, message: Msg) -> None:
        try:
            stats = msgspec.json.decode(message.data, type=Stats)
        except msgspec.DecodeError as err:
            log.warning("%s cannot be read: %s", message.subject, err)
            return
        self.note(stats)

    def note(self, stats: Stats) -> None:
        """Take the numbers of a worker in the place of those it had."""
        self.workers.pop(stats.worker, None)
        self.workers[stats.worker] = stats
        if len(self.workers) > KEPT:
            oldest = self.workers.pop(next(iter(self.workers)))
            known = self._gone.get(oldest.version)
            both = (oldest,) if known is None else (known, oldest)
            sums = tuple(merged(both).values())
            self._gone[oldest.version] = Stats("", oldest.version, 0, sums, ended=True)
        if self._changed is not None:
            self._changed(stats)
