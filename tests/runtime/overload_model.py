"""A model of a core in overload: real queue, admission and reduction; modelled time, UEs and gNBs.

One worker takes batches. A UE begins with a request. After each decision it sends its
next one. A UE that is rejected, or refused by its gNB, comes again as the specifications say. A
hostile gNB sends requests of UEs that never answer, and ignores OVERLOAD START. Each of them costs
the core a challenge, its repetitions by T3560 or T3570, and a release.
"""

import heapq
import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from eventing.jetstream.deadline_queue import DeadlineQueue
from eventing.jetstream.delivery import Delivery, event_of
from eventing.jetstream.intake import RECESS, Backlog
from eventing.stats import Stats
from functions.runtime.overload import Overload
from gateway.n2.overload import PERIOD, LoadReduction
from gateway.n2.routing import N2Route
from gateway.n2.shares import RequestShare, WaitingRoom, reductions
from schemas.cloudevents import CloudEvent, EventType
from schemas.network import Congestion
from schemas.procedures import Procedure

EVENTS: Final = 12
"""Events of a UE: a registration, a session and an AN release."""
EACH: Final = 0.000_55
"""Seconds for an event, and for a batch."""
BATCH_COST: Final = 0.006
CAPACITY: Final = 128 / ((128 * EACH + BATCH_COST) * EVENTS)
"""UEs a second."""
REJECTED: Final = 2
"""Events of a rejected request."""
ROUND_TRIP: Final = 0.004
T3510: Final = 15.0
T3511: Final = 10.0
T302: Final = 16
START: Final = 1_700_000_000.0
PROVED: Final = 4
"""The event of a UE with which it has proved its identity."""
REPEATS: Final = (6.0, 12.0, 18.0, 24.0, 30.0)
"""Seconds after which the core works on a UE that does not answer."""
HOSTILE: Final = "hostile"
_STRANGER: Final = N2Route(Procedure.REGISTRATION, "conn-1", 0)

_SUBJECT: Final = "ue.0.registration.n2.0"
_REQUEST = CloudEvent("m-1", "/n2/g/a", EventType.NGAP_UPLINK, "", slot=0, sequence=0)


class Outcome:
    """What happened to the UEs of a run."""

    def __init__(self) -> None:
        self.begun: dict[int, float] = {}
        """By UE, when it was ready to be served."""
        self.done: dict[int, float] = {}
        """By UE, when it was served."""
        self.took: list[float] = []
        """The times from the last request to the end, of served UEs."""
        self.refused = self.rejected = self.expired = 0
        self.strangers = 0
        """Requests of the hostile gNB that the core has got."""

    def served(self, begin: float, end: float) -> int:
        """Return the UEs that were served in a span of time."""
        return sum(begin <= at < end for at in self.done.values())


