"""Timer values, and one heap with the deadlines of all emulators of a process."""

from heapq import heappop, heappush
from math import inf
from typing import Protocol

from msgspec import Struct


class TimerValues(Struct, frozen=True):
    """Timers of a UE and a gNB in seconds (TS 24.501 table 10.2.1). Those of the gNB are our
    own."""

    t3502: float = 720.0
    """Used until the network gives another value."""
    t3510: float = 15.0
    t3511: float = 10.0
    t3516: float = 30.0
    t3517: float = 15.0
    t3519: float = 60.0
    t3520: float = 15.0
    t3521: float = 15.0
    t3540: float = 10.0
    t3580: float = 16.0
    """Before PDU SESSION ESTABLISHMENT REQUEST is repeated, four times (table 10.3.1)."""
    t3582: float = 16.0
    """Before PDU SESSION RELEASE REQUEST is repeated, four times (table 10.3.1)."""
    user_plane: float = 10.0
    """The longest time from SERVICE ACCEPT until the gNB has the resources."""
    paging: float = 30.0
    """The longest time from downlink data until the UE has its user plane."""
    repeated_data: float = 1.0
    """Before a sender without an answer sends again (RFC 6298 section 2)."""
    handover: float = 10.0
    """The longest time that the AMF may take for each part of a handover."""
    xn_preparation: float = 0.03
    """The time that the gNBs take to prepare an Xn handover."""
    identity_index: float = 2.0
    """The longest time after a new 5G-GUTI until the gNB of a connected UE has its index."""
    status_transfer: float = 5.0
    """The longest time that the target waits for the RAN status before the UE arrives."""
    tunnel: float = 5.0
    """The longest time after a handover until the UPF sends packets to the new tunnel."""
    recovery: float = 0.5
    """Before a UE tries again after an injected fault."""
    ng_setup: float = 10.0
    """Before NG SETUP REQUEST is repeated."""
    ng_release: float = 10.0
    """Before UE CONTEXT RELEASE REQUEST is repeated."""
    rrc_wait: float = 1.0
    """The unit of the wait time in the gNB's RRCReject. The gNB draws 1 to 16 units at random
    (TS 38.331 6.2.2)."""


class Timed(Protocol):
    """An object with a deadline."""

    queued: float
    """The time of its earliest valid heap entry, inf for none. Written by `Deadlines`."""

    def deadline(self) -> float:
        """Return when `advance` is due next, inf for never."""
        ...

    def advance(self, now: float) -> None:
        """Handle everything that is due at `now`."""
        ...


class Deadlines:
    """The deadlines of any number of emulators, on one heap.

    An owner has one heap entry, not one for each timer. If its deadline moves to a later time, the
    entry stays in place: most timers of a UE are stopped long before they expire.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timed]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._heap)

    def touch(self, owner: Timed) -> None:
        """Add a heap entry if the deadline of `owner` is earlier now."""
        at = owner.deadline()
        if at < owner.queued:
            owner.queued = at
            self._order += 1
            heappush(self._heap, (at, self._order, owner))

    def next(self) -> float:
        """Return a time not after the next deadline, inf for none."""
        return self._heap[0][0] if self._heap else inf

    def run(self, now: float) -> None:
        """Advance every owner that is due at `now`."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            at, _, owner = heappop(heap)
            if at != owner.queued:
                continue
            owner.queued = inf
            if owner.deadline() <= now:
                owner.advance(now)
            self.touch(owner)
