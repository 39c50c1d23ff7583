"""The traffic that gNBs are asked to reduce, from the load that workers report.

The rate of requests that reaches the workers is known, and so is the rate that they can serve. gNBs
are asked to keep the share of their requests with which the queue has `AIM` of its target length
after `HORIZON` seconds. They obey within a moment, so the next reports correct the share.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

import wire
from eventing.stats import Load, Stats

BEGIN: Final = 0.75
END: Final = 0.25
"""The lengths of the queue, in targets, at which a reduction begins and ends. Workers put requests
off later: a refused RRC connection costs the core nothing, a rejected request two events."""
PERIOD: Final = 0.5
"""Seconds between two changes of the share."""
AIM: Final = 0.3
"""The length that the queue should get, in targets. With the target, workers would put requests off
all the time."""
HORIZON: Final = 2.0
"""Seconds in which the queue should get that length."""
FRESH: Final = 3.0
"""Seconds for which the report of a worker counts. A worker that is idle reports nothing."""
LEAST: Final = 0.01
"""The least share of the requests that gNBs are asked to keep: the indication is up to 99 %."""
DRAINING: Final = 0.25
"""The least rate that gNBs are asked to keep, as a share of the capacity: workers reject what is
too much, and gNBs that send nothing leave the workers idle when the queue is served."""
STEP: Final = 4.0
"""The factor by which the share changes at most in a period, against errors of a measurement."""
SMOOTHING: Final = 0.3
"""The weight of a measurement of rates: a period has two reports of a worker, or one, or three."""
WHOLE: Final = 0.99
"""The share from which on gNBs may send all requests again."""
EVERYTHING: Final = 100
"""The reduction for which OVERLOAD START has no percentage: gNBs send no requests at all."""

_SIGNALLING: Final = "reject-rrc-cr-signalling"
"""All traffic that a UE begins, but for emergencies and with priority."""
_EMERGENCY: Final = "permit-emergency-sessions-and-mobile-terminated-services-only"
OVERLOAD_STOP: Final = wire.ngap_encode({"message": "OverloadStop", "ies": []})


def overload_start(percent: int) -> bytes:
    """Return an OVERLOAD START for a reduction of traffic in per cent (TS 38.413 9.2.6.14)."""
    whole = percent == EVERYTHING
    response = {"overloadAction": _EMERGENCY if whole else _SIGNALLING}
    ies: list[dict[str, Any]] = [{"AMFOverloadResponse": response}]
    if not whole:
        ies.append({"AMFTrafficLoadReductionIndication": percent})
    return wire.ngap_encode({"message": "OverloadStart", "ies": ies})


class _Report(Struct):
    """The last load of a worker."""

    at: float
    load: Load


class LoadReduction:
    """The percentage of the requests that gNBs are asked not to send (TS 38.413 9.3.1.106)."""

    def __init__(self, after: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`after` is the waiting time, in seconds, that the queue of requests may have for long; 0
        to ask for no reduction. `clock` has seconds."""
        self._clock = clock
        self._target = after
        self._stands = False
        """Whether the queue is too long."""
        self._reports: dict[str, _Report] = {}
        self._seen: dict[str, Load] = {}
        """The loads at the last change."""
        self.capacity = 0.0
        """Requests a second that the workers can serve; 0 if unknown."""
        self.offered = 0.0
        """Requests a second that would come without a reduction."""
        self._changed_at = clock()
        self._before = 1.0
        """The share before the current one. The reports of a period are partly about its time."""
        self.share = 1.0
        """The share of the requests that gNBs are asked to keep."""
        self.wait = 0.0
        """The predicted waiting time of the next request, in seconds."""

    def heard(self, stats: Stats) -> None:
        """Note the statistics of a worker."""
        if stats.ended:
            self._reports.pop(stats.worker, None)
            return
        self._reports[stats.worker] = _Report(self._clock(), replace(stats.load))

    @property
    def percent(self) -> int:
        """The reduction in per cent, 1 to 99; 0 for none."""
        return 0 if self.share >= 1.0 else max(1, min(99, round(100 * (1 - self.share))))

    def change(self) -> int:
        """Adapt the share, once a period. Return the reduction in per cent."""
        now = self._clock()
        seconds = now - self._changed_at
        fresh = self._fresh(now)
        if not fresh or seconds <= 0:
            # Whether the core is overloaded is not known.
            self._before, self.share = self.share, min(1.0, self.share * STEP)
            self.capacity = self.offered = 0.0
            self._seen = {}
            return self.percent
        if all(report.at <= self._changed_at for report in self._reports.values()):
            return self.percent  # a store that stalls, for example: nothing is known since
        before, self._seen, self._changed_at = self._seen, fresh, now
        gone = _gone(before, fresh)
        both = before.keys() & fresh.keys()
        waited = sum(before[worker].requests for worker in both)
        waits = sum(fresh[worker].requests for worker in both)
        served = max(0, sum(load.admitted for load in gone))
        left = served + sum(load.put_off + load.dropped for load in gone)
        rate = max(0.0, left + waits - waited) / seconds
        self._measure(served / seconds, rate, stood=waited > 0 and waits > 0)
        kept, self._before = (self.share + self._before) / 2, self.share
        self.offered += SMOOTHING * (rate / kept - self.offered)
        waiting = sum(load.requests for load in fresh.values())
        self.wait = waiting / self.capacity if self.capacity else 0.0
        self._stands = self.wait >= self._target * (END if self._stands else BEGIN) > 0
        if self._stands or self.share < 1.0:
            aim = AIM * self._target
            wanted = self.capacity * max(DRAINING, 1 + (aim - self.wait) / HORIZON)
            share = wanted / self.offered if self.offered > 0 else 1.0
            share = min(self.share * STEP, max(self.share / STEP, share))
            self.share = max(LEAST, min(share, WHOLE if self._stands else 1.0))
            if self.share >= WHOLE and not self._stands:
                self.share = 1.0
        return self.percent

    def _measure(self, served: float, rate: float, *, stood: bool) -> None:
        """Adapt the capacity. The workers estimate theirs. What they serve while requests wait is
        their capacity; if none waits, it is at least what arrives."""
        if stood and self.capacity:
            self.capacity += SMOOTHING * (served - self.capacity)
        elif self.share == 1.0 or not self.capacity:
            self.capacity = sum(load.capacity for load in self._seen.values())
        else:
            self.capacity = max(self.capacity, rate)

    def _fresh(self, now: float) -> dict[str, Load]:
        self._reports = {
            worker: report for worker, report in self._reports.items() if now - report.at <= FRESH
        }
        return {worker: report.load for worker, report in self._reports.items()}


def _gone(before: Mapping[str, Load], now: Mapping[str, Load]) -> list[Load]:
    """Return the requests that have left the queues of the workers since an earlier report."""
    return [
        Load(
            load.admitted - before[worker].admitted,
            load.put_off - before[worker].put_off,
            load.dropped - before[worker].dropped,
        )
        for worker, load in now.items()
        if worker in before
    ]
