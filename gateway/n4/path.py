"""The state of one UPF as its messages show it: associated or not, alive or not, its load."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, Literal

import wire
from gateway.n4.pfcp import heartbeat
from schemas.cloudevents import UpfLoadReported

SERVED_FIRST: Final = 2.0
SERVED_MOST: Final = 600.0
"""Seconds between two `served` for a UPF without association: the first pause, doubled each time
up to the longest."""

LOAD_PERIOD: Final = 1.0
"""Seconds between two checks of a UPF's load: the load changes more slowly than messages arrive."""

_LOAD, _OVERLOAD = "Load Control Information", "Overload Control Information"
_MARKS: Final = (b"\x00\x33", b"\x00\x36")
"""The types of the two IEs. A message without either of these octets has neither IE."""

_UNITS: Final = {"2 seconds": 2, "1 minute": 60, "10 minutes": 600, "1 hour": 3600}
"""Units of a Timer (8.2.35) in seconds; longer ones count as `_LONGEST`."""
_LONGEST: Final = 36_000
"""Maximum period in seconds: a UPF reports its overload again long before it ends."""

IGNORED_FIRST: Final = 10.0
IGNORED_MOST: Final = 640.0
"""Seconds between two `ignoring` for a UPF that answers no session requests: the first pause,
doubled each time up to the longest. After the longest pause without a report it is the first one
again."""

VERIFY_PAUSE: Final = 0.25
"""Seconds between two heartbeats that verify the UPF's own heartbeats."""

State = Literal["served", "up", "down", "unknown", "ignoring"]


