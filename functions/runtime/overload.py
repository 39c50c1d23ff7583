"""Admission by capacity: a worker that cannot serve the waiting requests in time puts some off.

The queue of requests is judged by the time that this worker needs for it (`StandingQueue`). Of a
standing queue, the first requests are put off until the rest can be served in the target time. Each
gets a time of its own to come back: when the worker will have served all requests before it.

All of it is soft state of one worker. Its decisions record what it answers (`CongestionLookup`).
"""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import wire
from eventing.fair_shares import NO_WEIGHTS
from eventing.jetstream.deadline_queue import UNLIMITED, opens
from eventing.jetstream.delivery import Delivery, event_of, stored_at
from eventing.jetstream.intake import Backlog
from eventing.standing_queue import StandingQueue
from eventing.stats import Load
from eventing.subjects import is_republished
from functions.runtime.deadlines import TIMER
from functions.runtime.senders import SenderQueues
from schemas.cloudevents import CloudEvent
from schemas.network import Congestion

log = logging.getLogger(__name__)

UE_TIMERS: Final = {0x41: TIMER, 0x4C: TIMER}
"""The seconds after which a UE gives up a REGISTRATION REQUEST (T3510) and a SERVICE REQUEST
(T3517), by message type (TS 24.501 table 10.2.1)."""
SHORTEST: Final = min(UE_TIMERS.values())

BUSY: Final = 0.8
"""The share of its time that a worker must work before it keeps the pace: its measurements may be
wrong, and requests must not wait for a worker that does nothing."""
LATELY: Final = 1.0
"""Seconds after which that share counts 1/e."""
MEMORY: Final = 8192
"""Events after which their kind counts half: how many events a request causes changes. A shorter
memory would see the requests of a burst before the events that they cause."""
PACE: Final = 1.2
"""Requests that a busy worker begins in a second, as a share of those that it can serve. What a
request causes comes later: without a limit, a burst would be begun as a whole, and each of its
events would wait."""
SLOW_PACE: Final = 0.25
"""That share while the events of open connections wait for longer than `WAIT`."""
AT_ONCE: Final = 0.25
"""The requests of so many seconds of that pace may be begun at once."""
WAIT: Final = 0.08
"""Seconds that the events of open connections may wait, or the time of a batch if that is longer: a
procedure has several messages, one after the other, and each waits. No more requests are begun at
once than events are decided in that time."""
SMOOTHING: Final = 0.1
"""The weight of a batch in the mean duration."""
SAMPLE: Final = 16
"""The least number of events of a full batch that are looked at to know how long they wait."""
DRIFT: Final = 0.0005
"""Seconds a second by which the clocks of the broker and of this worker may drift apart. Their
difference is taken from the events that wait for the shortest time."""
EVENTS: Final = (2.0, 32.0)
"""Limits of the events for each request. Without requests there is no such number."""
REJECTED: Final = 2.0
"""Events for a rejected request: itself, and the UE CONTEXT RELEASE COMPLETE."""
EXPECTED: Final = 12.0
"""Events for each request before any is measured: a registration with a session."""


