"""Timer values, and one heap of deadlines for all emulators of a process."""

from heapq import heappop, heappush
from math import inf
from typing import Protocol

from msgspec import Struct


class TimerValues(Struct, frozen=True):
    """Timers of a UE and a gNB, in seconds (TS 24.501 table 10.2.1); those of the gNB are ours."""

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
    """PDU SESSION ESTABLISHMENT REQUEST is repeated, four times (table 10.3.1)."""
    t3582: float = 16.0
    """PDU SESSION RELEASE REQUEST is repeated, four times (table 10.3.1)."""
    user_plane: float = 10.0
    """How long after SERVICE ACCEPT the resources may take that it promises."""
    paging: float = 30.0
    """How long after downlink data a UE may wait for its user plane."""
    repeated_data: float = 1.0
    """After which a sender that hears nothing sends again (RFC 6298 section 2)."""
    handover: float = 10.0
    """How long the AMF may take for each part of a handover."""
    xn_preparation: float = 0.03
    """How long the gNBs take to prepare a handover among themselves."""
    status_transfer: float = 5.0
    """How long a UE is under way at most when the RAN status does not come."""
    tunnel: float = 5.0
    """How long after a handover the UPF may send packets to the tunnel of before."""
    recovery: float = 0.5
    """How long a UE waits before it tries again after a fault that was injected."""
    ng_setup: float = 10.0
    """How long NG SETUP REQUEST may go unanswered before it is repeated."""
    ng_release: float = 10.0
    """How long UE CONTEXT RELEASE REQUEST may go unanswered before it is repeated."""
    rrc_wait: float = 2.0
    """How long the gNB tells a UE to wait that it cannot serve now (TS 38.331 RRCReject)."""


class Timed(Protocol):
    """Something with a deadline."""

    queued: float
    """The earliest entry in the heap that is its own; inf for none. Written by `Deadlines`."""

    def deadline(self) -> float:
        """When `advance` is due next, inf for never."""
        ...

    def advance(self, now: float) -> None:
        """Do what is due at `now`."""
        ...


class Deadlines:
    """The deadlines of any number of emulators, on one heap.

    An entry is left where it is when its owner's deadline moves away, because most timers of
    a UE are stopped long before they expire: an owner has one entry, not one a timer.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timed]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._heap)

    def touch(self, owner: Timed) -> None:
        """Take note that the deadline of `owner` may be earlier now."""
        at = owner.deadline()
        if at < owner.queued:
            owner.queued = at
            self._order += 1
            heappush(self._heap, (at, self._order, owner))

    def next(self) -> float:
        """A time not after the next deadline, inf for none."""
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
