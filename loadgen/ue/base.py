"""What a UE counts, and its timers: the parts of it that know nothing of NAS."""

from math import inf

from msgspec import Struct, field

from loadgen.violation import Kind


class UeRecord(Struct):
    """What happened to a UE, for the report."""

    retransmissions: dict[str, int] = field(default_factory=dict[str, int])
    """How often something was done again, by the timer that made the UE do it."""
    tunnels_moved: int = 0
    """How often a session came up with another UL F-TEID than before."""
    congested: int = 0
    """How often the network refused it for congestion, and it waited."""
    configured: int = 0
    """CONFIGURATION UPDATE COMMANDs that it took."""
    deregistered: int = 0
    """How often the network deregistered it."""
    excused: dict[Kind, int] = field(default_factory=dict[Kind, int])
    """Violations that injected faults may have caused."""
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    """5GMM STATUS and 5GSM STATUS by cause, without those that we have brought about."""
    statuses_excused: dict[str, int] = field(default_factory=dict[str, int])


class Clock:
    """The timers of a UE, by name."""

    def __init__(self) -> None:
        """No timer, at no time."""
        self.now = 0.0
        self._timers: dict[str, float] = {}

    def deadline(self) -> float:
        """When `advance` is due next, inf for never."""
        return min(self._timers.values(), default=inf)

    def due(self, now: float) -> list[str]:
        """The timers that are due; each must be taken with `expires` before it has expired."""
        return [name for name, at in self._timers.items() if at <= now]

    def expires(self, name: str, now: float) -> bool:
        """Whether a timer still runs and is due; then it runs no more."""
        if self._timers.get(name, inf) > now:
            return False
        del self._timers[name]
        return True

    def start(self, timer: str, seconds: float) -> None:
        """Start or restart a timer."""
        self._timers[timer] = self.now + seconds

    def stop(self, *timers: str) -> None:
        """Stop timers, running or not."""
        for timer in timers:
            self._timers.pop(timer, None)

    def running(self, timer: str) -> bool:
        """Whether a timer runs."""
        return timer in self._timers

    def stop_all(self) -> None:
        """Stop every timer."""
        self._timers.clear()

    def next_of(self, but: str) -> str:
        """The timer that expires next, without one of them; ``"nothing"`` for none."""
        timers = {name: at for name, at in self._timers.items() if name != but}
        return min(timers, key=timers.__getitem__, default="nothing")
