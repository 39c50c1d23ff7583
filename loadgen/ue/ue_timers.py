"""The running timers of a UE."""

from math import inf


class UeTimers:
    """The timers of a UE, by name."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: dict[str, float] = {}

    def deadline(self) -> float:
        """Return when the next timer expires, inf for never."""
        return min(self._timers.values(), default=inf)

    def due(self, now: float) -> list[str]:
        """Return the timers that are due. `expires` must confirm each before it is handled."""
        return [name for name, at in self._timers.items() if at <= now]

    def expires(self, name: str, now: float) -> bool:
        """Whether a timer still runs and is due. If so, stop it."""
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

    def stop_all_except(self, *timers: str) -> None:
        """Stop every other timer."""
        self._timers = {name: at for name, at in self._timers.items() if name in timers}

    def next_except(self, but: str) -> str:
        """Return the timer that expires next, except `but`; ``"nothing"`` if there is none."""
        timers = {name: at for name, at in self._timers.items() if name != but}
        return min(timers, key=timers.__getitem__, default="nothing")
