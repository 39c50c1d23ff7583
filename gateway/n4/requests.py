"""The core's requests to UPFs: sequence numbers, repetitions, timeouts (TS 29.244 6.4)."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from gateway.n4.endpoint import N4Counters
from gateway.n4.incarnation import Incarnation
from gateway.n4.pfcp import FIRST_OF_SESSIONS, SEQUENCES, VERSION_NOT_SUPPORTED, with_sequence
from schemas.cloudevents import CloudEvent
from schemas.identity import seid_of_index

PACE: Final = 2000
"""By how many numbers a second the first sequence number advances."""

MAX_QUEUE: Final = 8192
"""Maximum requests that wait to be sent to a UPF."""
_REMEMBERED: Final = 4096
"""Sequence numbers of answered requests that are kept, to recognize repeated responses."""
NEWEST_FOR: Final = 20.0
"""Seconds for which the number of a session's last request is kept: copies of earlier requests come
sooner, and the SEID is another session's later (`statestore.contract.QUARANTINE`)."""
MAX_NEWEST: Final = 65536
"""Sessions whose last number is kept; the oldest is dropped first."""


def first_sequence(now: float | None = None) -> int:
    """Return the first sequence number of a gateway that starts at `now`, in seconds since 1970.

    A UPF may still keep its responses to the previous gateway process, and would repeat one of
    them for a request with the same number. The new process starts ahead of the numbers of the
    previous one, if that sent at most `PACE` requests a second.
    """
    return int((time.time() if now is None else now) * PACE) % SEQUENCES


class Sequences:
    """The sequence numbers of this UDP endpoint (7.2.2.2), each for one waiting request."""

    def __init__(self, first: int) -> None:
        self._next = first % SEQUENCES
        self._used: set[int] = set()

    def take(self) -> int:
        """Return a free number and reserve it. Fewer requests may wait than numbers exist."""
        while self._next in self._used:
            self._next = (self._next + 1) % SEQUENCES
        sequence = self._next
        self._used.add(sequence)
        self._next = (sequence + 1) % SEQUENCES
        return sequence

    def free(self, sequence: int) -> None:
        """Free the number of a request that is answered or timed out."""
        self._used.discard(sequence)


T = TypeVar("T")


class Deadlines(Generic[T]):
    """Calls `due` with each item a constant time after `add`; one timer serves all items."""

    def __init__(self, seconds: float, due: Callable[[T], None]) -> None:
        self._seconds = seconds
        self._due = due
        self._waiting: deque[tuple[float, T]] = deque()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, item: T) -> None:
        """Start the time of an item. It cannot be cancelled: `due` ignores an obsolete item."""
        at = self._loop.time() + self._seconds
        self._waiting.append((at, item))
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._expire)

    def close(self) -> None:
        """Drop all items."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        due: list[T] = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(self._waiting.popleft()[1])
        if self._waiting:
            self._timer = self._loop.call_at(self._waiting[0][0], self._expire)
        for item in due:
            self._due(item)


class Fate(Enum):
    """The result of handing a request over."""

    SENT = auto()
    QUEUED = auto()
    UNDER_WAY = auto()
    SUPERSEDED = auto()
    ENDED = auto()
    """The request is for a former incarnation of the UPF."""
    NO_ROOM = auto()


class NewestRequests:
    """The number of the last request about each session.

    The core has one request about a session at a time, and numbers them in ascending order. A new
    request supersedes the earlier ones: a UPF that has restarted must not get a copy of the first
    establishment after the session was restored.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._newest: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def note(self, key: str, number: int) -> int:
        """Note a request about the session `key`; return the number of the newest before, or -1."""
        now = self._clock()
        while self._newest:
            oldest = next(iter(self._newest.values()))
            if oldest[1] + NEWEST_FOR > now and len(self._newest) < MAX_NEWEST:
                break
            self._newest.popitem(last=False)
        before, _ = self._newest.pop(key, (-1, now))
        self._newest[key] = max(before, number), now
        return before


class PendingRequest:
    """A request without a response; `event` is None for a heartbeat of the gateway."""

    __slots__ = ("began", "event", "message_type", "octets", "sent", "sequence")

    def __init__(self, event: CloudEvent | None, octets: bytes, message_type: int) -> None:
        self.event = event
        self.octets = octets
        self.message_type = message_type
        self.began = 0.0
        """Time of the first transmission, in seconds of the event loop."""
        self.sequence = -1
        self.sent = 0
        """Number of transmissions."""

    @property
    def is_of_session(self) -> bool:
        """Whether it is a session message."""
        return self.message_type >= FIRST_OF_SESSIONS


