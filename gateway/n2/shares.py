"""The share of one gNB: the requests that it may have under way, and its other messages.

A *request* is an INITIAL UE MESSAGE. It is *unproved* until its UE has proved its identity: until
the core sends a ciphered NAS message, or asks the gNB for a UE context. A gNB may have only so many
unproved requests at a time. Further ones wait in the gateway, and are published when others are
proved or released: first those of known UEs, and for emergency, priority and mobile terminated
access. So a gNB with UEs that never answer takes a bounded part of the core, whatever it sends. A
gNB of honest UEs does not notice: they prove their identities within a moment.

A gNB whose requests wait gets OVERLOAD START. If it goes on, it ignores the duty of TS 38.413
8.7.7.2. From then on a release does not make room: a request that was rejected counts for as long
as one without an answer.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import wire
from eventing.fair_shares import NO_WEIGHTS, level
from eventing.jetstream.deadline_queue import is_known
from gateway.n2.routing import N2Route
from schemas.procedures import Procedure

WINDOW: Final = 512
"""The least number of unproved requests that a gNB may have. Two hundred UEs that register at once
are enough to keep a core at work."""
SECONDS: Final = 2.0
"""The requests of so many seconds of the core's capacity are the number, if it is larger."""
STRANGERS: Final = 0.75
"""The share of that number for UEs without a 5G-TMSI of this AMF."""
LIFETIME: Final = 15.0
"""Seconds for which an unproved request counts: T3510, after which its UE gives up."""
HELD: Final = 10.0
"""Seconds that a request may wait in the gateway. Then it is dropped: with the rest of T3510 the
core could not complete the procedure."""
WAITING: Final = 4096
"""Requests of known UEs, and of strangers, that may wait in the gateway for each gNB. All UEs of a
gNB come at once after a power cut."""
OCTETS: Final = 32 << 20
"""Octets of the requests of all gNBs that may wait in the gateway."""
OF_ONE: Final = OCTETS // 8
"""Octets of them that may be of one gNB."""
OVERHEAD: Final = 512
"""Octets that a request takes in memory beside its PDU."""
LONGEST: Final = 4096
"""Octets of a request that may wait in the gateway. A longer one is dropped instead."""
BEGIN: Final = 1.0
"""Seconds that a request waits before its gNB gets OVERLOAD START."""
QUIET: Final = 2.0
"""Seconds without waiting requests before its gNB gets OVERLOAD STOP."""
GRACE: Final = 3.0
"""Seconds after OVERLOAD START in which a gNB may still send as before."""
SMOOTHING: Final = 0.3
"""The weight of a measurement of a rate."""

CONTEXT: Final = frozenset({"InitialContextSetupRequest", "PDUSessionResourceSetupRequest"})
"""Messages of the core about a UE that has proved its identity."""
CIPHERED: Final = 2
"""The security header type of a ciphered message (TS 24.501 9.3.1)."""
RELEASED: Final = "UEContextReleaseCommand"


PRIORITY: Final = frozenset({0, 1, 2, 8, 9})
"""RRC establishment causes for emergency, priority and mobile terminated access (TS 38.413
9.3.1.111). OVERLOAD START does not ask to reduce them."""
_CAUSE: Final = b"\x00\x5a\x40\x01"
"""The RRC Establishment Cause IE in aligned PER: id 90, criticality ignore, one octet."""


def _has_priority(pdu: bytes) -> bool:
    """Whether an INITIAL UE MESSAGE seems to be for emergency, priority or mobile terminated
    access. A gNB that floods may say so of any UE, so such requests only count as those of known
    UEs."""
    at = pdu.rfind(_CAUSE)
    return at >= 0 and at + len(_CAUSE) < len(pdu) and pdu[at + len(_CAUSE)] >> 3 in PRIORITY


class PutOff(NamedTuple):
    """A request that waits in the gateway."""

    at: float
    connection: object
    """Identifies the connection of its UE."""
    route: N2Route
    pdu: bytes

    @property
    def octets(self) -> int:
        """The octets that it takes in memory."""
        return len(self.pdu) + OVERHEAD


class WaitingRoom:
    """The room for the requests of all gNBs that wait in a gateway."""

    __slots__ = ("octets",)

    def __init__(self) -> None:
        self.octets = 0
        """The octets of the requests that wait."""


