"""The requests to one UPF: sent, repeated, answered or given up (TS 29.244 6.4)."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from gateway.n4.endpoint import Counters
from gateway.n4.pfcp import FIRST_OF_SESSIONS, SEQUENCES, with_sequence
from schemas.cloudevents import CloudEvent

PACE: Final = 2000
"""Numbers that the first one moves on in a second."""


def first_sequence(now: float | None = None) -> int:
    """Where to begin, at a time in seconds since 1970.

    A UPF may still keep its answers to the gateway that ran before, and would give them again to
    a request of the same number. This one begins ahead of it, had it not asked more than `PACE`
    times a second.
    """
    return int((time.time() if now is None else now) * PACE) % SEQUENCES


class Sequences:
    """Gives numbers that no other request of this UDP endpoint waits with."""

    def __init__(self, first: int) -> None:
        self._next = first % SEQUENCES
        self._taken: set[int] = set()

    def take(self) -> int:
        """A free number. Fewer requests may wait than there are numbers."""
        while self._next in self._taken:
            self._next = (self._next + 1) % SEQUENCES
        sequence = self._next
        self._taken.add(sequence)
        self._next = (sequence + 1) % SEQUENCES
        return sequence

    def free(self, sequence: int) -> None:
        """Its request is answered, or given up."""
        self._taken.discard(sequence)


T = TypeVar("T")


class Deadlines(Generic[T]):
    """Hands each thing to `due` a constant time after it was added, in the order of adding."""

    def __init__(self, seconds: float, due: Callable[[T], None]) -> None:
        self._seconds = seconds
        self._due = due
        self._waiting: deque[tuple[float, T]] = deque()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, thing: T) -> None:
        """Have `thing` fall due after the time; whether it matters then, `due` must know."""
        at = self._loop.time() + self._seconds
        self._waiting.append((at, thing))
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._expire)

    def close(self) -> None:
        """Let nothing fall due any more."""
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
        for thing in due:
            self._due(thing)


MAX_QUEUE: Final = 8192
"""Requests that may wait to be sent to a UPF."""
_REMEMBERED: Final = 4096
"""Sequence numbers of answered requests that are kept, to know an answer that comes twice."""

VERSION_NOT_SUPPORTED: Final = 11
"""The type of the one message that answers any request (7.4.4.7)."""


class Fate(Enum):
    """What has become of a request that was handed over."""

    SENT = auto()
    QUEUED = auto()
    UNDER_WAY = auto()
    NO_ROOM = auto()


class Asked:
    """A request; `event` is None for a heartbeat of the gateway."""

    __slots__ = ("event", "message_type", "octets", "sent", "sequence")

    def __init__(self, event: CloudEvent | None, octets: bytes, message_type: int) -> None:
        self.event = event
        self.octets = octets
        self.message_type = message_type
        self.sequence = -1
        self.sent = 0
        """How often."""


class Requests:
    """The requests that wait for answers of a UPF, and behind them those that wait for room."""

    def __init__(
        self,
        sequences: Sequences,
        counters: Counters,
        t1: float,
        n1: int,
        window: int,
        send: Callable[[bytes], None],
        given_up: Callable[[Asked], None],
    ) -> None:
        self._sequences = sequences
        self._counters = counters
        self._n1 = n1
        self._window = window
        self._send = send
        self._given_up = given_up
        self._deadlines: Deadlines[Asked] = Deadlines(t1, self._due)
        self._waiting: dict[int, Asked] = {}
        self._beats = 0
        """How many of those that wait are heartbeats, which take no room."""
        self._queue: deque[Asked] = deque()
        self._under_way: set[tuple[str, int]] = set()
        self._answered: OrderedDict[int, None] = OrderedDict()
        self.idle = asyncio.Event()
        """Set while nothing waits for an answer."""
        self.idle.set()

    def ask(self, event: CloudEvent, octets: bytes, message_type: int) -> Fate:
        """Send a request of the core, once there is room for it; its number only once."""
        name = _name(event)
        if name is not None and name in self._under_way:
            return Fate.UNDER_WAY
        asked = Asked(event, octets, message_type)
        if self._has_room or message_type < FIRST_OF_SESSIONS:  # a node's wait behind nothing
            self._begin(asked)
            fate = Fate.SENT
        elif len(self._queue) < MAX_QUEUE:
            self._queue.append(asked)
            fate = Fate.QUEUED
        else:
            return Fate.NO_ROOM
        if name is not None:
            self._under_way.add(name)
        return fate

    def beat(self, octets: bytes, message_type: int) -> None:
        """Send a heartbeat; it waits behind nothing."""
        self._beats += 1
        self._begin(Asked(None, octets, message_type))

    def answered(self, sequence: int, message_type: int) -> Asked | None:
        """The request that an answer is to, done with now; None if there is none."""
        asked = self._waiting.get(sequence)
        if asked is None or message_type not in (asked.message_type + 1, VERSION_NOT_SUPPORTED):
            return None
        self._answered[sequence] = None
        self._answered.move_to_end(sequence)
        if len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)
        self._end(asked)
        return asked

    def was_answered(self, sequence: int) -> bool:
        """Whether a request of that number was answered a short while ago."""
        return sequence in self._answered

    def close(self) -> None:
        """Repeat nothing any more."""
        self._deadlines.close()

    def _begin(self, asked: Asked) -> None:
        asked.sequence = self._sequences.take()
        self._answered.pop(asked.sequence, None)
        asked.octets = with_sequence(asked.octets, asked.sequence)
        self._waiting[asked.sequence] = asked
        self.idle.clear()
        self._transmit(asked)

    def _transmit(self, asked: Asked) -> None:
        asked.sent += 1
        self._deadlines.add(asked)
        self._send(asked.octets)

    def _due(self, asked: Asked) -> None:
        if self._waiting.get(asked.sequence) is not asked:
            return
        if asked.sent <= self._n1:
            self._counters.repeated += 1
            self._transmit(asked)
            return
        self._counters.unanswered += 1
        self._end(asked)
        self._given_up(asked)

    def _end(self, asked: Asked) -> None:
        del self._waiting[asked.sequence]
        self._sequences.free(asked.sequence)
        name = None if asked.event is None else _name(asked.event)
        if asked.event is None:
            self._beats -= 1
        elif name is not None:
            self._under_way.discard(name)
        while self._queue and self._has_room:
            self._begin(self._queue.popleft())
        if not self._waiting:
            self.idle.set()

    @property
    def _has_room(self) -> bool:
        return len(self._waiting) - self._beats < self._window


def _name(event: CloudEvent) -> tuple[str, int] | None:
    """What tells a request of the core from its others; None for one without a number."""
    return None if event.sequence is None else (event.partitionkey, event.sequence)