class Requests:
    """The requests to one UPF: those that wait for a response, and the queue behind them."""

    def __init__(
        self,
        sequences: Sequences,
        counters: N4Counters,
        t1: float,
        n1: int,
        window: int,
        send: Callable[[bytes], None],
        timed_out: Callable[[PendingRequest], None],
        ended: Callable[[CloudEvent, bytes, int], None],
    ) -> None:
        """T1 is in seconds, N1 a number of repetitions (6.4); `window` limits waiting requests.

        `ended` gets each request that ends with a restart of the UPF: its event, its octets, and
        the UPF's Recovery Time Stamp.
        """
        self._sequences = sequences
        self._counters = counters
        self._n1 = n1
        self._window = window
        self._send = send
        self._timed_out = timed_out
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self.incarnation = Incarnation()
        self._deadlines: Deadlines[PendingRequest] = Deadlines(t1, self._due)
        self._waiting: dict[int, PendingRequest] = {}
        self._heartbeats = 0
        """Heartbeats among the waiting requests; they do not count for the window."""
        self._queue: deque[PendingRequest] = deque()
        self._under_way: dict[tuple[str, int], PendingRequest] = {}
        self._newest = NewestRequests()
        self._answered: OrderedDict[int, None] = OrderedDict()
        self.idle = asyncio.Event()
        """Set while no request waits for a response."""
        self.idle.set()

    def submit(self, event: CloudEvent, octets: bytes, message_type: int) -> Fate:
        """Send a request of the core, or queue it.

        A request that is under way, or superseded by a later one about its session, is dropped. So
        is a request for a former incarnation of the UPF: its SEID may be that of another session
        now (TS 23.527 4.3).
        """
        name = _name(event)
        if event.incarnation is not None:
            if self.incarnation.is_over(event.incarnation):
                self._end_of_former(event, octets)
                return Fate.ENDED
            self.begin_incarnation(event.incarnation)
        if name is not None and name in self._under_way:
            return Fate.UNDER_WAY
        if name is not None and seid_of_index(name[0]):
            before = self._newest.note(*name)
            if before > name[1]:
                return Fate.SUPERSEDED
            self._drop((name[0], before))
        pending = PendingRequest(event, octets, message_type)
        if self._has_room or message_type < FIRST_OF_SESSIONS:  # node messages do not queue
            self._begin(pending)
            fate = Fate.SENT
        elif len(self._queue) < MAX_QUEUE:
            self._queue.append(pending)
            fate = Fate.QUEUED
        else:
            return Fate.NO_ROOM
        if name is not None:
            self._under_way[name] = pending
        return fate

    def begin_incarnation(self, stamp: int) -> bool:
        """Note the UPF's current Recovery Time Stamp. Return whether the UPF has restarted.

        A restart ends all pending requests about sessions that are not for this incarnation.
        """
        if not self.incarnation.begin(stamp):
            return False
        former = [p for p in self._queue if _is_former(p, stamp)]
        self._queue = deque(p for p in self._queue if not _is_former(p, stamp))
        former += [p for p in self._waiting.values() if _is_former(p, stamp)]
        for pending in former:
            if self._waiting.get(pending.sequence) is pending:
                self._end(pending)
            elif pending.event is not None and (name := _name(pending.event)) is not None:
                self._under_way.pop(name, None)
            if pending.event is not None:
                self._end_of_former(pending.event, pending.octets)
        return True

    def _end_of_former(self, event: CloudEvent, octets: bytes) -> None:
        self._counters.ended += 1
        self._ended(event, octets, self.incarnation.current or 0)

    def is_pending(self, sequence: int) -> bool:
        """Whether a request with this number waits for its response."""
        return sequence in self._waiting

    def send_heartbeat(self, octets: bytes, message_type: int) -> None:
        """Send a heartbeat of the gateway; it does not queue."""
        self._heartbeats += 1
        self._begin(PendingRequest(None, octets, message_type))

    def answered(self, sequence: int, message_type: int) -> PendingRequest | None:
        """Remove and return the request of a response; None if no request matches."""
        pending = self._waiting.get(sequence)
        if pending is None or message_type not in (pending.message_type + 1, VERSION_NOT_SUPPORTED):
            return None
        self._answered[sequence] = None
        self._answered.move_to_end(sequence)
        if len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)
        self._end(pending)
        return pending

    def was_answered(self, sequence: int) -> bool:
        """Whether a request with this number was answered recently."""
        return sequence in self._answered

    def close(self) -> None:
        """Stop all repetitions."""
        self._deadlines.close()

    def _begin(self, pending: PendingRequest) -> None:
        pending.sequence = self._sequences.take()
        self._answered.pop(pending.sequence, None)
        pending.octets = with_sequence(pending.octets, pending.sequence)
        pending.began = self._loop.time()
        self._waiting[pending.sequence] = pending
        self.idle.clear()
        self._transmit(pending)

    def _transmit(self, pending: PendingRequest) -> None:
        pending.sent += 1
        self._deadlines.add(pending)
        self._send(pending.octets)

    def _drop(self, name: tuple[str, int]) -> None:
        """Drop a superseded request, if it is under way. Its response is then unmatched."""
        pending = self._under_way.pop(name, None)
        if pending is None:
            return
        if self._waiting.get(pending.sequence) is pending:
            self._end(pending)
        else:
            self._queue.remove(pending)

    def _due(self, pending: PendingRequest) -> None:
        if self._waiting.get(pending.sequence) is not pending:
            return
        if pending.sent <= self._n1:
            self._counters.repeated += 1
            self._transmit(pending)
            return
        self._counters.unanswered += 1
        self._end(pending)
        self._timed_out(pending)

    def _end(self, pending: PendingRequest) -> None:
        del self._waiting[pending.sequence]
        self._sequences.free(pending.sequence)
        name = None if pending.event is None else _name(pending.event)
        if pending.event is None:
            self._heartbeats -= 1
        elif name is not None:
            self._under_way.pop(name, None)
        while self._queue and self._has_room:
            self._begin(self._queue.popleft())
        if not self._waiting:
            self.idle.set()

    @property
    def _has_room(self) -> bool:
        return len(self._waiting) - self._heartbeats < self._window


def _is_former(pending: PendingRequest, stamp: int) -> bool:
    """Whether a request is about a session, and not for the incarnation with this time stamp."""
    event = pending.event
    return pending.is_of_session and event is not None and event.incarnation != stamp


def _name(event: CloudEvent) -> tuple[str, int] | None:
    """Return the key that identifies a request of the core; None for one without a number."""
    return None if event.sequence is None else (event.partitionkey, event.sequence)