class RequestShare:
    """The requests of one gNB."""

    def __init__(self, room: WaitingRoom, clock: Callable[[], float] = time.monotonic) -> None:
        """`room` is shared with all other gNBs. `clock` has seconds."""
        self._room = room
        self._octets = 0
        """The octets of the requests that wait here."""
        self._clock = clock
        self._window = float(WINDOW)
        self._unproved: dict[object, tuple[float, bool]] = {}
        """The time of publication, and whether the UE is known; in the order of the times."""
        self._strangers = 0
        self._known_waiting: deque[PutOff] = deque()
        self._strangers_waiting: deque[PutOff] = deque()
        self._put_off_at = float("-inf")
        """When the last request was put off."""
        self._asked_at = float("inf")
        """When the gNB got OVERLOAD START; infinite without one."""
        self._arrived = self._published = 0
        """Requests since the last `measure`."""
        self._published_rate = 0.0
        self.demand = 0.0
        """Requests a second that the gNB would send without a reduction."""
        self.dropped = 0
        """Requests dropped since the start of the association."""
        self._taken = 0
        """The part of them that `take_dropped` has returned."""
        self.own_reduction = 0
        """The reduction, in per cent, that this gNB needs because its requests wait here."""

    @property
    def waiting(self) -> int:
        """The requests that wait here."""
        return len(self._known_waiting) + len(self._strangers_waiting)

    @property
    def unproved(self) -> int:
        """The requests under way."""
        return len(self._unproved)

    @property
    def ignores(self) -> bool:
        """Whether the gNB has had the time to obey OVERLOAD START."""
        return self._clock() - self._asked_at >= GRACE

    def offer(self, connection: object, route: N2Route, pdu: bytes) -> bool:
        """Whether a request may be published now. If not, it waits or is dropped."""
        self._arrived += 1
        now, known = self._clock(), is_known(route.partitionkey)
        if self._begins(now, connection, known=known):
            return True
        if not known and _has_priority(pdu):
            known = True
            if self._begins(now, connection, known=True):
                return True
        queue = self._known_waiting if known else self._strangers_waiting
        self._put_off_at = now
        found = PutOff(now, connection, route, pdu)
        if len(queue) < WAITING and len(pdu) <= LONGEST and self._may_wait(found):
            queue.append(found)
        else:
            self.dropped += 1
        return False

    def _may_wait(self, request: PutOff) -> bool:
        """Whether there is room for a request in memory. If so, it is taken."""
        octets = request.octets
        if self._octets + octets > OF_ONE or self._room.octets + octets > OCTETS:
            return False
        self._octets += octets
        self._room.octets += octets
        return True

    def _leave(self, queue: deque[PutOff]) -> None:
        """Remove the first request of a queue."""
        octets = queue.popleft().octets
        self._octets -= octets
        self._room.octets -= octets

    def _begins(self, now: float, connection: object, *, known: bool) -> bool:
        """Whether a new request may be published now. If so, it counts as unproved."""
        waits = self._known_waiting if known else self._strangers_waiting
        if waits or not self._has_room(now, known=known):
            return False
        self._open(now, connection, known=known)
        return True

    def next(self) -> PutOff | None:
        """Return the next waiting request that may be published now; None if there is none."""
        now = self._clock()
        for queue in (self._known_waiting, self._strangers_waiting):
            known = queue is self._known_waiting
            while queue:
                first = queue[0]
                late = now - first.at >= HELD
                # A UE that is switched off does not repeat its request.
                final = late and known and first.route.procedure == Procedure.DEREGISTRATION
                if late and not final:
                    self._leave(queue)
                    self.dropped += 1
                    continue
                if not final and not self._has_room(now, known=known):
                    break
                self._leave(queue)
                self._open(now, first.connection, known=known)
                return first
        return None

    def told(self, connection: object, peek: wire.NgapPeek) -> bool:
        """Note a message of the core on a connection. Return whether it makes room."""
        if connection not in self._unproved:
            return False
        nas = peek.nas
        if peek.message in CONTEXT or (nas is not None and nas.security_header == CIPHERED):
            self.proved(connection)
            return True
        return peek.message == RELEASED and self.released(connection)

    def proved(self, connection: object) -> None:
        """Note that the UE of a connection has proved its identity."""
        if connection in self._unproved:
            self._close(connection)

    def released(self, connection: object) -> bool:
        """Note that the core releases a connection. Return whether that makes room."""
        if connection not in self._unproved or self.ignores:
            return False
        self._close(connection)
        return True

    def take_dropped(self) -> int:
        """Return the number of requests that were dropped since the last call."""
        before, self._taken = self._taken, self.dropped
        return self.dropped - before

    def drop_waiting(self) -> None:
        """Drop what waits, because the gNB has lost its UEs."""
        for queue in self._queues:
            self.dropped += len(queue)
            while queue:
                self._leave(queue)

    def forget(self) -> None:
        """Drop what waits, because the association is another RAN node, or ends."""
        self.drop_waiting()
        if not self.ignores:
            self._unproved.clear()
            self._strangers = 0

    def asked(self, reduction: int) -> None:
        """Note an OVERLOAD START with a reduction in per cent, or an OVERLOAD STOP with 0."""
        if not reduction:
            self._asked_at = float("inf")
        else:
            self._asked_at = min(self._asked_at, self._clock())

    def measure(self, seconds: float, capacity: float, reduction: int, weight: float = 1.0) -> None:
        """Measure the rates since the last call.

        Args:
            seconds: the time since then.
            capacity: the requests a second that the core can serve; 0 if unknown.
            reduction: the reduction, in per cent, that the gNB was asked for.
            weight: the gNB's share, in shares of another gNB.
        """
        now = self._clock()
        self._expire(now)
        self._window = max(WINDOW, SECONDS * capacity) * weight
        kept = 1 - min(99, reduction) / 100
        self.demand += SMOOTHING * (self._arrived / seconds / kept - self.demand)
        self._published_rate += SMOOTHING * (self._published / seconds - self._published_rate)
        self._arrived = self._published = 0
        if self.demand < 0.01:
            self.demand = 0.0
        waits = now - min((q[0].at for q in self._queues if q), default=now)
        if waits < BEGIN and (not self.own_reduction or now - self._put_off_at >= QUIET):
            self.own_reduction = 0
        elif self.demand:
            keep = self._published_rate / self.demand
            self.own_reduction = max(1, min(99, round(100 * (1 - keep))))

    @property
    def _queues(self) -> Sequence[deque[PutOff]]:
        return self._known_waiting, self._strangers_waiting

    def _has_room(self, now: float, *, known: bool) -> bool:
        self._expire(now)
        if len(self._unproved) >= self._window:
            return False
        return known or self._strangers < STRANGERS * self._window

    def _expire(self, now: float) -> None:
        while self._unproved:
            first = next(iter(self._unproved))
            if now - self._unproved[first][0] < LIFETIME:
                break
            self._close(first)

    def _open(self, now: float, connection: object, *, known: bool) -> None:
        self._published += 1
        self._unproved[connection] = (now, known)
        self._strangers += not known

    def _close(self, connection: object) -> None:
        self._strangers -= not self._unproved.pop(connection)[1]


