"""What the UEs do and when: programmes, and the arrivals of the closed and the open loop."""

from collections import deque
from collections.abc import Callable
from math import inf
from random import Random

from loadgen.cell import Camped
from loadgen.config import LoadConfig
from loadgen.gnb import Gnb
from loadgen.identity import Guami, Guti
from loadgen.recorder import Recorder
from loadgen.timers import Deadlines
from loadgen.ue import Ue
from loadgen.ue_model import SKIPPED, Ended, Procedure

_FOREIGN = Guami("999-99", 255, 1023, 63)
_LEAST_PAUSE = 0.01
"""After a procedure that took no time at all, so that a programme of such ends too."""


class Walker:
    """A UE with its place in its programme."""

    __slots__ = ("at", "camped", "programmes", "queued", "step", "traffic", "wake")

    def __init__(self, traffic: "Traffic", camped: Camped) -> None:
        self.traffic = traffic
        self.camped = camped
        self.programmes = 0
        """Programmes begun."""
        self.step = -1
        """The procedure of the programme that runs or comes next; -1 outside one."""
        self.at = 0.0
        """When the next procedure should begin: its latency counts from here."""
        self.wake = inf
        self.queued = inf

    def deadline(self) -> float:
        """When the next procedure begins."""
        return self.wake

    def advance(self, now: float) -> None:
        """Begin it."""
        self.wake = inf
        self.traffic.go(self, now)


class _Arrivals:
    """The Poisson process of the open loop."""

    def __init__(self, traffic: "Traffic", rate: float, rng: Random) -> None:
        self.next = inf
        self.queued = inf
        self._traffic = traffic
        self._rate = rate
        self._rng = rng

    def deadline(self) -> float:
        """The next arrival."""
        return self.next

    def advance(self, now: float) -> None:
        """Let those arrive whose time has come, however late we are."""
        while self.next <= now:
            at, self.next = self.next, self.next + self._rng.expovariate(self._rate)
            if not self._traffic.arrive(at, now):
                self.next = inf


