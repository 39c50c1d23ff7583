"""What a gateway knows of its way to one UPF: associated or not, alive or not (TS 29.244 6.2)."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, Literal

import wire
from schemas.cloudevents import UpfLoadReported

SERVED_FIRST: Final = 2.0
SERVED_MOST: Final = 600.0
"""Seconds between two `served` of a UPF that is not associated: twice as long each time."""

HEARTBEAT_REQUEST: Final = 1
HEARTBEAT_RESPONSE: Final = 2

State = Literal["served", "up", "down", "unknown"]


class Path:
    """Tells `served` until the UPF is associated, `up` and `down` as its heartbeats show."""

    def __init__(
        self,
        heartbeat: float,
        tell: Callable[[State, int], None],
        beat: Callable[[bytes], None],
    ) -> None:
        """`tell` takes the UPF's Recovery Time Stamp with a state; `beat` sends a request."""
        self._interval = heartbeat
        self._tell = tell
        self._beat = beat
        self._loop = asyncio.get_running_loop()
        self._pause = SERVED_FIRST
        self._serving: asyncio.TimerHandle | None = None
        self._beating: asyncio.TimerHandle | None = None
        self._under_way = False
        self._down = False
        self._doubted = False
        self.associated = False
        self.core_stamp: int | None = None
        """The core's Recovery Time Stamp for this UPF, once a message has told it."""
        self.stamp: int | None = None
        """The UPF's, as its heartbeats told it last."""

    def start(self) -> None:
        """The gateway serves the UPF from now on."""
        self._tell("served", 0)
        self._serving = self._loop.call_later(self._pause, self._serve_again)

    def close(self) -> None:
        """Tell nothing any more."""
        for timer in (self._serving, self._beating):
            if timer is not None:
                timer.cancel()

    def core_told(self, stamp: int) -> None:
        """The core has told the UPF its Recovery Time Stamp: heartbeats can be sent."""
        self.core_stamp = stamp
        if self._beating is None and not self._under_way:
            self._beat_after(self._interval)

    def is_associated(self) -> None:
        """The UPF and the core have agreed on an association."""
        self.associated = True
        if self._serving is not None:
            self._serving.cancel()
            self._serving = None

    def is_associating(self) -> None:
        """The core asks for an association; that it got one, `served` waits for."""
        self.associated = False
        if self._serving is None:
            self._pause = SERVED_FIRST
            self._serving = self._loop.call_later(self._pause, self._serve_again)

    def asked(self, stamp: int) -> None:
        """The UPF has sent a heartbeat. One that is older than others may be late: it is asked."""
        if self.stamp is not None and stamp < self.stamp:
            if self.core_stamp is not None and not self._under_way:
                self._beat_now()
            return
        self._heard(stamp)

    def answered(self, stamp: int, *, own: bool) -> None:
        """The UPF has answered a heartbeat, of the gateway's own or of the core."""
        if own:
            self._under_way = False
            self._beat_after(self._interval)
        else:
            self.is_associated()
        doubted, self._doubted = self._doubted and own, False
        if doubted and stamp == self.stamp:
            # It has not restarted, and has let the association go all the same.
            self.is_associating()
            self._tell("unknown", stamp)
        self._heard(stamp)

    def doubt(self) -> None:
        """The UPF says that it knows of no association: it may have restarted since."""
        if self.core_stamp is not None and self.associated and not self._under_way:
            self._doubted = True
            self._beat_now()

    def silent(self) -> None:
        """The UPF has not answered the gateway's heartbeat, nor its repetitions."""
        self._under_way = False
        self._beat_after(self._interval)
        if not self._down:
            self._down = True
            self._tell("down", self.stamp or 0)

    def _heard(self, stamp: int) -> None:
        if self._down or stamp != self.stamp:
            restarted = self.stamp not in (None, stamp)
            self._down, self.stamp = False, stamp
            self._tell("up", stamp)
            if restarted:
                self.is_associating()  # what the core sends now may be lost: `served` asks again

    def _serve_again(self) -> None:
        self._tell("served", self.stamp or 0)
        self._pause = min(self._pause * 2, SERVED_MOST)
        self._serving = self._loop.call_later(self._pause, self._serve_again)

    def _beat_after(self, seconds: float) -> None:
        if self._beating is not None:
            self._beating.cancel()
        self._beating = self._loop.call_later(seconds, self._beat_now)

    def _beat_now(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None
        self._under_way = True
        self._beat(heartbeat("HeartbeatRequest", 0, self.core_stamp or 0))


def heartbeat(message: str, sequence: int, stamp: int) -> bytes:
    """A heartbeat or its answer (7.4.2), with the core's Recovery Time Stamp."""
    ies = [{"Recovery Time Stamp": stamp}]
    return wire.pfcp_encode({"message": message, "sequence": sequence, "ies": ies})


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

    def heard(self, octets: bytes, stamp: int | None) -> UpfLoadReported | None:
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
        return UpfLoadReported(load, reduction, _seconds(overload.get("Timer", {})))

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