class Path:
    """The path to one UPF (TS 29.244 6.2).

    Reports `served` until the UPF is associated, then `up` and `down` as the heartbeats show.
    """

    def __init__(
        self,
        interval: float,
        report: Callable[[State, int], None],
        send: Callable[[bytes], None],
    ) -> None:
        """`interval` is in seconds.

        `report` gets a state and the UPF's Recovery Time Stamp; `send` sends a heartbeat request.
        """
        self._interval = interval
        self._report = report
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._pause = SERVED_FIRST
        self._serving: asyncio.TimerHandle | None = None
        self._beating: asyncio.TimerHandle | None = None
        self._under_way = False
        """Whether a heartbeat of the gateway waits for its response."""
        self._down = False
        self._doubted = False
        """Whether the UPF has denied the association since the last heartbeat."""
        self._session_answered_at = 0.0
        """Time of the last response of a session, in seconds of the event loop."""
        self._suspected = False
        """Whether the next heartbeat response shows that the UPF ignores session requests."""
        self._ignoring = False
        """Whether the UPF was reported as ignoring, and has answered no session request since."""
        self._ignoring_pause = 0.0
        self._ignoring_next = 0.0
        """Time of the next possible `ignoring`, in seconds of the event loop."""
        self._verify_next = 0.0
        """Time of the next possible verification, in seconds of the event loop."""
        self.associated = False
        self.core_stamp: int | None = None
        """The core's Recovery Time Stamp for this UPF, once a message has carried it."""
        self.stamp: int | None = None
        """The UPF's Recovery Time Stamp in its last heartbeat response."""

    def start(self) -> None:
        """Report that the gateway serves the UPF, now and until the UPF is associated."""
        self._report("served", 0)
        self._serving = self._loop.call_later(self._pause, self._serve_again)

    def close(self) -> None:
        """Stop all reports and heartbeats."""
        for timer in (self._serving, self._beating):
            if timer is not None:
                timer.cancel()

    def core_sent(self, stamp: int) -> None:
        """Note the core's Recovery Time Stamp in a message to the UPF: heartbeats can start."""
        self.core_stamp = stamp
        if self._beating is None and not self._under_way:
            self._beat_after(self._interval)

    def is_associated(self) -> None:
        """Note that the UPF and the core have set up an association: the UPF is not down, and the
        next `down` is reported."""
        self._down = False
        self._hold()

    def _hold(self) -> None:
        self.associated = True
        if self._serving is not None:
            self._serving.cancel()
            self._serving = None

    def is_associating(self) -> None:
        """Note that the core requests an association: report `served` until it is set up."""
        self.associated = False
        if self._serving is None:
            self._pause = SERVED_FIRST
            self._serving = self._loop.call_later(self._pause, self._serve_again)

    def heartbeat_received(self, stamp: int) -> None:
        """Note a heartbeat request of the UPF.

        Anyone can send one with the UPF's address. If it says that the UPF has restarted, or is
        back, a heartbeat of the gateway verifies it.
        """
        if stamp != self.stamp or self._down:
            self.verify()

    def verify(self) -> None:
        """Send a heartbeat, unless one is under way or was just sent: its response shows the
        current Recovery Time Stamp."""
        now = self._loop.time()
        if self.core_stamp is None or self._under_way or now < self._verify_next:
            return
        self._verify_next = now + VERIFY_PAUSE
        self._beat_now()

    def heartbeat_answered(self, stamp: int, *, own: bool) -> None:
        """Note a heartbeat response, to a request of the gateway (`own`) or of the core."""
        if own:
            self._under_way = False
            self._beat_after(self._interval)
        else:
            self._hold()
        doubted, self._doubted = self._doubted and own, False
        if doubted and stamp == self.stamp:
            # The UPF has not restarted, but has released the association.
            self.is_associating()
            self._report("unknown", stamp)
        self._alive(stamp)
        suspected, self._suspected = self._suspected and own, False
        if suspected and not doubted:
            self._report_ignoring(stamp)

    def association_denied(self) -> None:
        """Note that the UPF knows no association: it may have restarted, so send a heartbeat."""
        if self.core_stamp is not None and self.associated and not self._under_way:
            self._doubted = True
            self._beat_now()

    def heartbeat_unanswered(self) -> None:
        """Note that the UPF has answered neither the gateway's heartbeat nor its repetitions."""
        self._under_way = self._suspected = False
        self._beat_after(self._interval)
        if not self._down:
            self._down = True
            self._report("down", self.stamp or 0)

    def session_answered(self) -> None:
        """Note a response of a session, accepting or not."""
        self._session_answered_at = self._loop.time()
        self._suspected = False
        if self._ignoring:
            self._ignoring = False
            self._report("up", self.stamp or 0)

    def restart_suspected(self) -> None:
        """Note that the core names an unknown incarnation of the UPF: a heartbeat shows the current
        one."""
        if self.core_stamp is not None and not self._under_way:
            self._beat_now()

    def restarted(self) -> None:
        """Note that the UPF has restarted: it answers no requests because it has no association."""
        self._suspected = False

    def session_unanswered(self, began: float) -> None:
        """Note a session request without response to any of its repetitions.

        `began` is the time of its first transmission. If the UPF has answered no other session
        request since then, but answers a heartbeat now, it ignores them: it has ended the
        association.
        """
        if self._session_answered_at >= began or not self.associated or self._down:
            return
        if self.core_stamp is not None and self._loop.time() >= self._ignoring_next:
            self._suspected = True
            if not self._under_way:
                self._beat_now()

    def _report_ignoring(self, stamp: int) -> None:
        """Report `ignoring`. Responses do not shorten the pause: each report can cost the UPF all
        its sessions, and a UPF that ignores only one session gives many responses after it."""
        now = self._loop.time()
        if now >= self._ignoring_next + IGNORED_MOST:
            self._ignoring_pause = 0.0
        self._ignoring_pause = min(max(self._ignoring_pause * 2, IGNORED_FIRST), IGNORED_MOST)
        self._ignoring_next = now + self._ignoring_pause
        self._ignoring = True
        self._report("ignoring", stamp)

    def _alive(self, stamp: int) -> None:
        if self._down or stamp != self.stamp:
            restarted = self.stamp not in (None, stamp)
            self._down, self.stamp = False, stamp
            self._report("up", stamp)
            if restarted:
                self.is_associating()  # the core's next messages may be lost: `served` repeats them

    def _serve_again(self) -> None:
        self._report("served", self.stamp or 0)
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
        self._send(heartbeat("HeartbeatRequest", 0, self.core_stamp or 0))


class LoadControl:
    """The load that one UPF reports in session messages (TS 29.244 6.2.3, 6.2.4)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._stamp: int | None = None
        self._sequences: dict[str, int] = {}
        self._load: int | None = None
        """The last reported load."""

    def read(self, octets: bytes, stamp: int | None) -> UpfLoadReported | None:
        """Return the load in a message; None if it is not new or the last check is too recent.

        `stamp` is the UPF's Recovery Time Stamp.
        """
        if not any(mark in octets for mark in _MARKS) or self._clock() < self._next:
            return None
        self._next = self._clock() + LOAD_PERIOD
        if stamp != self._stamp:
            self._stamp, self._load = stamp, None
            self._sequences.clear()
        try:
            ies = wire.pfcp_decode(octets, lenient=True)["ies"]
        except wire.WireError:
            return None
        overload = self._newest(ies, _OVERLOAD)
        load, reduction = _metric(self._newest(ies, _LOAD)), _metric(overload)
        if load in (None, self._load) and reduction is None:
            return None
        self._load = self._load if load is None else load
        return UpfLoadReported(load, reduction, _seconds(overload.get("Timer", {})))

    def _newest(self, ies: list[dict[str, Any]], name: str) -> dict[str, Any]:
        """Return the members of a grouped IE if it is newer than the last one; otherwise {}."""
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
    """Return the period of an Overload Control Information in seconds."""
    return min(_UNITS.get(timer.get("unit", ""), _LONGEST) * timer.get("value", 0), _LONGEST)