class Traffic:
    """The UEs of a run, without I/O: it reacts to ends of procedures and to time."""

    def __init__(
        self,
        config: LoadConfig,
        gnbs: list[Gnb],
        deadlines: Deadlines,
        recorder: Recorder,
        finished: Callable[[], None],
    ) -> None:
        """UEs on `gnbs`, switched off; `finished` is called when all is over."""
        self.config = config
        self.blocked = 0
        """Arrivals that found no free UE."""
        self.running = 0
        """UEs in a programme."""
        self.queued = inf
        self._recorder = recorder
        self._deadlines = deadlines
        self._finished = finished
        self._rng = Random(config.seed)  # noqa: S311
        self._started = 0
        self._stopped = False
        self._end = inf
        self._walkers: dict[Camped, Walker] = {}
        self._free: deque[Walker] = deque()
        self._arrivals: _Arrivals | None = None
        rng = Random(f"{config.seed} UEs")  # noqa: S311
        for profile in config.population:
            ue = Ue(
                profile,
                (config.plmn, config.tac),
                timers=config.timers,
                rng=rng,
                sink=recorder.violated,
                strict=config.strict_duplicates,
            )
            camped = gnbs[profile.index % len(gnbs)].cell.camp(ue)
            self._walkers[camped] = Walker(self, camped)

    @property
    def ues(self) -> list[Ue]:
        """All UEs."""
        return [camped.ue for camped in self._walkers]

    @property
    def planned(self) -> int | None:
        """How many procedures the run will have, where that is known."""
        config = self.config
        if config.repeat is None or config.duration is not None:
            return None
        return config.repeat * config.population.count * len(config.programme)

    def start(self, now: float) -> None:
        """Begin the load."""
        config = self.config
        if config.duration is not None:
            self._end = now + config.duration
            self._deadlines.touch(self)
        if config.rate is not None:
            self._free.extend(self._walkers.values())
            self._arrivals = _Arrivals(self, config.rate, self._rng)
            self._arrivals.next = now + self._rng.expovariate(config.rate)
            self._deadlines.touch(self._arrivals)
            return
        spacing = config.ramp / len(self._walkers)
        for index, walker in enumerate(self._walkers.values()):
            self._enter(walker, now + index * spacing, now)

    def deadline(self) -> float:
        """The end of the run's duration."""
        return inf if self._stopped else self._end

    def advance(self, now: float) -> None:
        """The duration is over."""
        self.stop(now)

    def stop(self, now: float) -> None:
        """Start no more programmes."""
        self._stopped = True
        if self._arrivals is not None:
            self._arrivals.next = inf
        for walker in self._walkers.values():
            if walker.step <= 0 and walker.camped.ue.busy is None and walker.wake != inf:
                walker.wake = inf
                self._leave(walker, now, now)
        self._check_over()

    def give_up(self, now: float) -> None:
        """Count what is unfinished as failed."""
        for camped, walker in self._walkers.items():
            busy = camped.ue.busy
            if busy is not None:
                cause = f"unfinished-{camped.ue.waits_for}"
                self._recorder.ended(Ended(busy, cause, walker.at, now))

    def collect(self, gnb: Gnb, now: float) -> None:
        """Take the procedures that ended on a gNB, and go on."""
        cell = gnb.cell
        while cell.ended:
            ended, cell.ended = cell.ended, []
            for camped, end in ended:
                self._recorder.ended(end)
                self._go_on(self._walkers[camped], end, now)

    def arrive(self, at: float, now: float) -> bool:
        """A programme should begin; False when no more of them should."""
        if not self._may_start(at):
            self._stopped = True
            self._check_over()
            return False
        if self._free:
            self._enter(self._free.popleft(), at, now)
        else:
            self.blocked += 1
            self._started += 1
        return True

    def go(self, walker: Walker, now: float) -> None:
        """Begin the next procedure of a UE, or its first."""
        config, camped = self.config, walker.camped
        if walker.step == 0:
            self._identify(walker)
        # An open loop's latency counts from the arrival, late as we may be to notice it.
        since = walker.at if config.rate is not None and walker.step == 0 else now
        camped.cell.begin(camped, config.programme[walker.step], now, since)

    def _may_start(self, now: float) -> bool:
        config = self.config
        if self._stopped or now >= self._end:
            return False
        if config.rate is None or config.repeat is None:
            return True
        return self._started < config.repeat * config.population.count

    def _enter(self, walker: Walker, at: float, now: float) -> None:
        """Have a UE begin a programme."""
        self.running += 1
        self._started += 1
        walker.programmes += 1
        walker.step = 0
        self._begin(walker, at, now)

    def _begin(self, walker: Walker, at: float, now: float) -> None:
        walker.at = at
        if at <= now:
            self.go(walker, now)
        else:
            walker.wake = at
            self._deadlines.touch(walker)

    def _identify(self, walker: Walker) -> None:
        """Have a UE that is to register present itself as the configuration wants it."""
        identities, ue = self.config.identities, walker.camped.ue
        identity = identities[(ue.profile.index + walker.programmes - 1) % len(identities)]
        if identity == "stored" or self.config.programme[0] is not Procedure.REGISTER:
            return
        ue.forget()
        if identity == "unknown-guti":
            ue.guti = Guti(_FOREIGN, ue.rng.getrandbits(32))

    def _go_on(self, walker: Walker, end: Ended, now: float) -> None:
        cause, pause = end.cause, 0.0
        violated = cause is not None and cause.startswith("violation-")
        if cause is None or cause == SKIPPED or violated:
            walker.step += 1
        else:
            walker.step = len(self.config.programme)
            walker.camped.ue.power_cycle()
            walker.camped.cell.pump(walker.camped, now)
            pause = self.config.failure_pause
        if end.ended <= end.began:
            pause = max(pause, _LEAST_PAUSE)
        if self.config.think > 0:
            pause += self._rng.expovariate(1 / self.config.think)
        if walker.step < len(self.config.programme):
            self._begin(walker, now + pause, now)
        else:
            self._leave(walker, now + pause, now)

    def _leave(self, walker: Walker, at: float, now: float) -> None:
        """A UE has run its programme."""
        self.running -= 1
        walker.step = -1
        config = self.config
        if config.rate is not None:
            self._free.append(walker)
        elif self._may_start(at) and (config.repeat is None or walker.programmes < config.repeat):
            self._enter(walker, at, now)
        self._check_over()

    def _check_over(self) -> None:
        more = self.config.rate is not None and not self._stopped
        if self.running == 0 and not more:
            self._finished()
