"""Statistics of workers, published on core NATS once a second.

A worker publishes its `Stats` on ``stats.<worker>`` when they have changed, and once more at its
end. All numbers count from the start of the worker: a lost message does no harm, and the
difference of two messages is the work between them. `StatsWatch` keeps the last `Stats` of each
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
"""Upper bound of the first latency bucket, in seconds."""
PER_OCTAVE: Final = 4
"""Buckets from a latency to its double: the error of a quantile is at most a fifth."""
LAST: Final = 23 * PER_OCTAVE
"""The last bucket: all latencies above a quarter of an hour."""
KEPT: Final = 1024
"""Workers that a watch keeps apart. It keeps the sum of older ones."""


def bucket_of(seconds: float) -> int:
    """Return the bucket of a latency."""
    if seconds <= SHORTEST:
        return 0
    return min(LAST, math.ceil(math.log2(seconds / SHORTEST) * PER_OCTAVE))


def bound_of(bucket: int) -> float:
    """Return the upper bound of a bucket, in seconds."""
    return float(SHORTEST * 2 ** (bucket / PER_OCTAVE))


def quantile(latency: Mapping[int, int], share: float) -> float | None:
    """Return the quantile `share` (0 to 1) of latencies, in seconds; None without any latency.

    The result is the upper bound of a bucket: never too low, and at most a fifth too high.
    """
    left = share * sum(latency.values())
    for bucket in sorted(latency):
        left -= latency[bucket]
        if left <= 0 and latency[bucket]:
            return bound_of(bucket)
    return None


def share_above(latency: Mapping[int, int], seconds: float) -> float:
    """Return the share of events that took longer than `seconds`; 0 without any event.

    The limit is rounded up to the bound of its bucket.
    """
    count = sum(latency.values())
    within = bucket_of(seconds)
    above = sum(found for bucket, found in latency.items() if bucket > within)
    return above / count if count else 0.0


class ProcedureStats(Struct):
    """The work of a worker for one procedure, decided by one version of it."""

    procedure: str
    version: str = ""
    """The version of the procedure that decided, as in its steps; empty for no decision."""
    steps: int = 0
    """Events processed: decided and acknowledged."""
    failures: int = 0
    """Exceptions of decisions, and events that became dead letters unread."""
    latency: dict[int, int] = field(default_factory=dict[int, int])
    """By bucket, the events by their time from storage in JetStream to acknowledgement."""
    rejects: int = 0
    """Steps that rejected a request of a UE: 5GMM and 5GSM rejects."""

    def merge(self, other: "ProcedureStats") -> None:
        """Add the work of another worker."""
        self.steps += other.steps
        self.failures += other.failures
        self.rejects += other.rejects
        for bucket, count in other.latency.items():
            self.latency[bucket] = self.latency.get(bucket, 0) + count

    def since(self, before: "ProcedureStats | None") -> "ProcedureStats":
        """Return the difference from an earlier state of the same sum."""
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
    """The cost of batches of events: sums for a linear regression of seconds over events."""

    count: float = 0
    events: float = 0
    seconds: float = 0.0
    squares: float = 0
    """Sum of the squared numbers of events."""
    products: float = 0.0
    """Sum of the products of events and seconds."""
    messages: float = 0
    """Messages that carried the events; JetStream counts messages."""

    def add(self, seconds: float, events: int, messages: int) -> None:
        """Add a batch."""
        self.messages += messages
        self.count += 1
        self.events += events
        self.seconds += seconds
        self.squares += events * events
        self.products += events * seconds

    def plus(self, other: "Batches", times: float = 1.0) -> "Batches":
        """Return these sums plus `times` the other ones; -1 subtracts."""
        return Batches(*(a + times * b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def line(self) -> tuple[float, float] | None:
        """Seconds for a batch without its events, and seconds for each event; None without data.

        If all batches have about the same size, the cost of a batch is 0 and the cost of an event
        is the mean. The cost of an event is at least a quarter of the mean.
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
        """Mean events in a message; 1 without data."""
        return max(1.0, self.events / self.messages) if self.messages > 0 else 1.0

    def cost(self, events: int) -> float | None:
        """Return the seconds for an event in a batch of `events`; None without data."""
        line = self.line
        return None if line is None else line[1] + line[0] / events


