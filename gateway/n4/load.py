"""What UPFs tell of their load in messages of sessions (TS 29.244 6.2.3, 6.2.4)."""

import time
from collections.abc import Callable
from typing import Any, Final

import wire
from schemas.cloudevents import UpfLoadTold

PACE: Final = 1.0
"""Seconds between two looks at what a UPF tells: its load changes more slowly than its messages."""

_LOAD, _OVERLOAD = "Load Control Information", "Overload Control Information"
_MARKS: Final = (b"\x00\x33", b"\x00\x36")
"""How the two begin. Octets without either have neither."""

_UNITS: Final = {"2 seconds": 2, "1 minute": 60, "10 minutes": 600, "1 hour": 3600}
"""Of a Timer (8.2.35), in seconds; a longer one is told anew long before it ends."""
_LONGEST: Final = 36_000


class LoadControl:
    """Looks at the messages of one UPF now and then, and says what is new."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._stamp: int | None = None
        self._sequences: dict[str, int] = {}
        self._told: int | None = None

    def heard(self, octets: bytes, stamp: int | None) -> UpfLoadTold | None:
        """What a message tells that is new; `stamp` is the UPF's Recovery Time Stamp."""
        if not any(mark in octets for mark in _MARKS) or self._clock() < self._next:
            return None
        self._next = self._clock() + PACE
        if stamp != self._stamp:
            self._stamp, self._told = stamp, None
            self._sequences.clear()
        try:
            ies = wire.pfcp_decode(octets, lenient=True)["ies"]
        except wire.WireError:
            return None
        overload = self._newest(ies, _OVERLOAD)
        load, reduction = _metric(self._newest(ies, _LOAD)), _metric(overload)
        if load in (None, self._told) and reduction is None:
            return None
        self._told = self._told if load is None else load
        return UpfLoadTold(load, reduction, _seconds(overload.get("Timer", {})))

    def _newest(self, ies: list[dict[str, Any]], name: str) -> dict[str, Any]:
        """The members of a group that is newer than the last of its name, else nothing."""
        parts: Any = next((item[name] for item in ies if name in item), ())
        members: dict[str, Any] = {}
        for part in parts:
            members |= part
        number, before = members.get("Sequence Number"), self._sequences.get(name)
        if not isinstance(number, int):
            return {}
        if before is not None and not 0 < (number - before) % (1 << 32) < 1 << 31:
            return {}
        self._sequences[name] = number
        return members


def _metric(members: dict[str, Any]) -> int | None:
    metric = members.get("Metric")
    return metric if isinstance(metric, int) else None


def _seconds(timer: dict[str, Any]) -> int:
    """How long an Overload Control Information holds."""
    return min(_UNITS.get(timer.get("unit", ""), _LONGEST) * timer.get("value", 0), _LONGEST)