def reductions(
    gnbs: Sequence[tuple[str, RequestShare]],
    share: float,
    offered: float,
    capacity: float = 0.0,
    weights: Mapping[str, float] = NO_WEIGHTS,
) -> list[int]:
    """Return the reduction in per cent that each gNB is asked for; 0 for none.

    A gNB that sends no more than its share of the capacity is asked for nothing: others have made
    the queue. The gNBs beyond share what is left.

    Args:
        gnbs: the gNBs of this gateway.
        share: the share of all requests that the core should get now. It may be less than it can
            serve, to drain the queue.
        offered: the requests a second of all gateways without a reduction.
        capacity: the requests a second that the core can serve; 0 if unknown.
        weights: the weights of gNBs.
    """
    demands = {gnb: requests.demand for gnb, requests in gnbs}
    own = sum(demands.values())
    # The gNBs of other gateways count as one.
    demands[""] = max(0.0, offered - own)
    total, kept = own + demands[""], dict.fromkeys(demands, share)
    if share < 1.0 and own:
        fair = level(demands.items(), max(capacity, share * total), weights)
        greedy = {g: want for g, want in demands.items() if want > fair * weights.get(g, 1.0)}
        greedy = greedy or demands
        left = share * total - sum(want for g, want in demands.items() if g not in greedy)
        fair = level(greedy.items(), left, weights)
        for gnb, want in demands.items():
            allowed = fair * weights.get(gnb, 1.0)
            kept[gnb] = allowed / want if gnb in greedy and want > allowed else 1.0
    found: list[int] = []
    for gnb, requests in gnbs:
        keep = kept[gnb]
        percent = 0 if keep >= 1.0 else max(1, min(99, round(100 * (1 - keep))))
        found.append(max(percent, requests.own_reduction))
    return found