class Load(Struct):
    """The requests that open connections, of a worker: INITIAL UE MESSAGEs."""

    admitted: int = 0
    """Requests since its start that could have been put off, and were served."""
    put_off: int = 0
    """Requests that were rejected because of congestion."""
    dropped: int = 0
    """Requests that their UEs had given up. They were not decided."""
    requests: float = 0.0
    """Waiting requests."""
    wait: float = 0.0
    """The predicted waiting time of the next request, in seconds."""
    capacity: float = 0.0
    """Requests that the worker can serve in a second, with all that follows; 0 if unknown."""
    congested: bool = False
    """Whether it puts requests off."""
    room: float = 1.0
    """The free octets on the disk of its event log, as a share of those that should stay free; 1 if
    there is enough room."""
    stalled: str = ""
    """The reason why the event log takes no steps now; empty if it does."""


class Stats(Struct, frozen=True):
    """The statistics of one worker since its start."""

    worker: str
    """The name of its lease."""
    version: str
    """The version of its lease, which identifies a canary."""
    pid: int
    procedures: tuple[ProcedureStats, ...] = ()
    batches: Batches = field(default_factory=Batches)
    cold_start: float | None = None
    """Seconds from the start of the process to the first processed event; None before."""
    ended: bool = False
    """Whether this is the worker's last publication."""
    load: Load = field(default_factory=Load)


Key = tuple[str, str]
"""A procedure and its version."""


def merged(found: Iterable[Stats]) -> dict[Key, ProcedureStats]:
    """Return the sums over some workers, by procedure and version."""
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
    """Return the differences of two sums over the same workers."""
    return {key: one.since(before.get(key)) for key, one in after.items()}


class StatsWatch:
    """The last statistics of every worker."""

    def __init__(self, changed: Callable[[Stats], None] | None = None) -> None:
        """`changed` is called with all statistics that arrive."""
        self._listeners = [] if changed is None else [changed]
        self._subscription: Subscription | None = None
        self._ended: dict[str, Stats] = {}
        self.workers: dict[str, Stats] = {}
        """By name of the lease; ended workers included."""

    def also(self, changed: Callable[[Stats], None]) -> None:
        """Call `changed`, too, with all statistics that arrive."""
        self._listeners.append(changed)

    async def start(self, client: Client) -> None:
        """Start to listen."""
        self._subscription = await client.subscribe(subjects.stats("*"), cb=self._heard)

    async def request(self, client: Client) -> None:
        """Ask all workers to publish their statistics at once.

        Raises:
            nats.errors.Error: the request cannot be sent.
        """
        await client.publish(subjects.STATS_REQUEST)

    async def stop(self) -> None:
        """Stop to listen."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            await subscription.unsubscribe()

    def totals(self, mark: str = "") -> dict[Key, ProcedureStats]:
        """Return the sums over all workers, or over those with a mark in their lease's version.

        A mark is a word of the version, such as ``"paging=5d41402a"``.
        """
        found = [*self._ended.values(), *self.workers.values()]
        return merged(s for s in found if not mark or mark in s.version.split())

    async def _heard(self, message: Msg) -> None:
        try:
            stats = msgspec.json.decode(message.data, type=Stats)
        except msgspec.DecodeError as err:
            log.warning("%s cannot be read: %s", message.subject, err)
            return
        self.note(stats)

    def note(self, stats: Stats) -> None:
        """Replace the statistics of a worker."""
        self.workers.pop(stats.worker, None)
        self.workers[stats.worker] = stats
        if len(self.workers) > KEPT:
            oldest = self.workers.pop(next(iter(self.workers)))
            known = self._ended.get(oldest.version)
            both = (oldest,) if known is None else (known, oldest)
            sums = tuple(merged(both).values())
            self._ended[oldest.version] = Stats("", oldest.version, 0, sums, ended=True)
        for listener in self._listeners:
            listener(stats)
