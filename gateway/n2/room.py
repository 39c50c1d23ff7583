"""The traffic that gNBs are asked to reduce because events or steps cannot be stored.

Below `BEGIN` of the octets that should stay free, gNBs are asked for fewer requests, and for none
when there is no room. Before that, workers put off UEs that are not registered; each rejected
request takes room too.
"""

import time
from collections.abc import Callable
from typing import Final

from eventing.stats import Stats
from gateway.n2.overload import EVERYTHING, FRESH

BEGIN: Final = 0.5
"""The share of the octets that should stay free below which a reduction begins."""
MOST: Final = 99
STUCK: Final = 5.0
"""Seconds without an acknowledgement of JetStream after which gNBs are asked for silence. A broker
that is started again, or a cluster that elects a leader, takes less."""


class RoomReduction:
    """The percentage of the requests that gNBs are asked not to send (TS 38.413 9.3.1.106)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` has seconds."""
        self._clock = clock
        self._reports: dict[str, tuple[float, float, str]] = {}
        """By worker: when it reported, its room, and why its event log takes no steps."""
        self._stuck = False
        self._silent = False
        """Whether the last reduction was `EVERYTHING`."""
        self.answered = True
        """Whether JetStream answered the last request of the gateway."""

    def heard(self, stats: Stats) -> None:
        """Note the statistics of a worker."""
        load = stats.load
        if stats.ended or (load.room >= BEGIN and not load.stalled):
            self._reports.pop(stats.worker, None)
        else:
            self._reports[stats.worker] = (self._clock(), load.room, load.stalled)

    def percent(self, delay: float) -> int:
        """Return the reduction in per cent; 0 for none, `EVERYTHING` if nothing is stored.

        While gNBs are silent nothing shows whether JetStream stores, so silence lasts until it
        answers.

        Args:
            delay: the time, in seconds, for which JetStream has not stored an event.
        """
        now = self._clock()
        self._reports = {w: found for w, found in self._reports.items() if now - found[0] <= FRESH}
        self._stuck = delay >= STUCK or (self._silent and not self.answered)
        self._silent = self._stuck or any(stalled for _, _, stalled in self._reports.values())
        if self._silent:
            return EVERYTHING
        room = min((room for _, room, _ in self._reports.values()), default=BEGIN)
        return round(MOST * (1 - room / BEGIN))

    @property
    def reason(self) -> str:
        """The reason of the reduction; empty if there is none."""
        if self._stuck:
            return "JetStream stores no events"
        if not self._reports:
            return ""
        stalled = next((why for _, _, why in self._reports.values() if why), "")
        return stalled or "the disk of the event log is nearly full"