class Model:
    """Runs UEs against the core. All times are in seconds from the start of the run."""

    def __init__(self, seed: int = 1, *, obey: bool = True, known: bool = False) -> None:
        """Create a core without UEs.

        Args:
            seed: of all that is random.
            obey: whether gNBs obey OVERLOAD START.
            known: whether UEs have a security context, so that they take T3346 as it is.
        """
        self.now = 0.0
        self.outcome = Outcome()
        self._rng = random.Random(seed)
        self._obey, self._known = obey, known
        self._overload = Overload(Congestion(), lambda: self.now, lambda: START + self.now)
        self.reduction = LoadReduction(Congestion().after, lambda: self.now)
        self._queue = DeadlineQueue()
        self.shares = {gnb: RequestShare(WaitingRoom(), lambda: self.now) for gnb in ("g", HOSTILE)}
        self.asked = dict.fromkeys(self.shares, 0)
        """By gNB, the reduction in per cent of the last OVERLOAD START."""
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._attempts: dict[int, int] = {}
        self._asked: dict[int, float] = {}
        self._credit = 0.0
        self._flooded = False
        self._stalled_until = 0.0
        self._free_at = 0.0

    def at(self, when: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._todo, (when, self._count, what))

    def arrive(self, rate: float, begin: float, end: float) -> None:
        """Let UEs begin as a Poisson process."""
        when = begin + self._rng.expovariate(rate)
        while when < end:
            ue = len(self.outcome.begun)
            self.outcome.begun[ue] = when
            self.at(when, self._connect(ue))
            when += self._rng.expovariate(rate)

    def flood(self, rate: float, begin: float, end: float) -> None:
        """Let the hostile gNB send requests of UEs that never answer."""
        self._flooded = True
        for number in range(int(rate * (end - begin))):
            self.at(begin + number / rate, partial(self._request, HOSTILE, -1 - number))

    @property
    def waiting(self) -> int:
        """The events in the queue of the worker."""
        return len(self._queue)

    def stall(self, begin: float, seconds: float) -> None:
        """Let the worker stand still."""

        def stall() -> None:
            self._stalled_until = begin + seconds

        self.at(begin, stall)

    def run(self, until: float) -> None:
        """Run until a time, or until all UEs are served."""
        free_at, change_at = 0.0, self.now + PERIOD
        while self.now < until and (
            len(self.outcome.done) < len(self.outcome.begun) or self._flooded
        ):
            following = [change_at, *(when for when, _, _ in self._todo[:1])]
            if len(self._queue):
                following.append(max(free_at, self._stalled_until))
            self.now = max(self.now, min(following))
            while self._todo and self._todo[0][0] <= self.now:
                heapq.heappop(self._todo)[2]()
            if self.now >= change_at:
                change_at += PERIOD
                self.reduction.heard(Stats("w", "1", 1, load=replace(self._overload.load)))
                self.reduction.change()
                self._indicate()
            if len(self._queue) and self.now >= max(free_at, self._stalled_until):
                free_at = self._batch()

    def _indicate(self) -> None:
        """Do what a gateway does once a period."""
        for gnb, share in self.shares.items():
            self._publish(gnb)
            share.measure(PERIOD, self.reduction.capacity, self.asked[gnb])
        load = self.reduction
        found = reductions([*self.shares.items()], load.share, load.offered, load.capacity)
        for (gnb, share), percent in zip(self.shares.items(), found, strict=True):
            self.asked[gnb] = percent
            share.asked(percent)

    def _request(self, gnb: str, ue: int) -> None:
        """Let a gNB send the request of a UE."""
        if self.shares[gnb].offer(ue, _STRANGER, b""):
            self._send(ue, 0)()

    def _publish(self, gnb: str) -> None:
        while (found := self.shares[gnb].next()) is not None:
            assert isinstance(found.connection, int)
            self._send(found.connection, 0)()

    def _batch(self) -> float:
        """Decide a batch. Return when it is done."""
        taken = self._queue.take(128, self._overload.excess, self._overload.room)
        requests = float(self._queue.opening.total())
        left = Backlog(requests, len(self._queue) - requests)
        cost = EACH + BATCH_COST / 128
        idle, self._free_at = self.now - self._free_at, self.now
        if not taken:
            self._overload.worked(idle + RECESS, 0.0)
            self._free_at += RECESS
            return self._free_at
        senders = self._queue.requests()
        deliveries, given_up = self._overload.begin(taken, left, cost, senders)
        del given_up  # their UEs have tried again
        done = self._free_at = self.now + BATCH_COST + EACH * len(deliveries)
        self._overload.worked(idle, done - self.now)
        for delivery in deliveries:
            ue, number = map(int, delivery.data.split())
            seconds = self._overload.back_off(event_of(delivery)) if number == 0 else 0
            if ue < 0:
                self._decide_stranger(ue, number, done, rejected=seconds > 0)
                continue
            if seconds or number == PROVED:
                self.shares["g"].proved(ue)
                self._publish("g")
            if seconds:
                self.outcome.rejected += 1
                self._asked.pop(ue, None)
                self.at(done, self._send(ue, -1))
                self._again(ue, done, seconds)
            elif 0 <= number < EVENTS - 1:
                self.at(done + ROUND_TRIP, self._send(ue, number + 1))
            elif number == EVENTS - 1 and ue not in self.outcome.done:
                self.outcome.done[ue] = done
                self.outcome.took.append(done - self._asked.get(ue, done))
        return done

    def _decide_stranger(self, ue: int, number: int, done: float, *, rejected: bool) -> None:
        if number:
            return
        self.outcome.strangers += 1
        if rejected:
            self.shares[HOSTILE].released(ue)
            self._publish(HOSTILE)
            return
        for after in REPEATS:
            self.at(done + after, self._send(ue, 1))

    def _again(self, ue: int, now: float, seconds: float) -> None:
        """Let a rejected UE come again."""
        attempts = self._attempts[ue] = self._attempts.get(ue, 0) + 1
        if not self._known:
            seconds = seconds if attempts % 5 == 0 else T3511
        self.at(now + max(2.0, seconds), self._connect(ue))

    def _connect(self, ue: int) -> Callable[[], None]:
        def connect() -> None:
            keep = 1 - self.asked["g"] / 100 if self._obey else 1.0
            self._credit += keep
            if self._credit < 1.0:
                self.outcome.refused += 1
                self.at(self.now + self._rng.randint(1, T302), self._connect(ue))
                return
            self._credit -= 1.0
            asked = self._asked[ue] = self.now

            def expired() -> None:
                if self._asked.get(ue) == asked and ue not in self.outcome.done:
                    self.outcome.expired += 1
                    self._again(ue, self.now, T3511)

            self.at(self.now + T3510, expired)
            self._request("g", ue)

        return connect

    def _send(self, ue: int, number: int) -> Callable[[], None]:
        def send() -> None:
            stored = int((START + self.now) * 1e9)
            reply = f"$JS.ACK.EVCORE.registration-0000.1.1.1.{stored}.0"
            key: dict[str, Any] = {"partitionkey": f"conn-{ue}"}
            if number:
                key = {"partitionkey": f"ngap-{ue}", "sequence": max(1, number)}
            if ue < 0:
                key["source"] = "/ue/unidentified" if number else f"/n2/{HOSTILE}/a"
            event = replace(_REQUEST, **key)
            data = b"%d %d" % (ue, number)
            self._queue.append(Delivery(_SUBJECT, data, {}, reply, 1, "registration-0000", event))

        return send
