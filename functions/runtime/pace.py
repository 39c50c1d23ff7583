"""The pace of the core's own events: sessions to restore, connections to release, shared timers.

They go after what UEs ask for (docs/decisions/0025). A page of them is published when the one
before has passed through the queue, so few of them wait at a time. The time that the event for a
page has waited shows how long the queue is. If the queue is long, the pages of this process come at
longer intervals. All of it is soft state of one process.
"""

import time
from collections.abc import Callable
from typing import Final

from eventing.jetstream.delivery import stored_at
from functions.runtime.job import Job

TARGET: Final = 0.1
"""Longest queue, in seconds, for which the intervals become shorter."""
FIRST: Final = 0.064
FASTEST: Final = 0.016
SLOWEST: Final = 2.0
"""Seconds between two pages of a process: at first, at least and at most."""
AT_ONCE: Final = 0.1
"""A page that is due within this time is published at once. JetStream schedules no finer."""
LONGEST: Final = 30.0
"""Longest time, in seconds, for which a turn is given. A later page asks again."""


class Pace:
    """Gives the pages of one process their turns."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval = FIRST
        self._free_at = 0.0
        """When the next turn may begin."""
        self._slowed = 0.0
        """When the interval was last lengthened."""

    @property
    def interval(self) -> float:
        """The current interval in seconds."""
        return self._interval

    def learn(self, waited: float) -> None:
        """Take note of how long an event for a page has waited in its queue, in seconds."""
        now = self._clock()
        if waited <= TARGET:
            self._interval = max(FASTEST, self._interval * 0.8)
        elif now - self._slowed >= waited:  # those before have met the same queue
            self._slowed = now
            self._interval = min(SLOWEST, self._interval * 2)

    def turn(self) -> tuple[float, bool]:
        """Return the seconds until a page may be published, and whether this is its turn.

        If not, the page must ask again then.
        """
        now = self._clock()
        wait = max(0.0, self._free_at - now)
        if wait > LONGEST:
            return LONGEST, False
        self._free_at = now + wait + self._interval
        return (0.0 if wait <= AT_ONCE else wait), True


def waited(job: Job) -> float:
    """Return the seconds that an event has waited in its stream. 0 for a redelivered event: its
    delay has another reason."""
    at = None if job.repeated else stored_at(job.delivery.reply)
    return 0.0 if at is None else max(0.0, time.time() - at)
