"""A running phase of a load: its arrivals and its counters."""

from array import array
from collections.abc import Callable, Iterator
from math import ceil, inf
from random import Random

from loadgen.load.arrivals import Closed
from loadgen.load.phases import Phase, Programme
from loadgen.report.report import PhaseReport


class PhaseRun:
    """A running phase. Its deadline is the next arrival, or its end."""

    def __init__(
        self,
        phase: Phase,
        rng: Random,
        arrive: Callable[[float, float], bool],
        stop: Callable[[float], None],
        now: float,
    ) -> None:
        """Start a phase.

        Args:
            phase: the phase.
            rng: for arrivals and choices.
            arrive: handles an arrival; takes its due time and the current time. Returns False if no
                more arrivals are wanted.
            stop: called at the end of the phase's duration.
            now: seconds.
        """
        self.phase = phase
        self.begun_at = now
        self.ended_at: float | None = None
        """When the next phase started."""
        self.begun = 0
        """Programmes that started."""
        self.arrived = 0
        self.blocked = 0
        self.unfit = 0
        self.stopped = False
        """Whether no more programmes start."""
        self.end = inf if phase.duration is None else now + phase.duration
        self.queued = inf
        self._rng = rng
        self._arrive = arrive
        self._stop = stop
        self._last = now
        self._late = array("f")
        self._next = inf
        self._gaps: Iterator[float] = iter(())
        self.programmes = [share.procedures for share in phase.mix]
        self._weights = [share.weight for share in phase.mix]
        if not isinstance(phase.arrivals, Closed):
            self._gaps = phase.arrivals.gaps(rng)
            self._next = now + next(self._gaps)

    @property
    def open(self) -> bool:
        """Whether programmes start with arrivals."""
        return not isinstance(self.phase.arrivals, Closed)

    def choose(self) -> Programme:
        """Return a random programme of the mix."""
        if len(self.programmes) == 1:
            return self.programmes[0]
        return self._rng.choices(self.programmes, self._weights)[0]

    def wants(self, now: float, ues: int) -> bool:
        """Whether another programme may start."""
        if self.stopped or now >= self.end:
            return False
        repeat = self.phase.repeat
        return not self.open or repeat is None or self.arrived < repeat * ues

    def halt(self) -> None:
        """Start no more programmes."""
        self.stopped = True
        self._next = inf

    def deadline(self) -> float:
        """Return the time of the next arrival, or the end of the phase."""
        return inf if self.stopped else min(self._next, self.end)

    def advance(self, now: float) -> None:
        """Handle all arrivals that are due, even late ones, or the end of the phase."""
        while self._next <= min(now, self.end):
            at = self._next
            self._next = at + next(self._gaps)
            if not self._arrive(at, now):
                return
            self.arrived += 1
            self._last = now
            self._late.append(now - at)
        if self.end <= now and not self.stopped:
            self._stop(now)

    def report(self, now: float) -> PhaseReport:
        """Return the report of the phase."""
        late = sorted(self._late)
        arrivals, lasted = self.phase.arrivals, self._last - self.begun_at
        return PhaseReport(
            name=self.phase.name,
            seconds=(now if self.ended_at is None else self.ended_at) - self.begun_at,
            begun=self.begun,
            blocked=self.blocked,
            unfit=self.unfit,
            asked_rate=None if isinstance(arrivals, Closed) else arrivals.mean_rate,
            rate=self.arrived / lasted if self.arrived > 1 and lasted > 0 else None,
            late_p99=late[ceil(len(late) * 0.99) - 1] if late else None,
            late_max=late[-1] if late else None,
        )
