"""The core's requests to UPFs: sequence numbers, repetitions, timeouts (TS 29.244 6.4)."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

import wire
from gateway.n4.deadlines import Deadlines
from gateway.n4.endpoint import Address, N4Counters, is_same_place
from gateway.n4.incarnation import Incarnation
from gateway.n4.pending import PendingRequest
from gateway.n4.pfcp import ASSOCIATION_SETUP_REQUEST, FIRST_OF_SESSIONS, with_sequence
from gateway.n4.sequences import Sequences
from schemas.cloudevents import CloudEvent
from schemas.identity import seid_of_index

MAX_QUEUE: Final = 8192
"""Maximum requests that wait to be sent to a UPF."""
_REMEMBERED: Final = 4096
"""Sequence numbers of answered requests that are kept, to recognize repeated responses."""
NEWEST_FOR: Final = 20.0
"""Seconds for which the number of a session's last request is kept: copies of earlier requests come
sooner, and the SEID is another session's later (`statestore.contract.QUARANTINE`)."""
MAX_NEWEST: Final = 65536
"""Sessions whose last number is kept; the oldest is dropped first."""

GUESSES: Final = 16
"""Responses without a request, during one request, from which on its response needs proof: a
stranger may be trying all sequence numbers."""
PROOFS: Final = 3
"""Equal responses in a row, each to another sequence number, that are the proof."""


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


class Requests:
    """The requests to one UPF: those that wait for a response, and the queue behind them."""

    def __init__(
        self,
        sequences: Sequences,
        counters: N4Counters,
        t1: float,
        n1: int,
        window: int,
        send: Callable[[bytes], Address | None],
        timed_out: Callable[[PendingRequest], None],
        ended: Callable[[CloudEvent, bytes, int], None],
    ) -> None:
        """T1 is in seconds, N1 a number of repetitions (6.4); `window` limits waiting requests.

        `send` returns the address that it sends to, None if there is none.
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
        self._guesses = 0
        """Number of responses without a request."""
        self.idle = asyncio.Event()
        """Set while no request waits for a response."""
        self.idle.set()

    def submit(self, event: CloudEvent, octets: bytes, message_type: int) -> Fate:
        """Send a request of the core, or queue it.

        A request that is under way, or superseded by a later one about its session, is dropped. So
        is a request for a former incarnation of the UPF: its SEID may be that of another session
        now (TS 23.527 4.3). An association setup that is under way is sent again at once: the core
        repeats it when the UPF requests an association, so the UPF is there now.
        """
        name = _name(event)
        if event.incarnation is not None:
            if self.incarnation.is_over(event.incarnation):
                self._end_of_former(event, octets)
                return Fate.ENDED
            self.begin_incarnation(event.incarnation)
        if name is not None and name in self._under_way:
            if message_type == ASSOCIATION_SETUP_REQUEST:
                pending = self._under_way[name]
                pending.to = self._send(pending.octets)
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

    def answered(
        self, octets: bytes, peek: wire.PfcpPeek, address: Address
    ) -> PendingRequest | None:
        """Remove and return the request of a response; None if no request matches.

        A response comes from where the request was sent (4.2.2), and has its sequence number, its
        type and its SEID.
        """
        pending = self._waiting.get(peek.sequence)
        if pending is None or pending.to is None or not is_same_place(pending.to, address):
            return None
        if not pending.is_answered_by(peek):
            pending.doubtful = True
            return None
        self._remember(peek.sequence)
        if not self._is_proved(pending, octets, peek):
            self._number(pending)
            self._transmit(pending)
            return None
        self._end(pending)
        return pending

    def guessed(self) -> None:
        """Note a response without a request from an address of the UPF."""
        self._guesses += 1

    def _is_proved(self, pending: PendingRequest, octets: bytes, peek: wire.PfcpPeek) -> bool:
        """Whether the UPF has sent a response that matches a request.

        The SEID of the core proves it: it has 54 random bits. Without it, as in a refusal, the
        response must come again under other numbers while somebody tries all numbers.
        """
        if pending.seid and peek.seid == pending.seid:
            return True
        if self._guesses - pending.guesses < GUESSES and not pending.proofs:
            return True
        shown = with_sequence(octets, 0)
        pending.proofs = pending.proofs + 1 if shown == pending.shown else 1
        pending.shown = shown
        return pending.proofs >= PROOFS

    def _remember(self, sequence: int) -> None:
        self._answered[sequence] = None
        self._answered.move_to_end(sequence)
        if len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)

    def was_answered(self, sequence: int) -> bool:
        """Whether a request with this number was answered recently."""
        return sequence in self._answered

    def close(self) -> None:
        """Stop all repetitions."""
        self._deadlines.close()

    def _begin(self, pending: PendingRequest) -> None:
        pending.began = self._loop.time()
        self._number(pending)
        self.idle.clear()
        self._transmit(pending)

    def _number(self, pending: PendingRequest) -> None:
        """Give a request a sequence number, in the place of the one that it may have."""
        if self._waiting.get(pending.sequence) is pending:
            del self._waiting[pending.sequence]
            self._sequences.free(pending.sequence)
        pending.sequence = self._sequences.take()
        self._answered.pop(pending.sequence, None)
        pending.octets = with_sequence(pending.octets, pending.sequence)
        pending.doubtful, pending.guesses = False, self._guesses
        self._waiting[pending.sequence] = pending

    def _transmit(self, pending: PendingRequest) -> None:
        pending.sent += 1
        pending.deadlines += 1
        self._deadlines.add(pending)
        pending.to = self._send(pending.octets)

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
        pending.deadlines -= 1
        if self._waiting.get(pending.sequence) is not pending or pending.deadlines:
            return
        if pending.sent <= self._n1:
            self._counters.repeated += 1
            if pending.doubtful:
                self._number(pending)
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
