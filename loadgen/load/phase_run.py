"""A phase of a load as it runs: its arrivals and what came of them."""

from array import array
from collections.abc import Callable, Iterator
from math import ceil, inf
from random import Random

from loadgen.load.arrivals import Closed
from loadgen.load.phases import Phase, Programme
from loadgen.report.report import PhaseReport


class PhaseRun:
    """One phase, from its beginning on. Its deadline is the next arrival, or its end."""

    def __init__(
        self,
        phase: Phase,
        rng: Random,
        arrive: Callable[[float, float], bool],
        stop: Callable[[float], None],
        now: float,
    ) -> None:
        """Begin a phase.

        Args:
            phase: what it is.
            rng: for arrivals and choices.
            arrive: an arrival; takes when it was due and now, False when no more are wanted.
            stop: its duration is over.
            now: seconds.
        """
        self.phase = phase
        self.begun_at = now
        self.ended_at: float | None = None
        """When the next one began."""
        self.begun = 0
        """Programmes that began."""
        self.arrived = 0
        self.blocked = 0
        self.unfit = 0
        self.stopped = False
        """Whether no more programmes begin."""
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
        """Whether programmes begin with arrivals."""
        return not isinstance(self.phase.arrivals, Closed)

    def choose(self) -> Programme:
        """A programme of the mix."""
        if len(self.programmes) == 1:
            return self.programmes[0]
        return self._rng.choices(self.programmes, self._weights)[0]

    def wants(self, now: float, ues: int) -> bool:
        """Whether another programme may begin."""
        if self.stopped or now >= self.end:
            return False
        repeat = self.phase.repeat
        return not self.open or repeat is None or self.arrived < repeat * ues

    def halt(self) -> None:
        """No more programmes begin."""
        self.stopped = True
        self._next = inf

    def deadline(self) -> float:
        """The next arrival, or the end of the phase."""
        return inf if self.stopped else min(self._next, self.end)

    def advance(self, now: float) -> None:
        """Let those arrive whose time has come, however late we are; or end."""
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
        """What came of it."""
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