class Overload:
    """The queue of requests of one worker, and its answer to each request."""

    def __init__(
        self,
        policy: Congestion,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        """`clock` has seconds, `wall` seconds since 1970, `weights` the weights of gNBs."""
        self._longest = policy.t3346_max
        self._clock = clock
        self._wall = wall
        self._queue = StandingQueue(policy.after)
        self._requests = MEMORY / EXPECTED
        """Served requests, with exponential decay, and the events of them and of all else."""
        self._events = float(MEMORY)
        self._senders = SenderQueues(weights)
        self._cost = 0.0
        """Seconds for an event; 0 before a measurement."""
        self._busy = 0.0
        """The share of the time that the worker works, lately."""
        self._allowance = 0.0
        """Requests that the pace lets begin, as of `_paced_at`."""
        self._paced_at = 0.0
        self._shortest = float("inf")
        """The age of an event that does not wait: the difference of the clocks."""
        self._waits = 0.0
        """Seconds that the events of open connections wait."""
        self._looked_at = 0.0
        """When they were looked at."""
        self._batch = 0.0
        """The mean duration of a batch lately, in seconds."""
        self._free_at = 0.0
        """When the worker will have served all requests that were put off."""
        self.on_trial = False
        """Whether the worker is a canary: if it is slow, it is rolled back, and puts no UE off."""
        self.recovering = False
        """Whether JetStream was away a moment ago. Its first answers are slow, and what has waited
        meanwhile is a burst."""
        self.load = Load()

    def begin(
        self,
        deliveries: Sequence[Delivery],
        left: Backlog,
        cost: float | None,
        senders: Mapping[str, Sequence[float]] = {},
    ) -> tuple[Sequence[Delivery], list[Delivery]]:
        """Judge the queue before a batch.

        Args:
            deliveries: the batch.
            left: the events that wait behind it.
            cost: the seconds for an event in a full batch; None before a measurement.
            senders: the requests behind it that are in this process (`DeadlineQueue.requests`).

        Returns:
            The deliveries to decide, and the requests that their UEs have given up.
        """
        requests = [delivery for delivery in deliveries if opens(delivery)]
        given_up = [delivery for delivery in requests if self._given_up(delivery)]
        decay = 0.5 ** (len(deliveries) / MEMORY)
        self._events = self._events * decay + len(deliveries)
        self._requests *= decay
        self._cost = cost or 0.0
        late = {id(delivery) for delivery in given_up}
        taken = [request for request in requests if id(request) not in late]
        self._senders.begin(taken, left.requests, senders)
        load = self.load
        load.dropped += len(given_up)
        load.requests = left.requests
        load.capacity = self.capacity
        load.wait = (left.others + left.requests * self.each) * self._cost
        before, patient = load.congested, self.recovering
        load.congested = self._queue.look(self._clock(), load.wait, patient=patient)
        if patient and not load.congested:
            load.requests = 0.0  # of no interest for gateways
        if load.congested and not before and not self.on_trial:
            log.warning(
                "requests are put off: %.0f requests and %.0f other events wait, for %.1f s; an "
                "event takes %.1f ms, a request %.1f events",
                *(left.requests, left.others, load.wait, self._cost * 1000, self.each),
            )
        self._allowance = max(0.0, self._allowance - len(taken))
        self._note_waits(deliveries)
        if not given_up:
            return deliveries, given_up
        return [delivery for delivery in deliveries if id(delivery) not in late], given_up

    def _note_waits(self, deliveries: Sequence[Delivery]) -> None:
        """Note how long the events of open connections in a batch have waited."""
        now, wall = self._clock(), self._wall()
        some = deliveries[:: max(1, len(deliveries) // SAMPLE)]
        stored = [stored_at(delivery.reply) for delivery in some if not opens(delivery)]
        ages = sorted(wall - at for at in stored if at is not None)
        if not ages:
            self._waits = 0.0
            return
        drift, self._looked_at = DRIFT * (now - self._looked_at), now
        # Without a load the events do not wait. So a step of a clock counts until there is none.
        before = self._shortest + drift if self._busy >= BUSY else ages[0]
        self._shortest = min(before, ages[0])
        self._waits = ages[len(ages) // 2] - self._shortest

    def worked(self, idle: float, busy: float) -> None:
        """Note the seconds that the worker has waited for events, and then worked on them; 0 if
        there were none."""
        weight = math.exp(-(idle + busy) / LATELY)
        self._busy = self._busy * weight + (1 - weight) * busy / max(idle + busy, 1e-9)
        if busy and not self.recovering:
            self._batch += SMOOTHING * (busy - self._batch)

    def _given_up(self, request: Delivery) -> bool:
        stored = stored_at(request.reply)
        now = self._wall()
        if stored is None or (now - stored < SHORTEST and not is_republished(request.subject)):
            return False
        try:
            event = event_of(request)
            nas = wire.ngap_peek(event.data).nas
        except (ValueError, wire.WireError):
            return False
        if event.position is not None:
            stored = event.position.stored / 1000
        timer = UE_TIMERS.get((nas.message_type if nas is not None else None) or 0)
        return timer is not None and now - stored >= timer

    @property
    def excess(self) -> int:
        """The waiting requests that are to be rejected."""
        load = self.load
        target = self._queue.target * load.capacity
        return max(0, int(load.requests - target)) if load.congested else 0

    @property
    def room(self) -> int:
        """The requests that may be begun now: those of `WAIT`, and if the worker is busy, at a
        steady pace. `UNLIMITED` if switched off, without a measurement, and for a canary."""
        capacity, now = self.capacity, self._clock()
        if not capacity or not self._queue.target or self.on_trial:
            return UNLIMITED
        wait = max(WAIT, self._batch)
        pace = capacity * (PACE if self._waits < wait else SLOW_PACE)
        grown = self._allowance + pace * (now - self._paced_at)
        self._allowance, self._paced_at = min(grown, max(1.0, AT_ONCE * pace)), now
        at_once = max(1, int(wait / self._cost))
        # If the worker has time to spare, the measurement of the capacity may be wrong.
        spare = self._busy < BUSY or self.recovering
        return at_once if spare else min(at_once, int(self._allowance))

    @property
    def each(self) -> float:
        """The events that a request causes, itself included."""
        least, most = EVENTS
        return min(most, max(least, self._events / max(self._requests, 1e-9)))

    @property
    def capacity(self) -> float:
        """The requests that this worker can serve in a second; 0 if unknown."""
        return 1 / (self._cost * self.each) if self._cost else 0.0

    def back_off(self, event: CloudEvent) -> int:
        """Return the seconds until this worker can serve a request; 0 to serve it now."""
        load, capacity = self.load, self.capacity
        total = self._queue.target * capacity
        if not load.congested or self.on_trial or not self._senders.exceeds(event, total):
            load.admitted += 1
            self._requests += 1.0
            return 0
        load.put_off += 1
        self._allowance += 1.0
        self._events -= REJECTED
        now = self._clock()
        behind = self._senders.total / capacity
        self._free_at = max(self._free_at, now + behind) + 1 / capacity
        self._free_at = min(self._free_at, now + self._longest)
        return max(1, round(self._free_at - now))
