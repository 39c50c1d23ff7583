"""What the UEs do and when: programmes, in phases, of the closed and the open loop."""

from collections import deque
from collections.abc import Callable
from math import inf
from random import Random

from loadgen.faults import faults_of
from loadgen.gnb.cell import Camped
from loadgen.gnb.gnb import Gnb
from loadgen.identity import Guami, Guti
from loadgen.load.config import LoadConfig
from loadgen.load.phase_run import Stage
from loadgen.load.phases import Programme, possible
from loadgen.load.virtual_user import Walker
from loadgen.report.report import PhaseReport, Recorder
from loadgen.timers import Deadlines
from loadgen.ue.model import SKIPPED, Connection, Ended, Procedure
from loadgen.ue.sessions import Ledger
from loadgen.ue.ue import DownlinkData, DownlinkTunnel, Ue, no_downlink_data, no_downlink_tunnel

_FOREIGN = Guami("999-99", 255, 1023, 63)
_LEAST_PAUSE = 0.01
"""After a procedure that took no time at all, so that a programme of such ends too."""
_LOOKS = 32
"""How many free UEs are looked at for one that can run a programme."""


class Traffic:
    """The UEs of a run, without I/O: it reacts to ends of procedures and to time."""

    def __init__(
        self,
        config: LoadConfig,
        gnbs: list[Gnb],
        deadlines: Deadlines,
        recorder: Recorder,
        finished: Callable[[], None],
        downlink_data: DownlinkData = no_downlink_data,
        downlink_tunnel: DownlinkTunnel = no_downlink_tunnel,
    ) -> None:
        """UEs on `gnbs`, switched off; `finished` is called when all is over."""
        self.config = config
        self.running = 0
        """UEs in a programme."""
        self.queued = inf
        self.stages: list[Stage] = []
        """The phases that have begun."""
        self._recorder = recorder
        self._deadlines = deadlines
        self._finished = finished
        self._rng = Random(config.seed)  # noqa: S311
        self._patience = inf
        """When the next phase begins although UEs are still busy with this one."""
        self._walkers: dict[Camped, Walker] = {}
        self._free: deque[Walker] = deque()
        rng = Random(f"{config.seed} UEs")  # noqa: S311
        ledger, request = Ledger(), config.session_request
        self._gnbs = gnbs
        for profile in config.population:
            cell = gnbs[profile.index % len(gnbs)].cell
            ue = Ue(
                profile,
                cell.tai,
                timers=config.timers,
                rng=rng,
                sink=recorder.violated,
                strict=config.strict_duplicates,
                session_request=request,
                ledger=ledger,
                downlink_data=downlink_data,
                downlink_tunnel=downlink_tunnel,
            )
            camped = cell.camp(ue)
            self._walkers[camped] = Walker(self, camped)

    @property
    def ues(self) -> list[Ue]:
        """All UEs."""
        return [camped.ue for camped in self._walkers]

    @property
    def blocked(self) -> int:
        """Arrivals that found no free UE."""
        return sum(stage.blocked for stage in self.stages)

    @property
    def planned(self) -> int | None:
        """How many procedures the run will have, where that is known."""
        total = 0
        for phase in self.config.plan:
            lengths = {len(share.procedures) for share in phase.mix}
            if phase.repeat is None or phase.duration is not None or len(lengths) > 1:
                return None
            total += phase.repeat * self.config.population.count * lengths.pop()
        return total

    def reports(self, now: float) -> list[PhaseReport]:
        """What came of the phases."""
        return [stage.report(now) for stage in self.stages]

    def start(self, now: float) -> None:
        """Begin the load."""
        self._next_stage(now)

    def _next_stage(self, now: float) -> None:
        plan, number = self.config.plan, len(self.stages)
        self._patience = inf
        if self.stages and self.stages[-1].ended_at is None:
            self.stages[-1].ended_at = now
        if number == len(plan):
            self._finished()
            return
        stage = Stage(plan[number], self._rng, self.arrive, self.stop, now)
        self.stages.append(stage)
        said = stage.phase.faults
        faults = faults_of(self.config.faults if said is None else said)
        for gnb in self._gnbs:
            gnb.disturber.inject(faults)
        for walker in self._walkers.values():
            walker.programmes = 0
        self._deadlines.touch(stage)
        idle = [one for one in self._walkers.values() if one.step < 0]
        if stage.open:
            self._free = deque(idle)
            return
        self._free.clear()
        spacing = getattr(stage.phase.arrivals, "ramp", 0.0) / len(self._walkers)
        for index, walker in enumerate(idle):
            programme = stage.choose()
            if self._fits(walker, programme):
                self._enter(walker, programme, now + index * spacing, now)
            else:
                stage.unfit += 1
        for gnb in self._gnbs:
            # What ended the phase before was on one of them, and all have UEs that begin now.
            gnb.cell.neighbours.stirred(gnb.cell)
        self._check_over(now)

    def deadline(self) -> float:
        """When the next phase begins whoever is busy."""
        return self._patience

    def advance(self, now: float) -> None:
        """Those who are still busy have had their time."""
        if self._patience <= now:
            if len(self.stages) == len(self.config.plan):
                self.give_up(now)
            self._next_stage(now)

    def stop(self, now: float) -> None:
        """Start no more programmes in this phase."""
        stage = self.stages[-1]
        stage.halt()
        for walker in self._walkers.values():
            if walker.step == 0 and walker.camped.ue.busy is None and walker.wake != inf:
                walker.wake = inf
                stage.begun -= 1
                self._leave(walker)
        if self.config.phases:
            self._patience = now + self.config.drain
            self._deadlines.touch(self)
        self._check_over(now)

    def give_up(self, now: float) -> None:
        """Count what is unfinished as failed."""
        for camped, walker in self._walkers.items():
            busy = camped.ue.busy
            if busy is not None:
                cause = f"unfinished-{camped.ue.waits_for}"
                end = Ended(busy, cause, walker.at, now)
                self._recorder.ended(end, camped.ue.profile.supi)

    def collect(self, gnb: Gnb, now: float) -> None:
        """Take the procedures that ended on a gNB, and go on."""
        cell = gnb.cell
        while cell.ended:
            ended, cell.ended = cell.ended, []
            for camped, end in ended:
                self._recorder.ended(end, camped.ue.profile.supi)
                if not end.unsolicited:
                    self._go_on(self._walkers[camped], end, now)

    def arrive(self, at: float, now: float) -> bool:
        """A programme should begin; False when no more of them should."""
        stage = self.stages[-1]
        if not stage.wants(at, len(self._walkers)):
            self.stop(now)
            return False
        programme = stage.choose()
        walker = self._find(programme)
        others = iter(stage.programmes if stage.phase.once else ())
        while walker is None and (programme := next(others, ())):
            # Every UE is to have its turn, with whatever it can do.
            walker = self._find(programme)
        if walker is not None:
            self._enter(walker, programme, at, now)
        elif self._free:
            stage.unfit += 1
        else:
            stage.blocked += 1
        return True

    def _find(self, programme: Programme) -> Walker | None:
        """The UE that has been free for the longest and can run a programme."""
        free = self._free
        for _ in range(min(_LOOKS, len(free))):
            walker = free.popleft()
            if self._fits(walker, programme):
                return walker
            free.append(walker)
        return None

    def _fits(self, walker: Walker, programme: Programme) -> bool:
        if len(self.stages) == 1:
            # Before the first phase nothing has failed, and what it makes of UEs is its own.
            return True
        if self.stages[-1].phase.once and walker.programmes > 0:
            return False
        return self._possible(walker.camped.ue, programme)

    def _possible(self, ue: Ue, programme: Programme) -> bool:
        return possible(
            programme,
            registered=ue.registered,
            connected=ue.connection is Connection.CONNECTED,
            sessions=len(ue.sessions.live),
        )

    def go(self, walker: Walker, now: float) -> None:
        """Begin the next procedure of a UE, or its first."""
        camped = walker.camped
        if walker.step == 0:
            self._identify(walker)
        # An open loop's latency counts from the arrival, late as we may be to notice it.
        since = walker.at if walker.open and walker.step == 0 else now
        camped.cell.begin(camped, walker.programme[walker.step], now, since)

    def _enter(self, walker: Walker, programme: Programme, at: float, now: float) -> None:
        """Have a UE begin a programme."""
        stage = self.stages[-1]
        self.running += 1
        stage.begun += 1
        walker.programmes += 1
        walker.programme = programme
        walker.open = stage.open
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
        if identity == "stored" or walker.programme[0] is not Procedure.REGISTER:
            return
        ue.forget()
        if identity == "unknown-guti":
            ue.guti = Guti(_FOREIGN, ue.rng.getrandbits(32))

    def _go_on(self, walker: Walker, end: Ended, now: float) -> None:
        cause, pause = end.cause, 0.0
        violated = cause is not None and cause.startswith("violation-")
        if cause is None or cause == SKIPPED or violated:
            walker.step += 1
            left = walker.programme[walker.step :]
            ue = walker.camped.ue
            if left and ue.disturbance.active(now) and not self._possible(ue, left):
                # Faults have left the UE with less than the programme had made of it.
                walker.step = len(walker.programme)
        else:
            walker.step = len(walker.programme)
            walker.camped.ue.power_cycle()
            walker.camped.cell.pump(walker.camped, now)
            pause = self.config.failure_pause
        if end.ended <= end.began:
            pause = max(pause, _LEAST_PAUSE)
        think = self.stages[-1].phase.think
        if think > 0:
            pause += self._rng.expovariate(1 / think)
        if walker.step < len(walker.programme):
            self._begin(walker, now + pause, now)
            return
        self._leave(walker)
        self._catch_up(walker, now)
        self._again(walker, now + pause, now)
        self._check_over(now)

    def _leave(self, walker: Walker) -> None:
        """A UE has run its programme."""
        self.running -= 1
        walker.step = -1
        stage = self.stages[-1]
        if stage.open and not (stage.phase.once and walker.programmes):
            self._free.append(walker)

    def _catch_up(self, walker: Walker, now: float) -> None:
        """A UE that was busy when it should have had its turn in this phase has it now."""
        stage = self.stages[-1]
        if (
            not stage.open
            or not stage.phase.once
            or walker.programmes
            or stage.ended_at is not None
        ):
            return
        fitting = (one for one in stage.programmes if self._fits(walker, one))
        programme = next(fitting, None)
        if programme is not None:
            self._free = deque(one for one in self._free if one is not walker)
            self._enter(walker, programme, now, now)

    def _again(self, walker: Walker, at: float, now: float) -> None:
        """In the closed loop, the UE begins anew."""
        stage = self.stages[-1]
        repeat = stage.phase.repeat
        if stage.open or not stage.wants(at, len(self._walkers)):
            return
        if repeat is None or walker.programmes < repeat:
            programme = stage.choose()
            if self._fits(walker, programme):
                self._enter(walker, programme, at, now)
            else:
                stage.unfit += 1

    def _check_over(self, now: float) -> None:
        stage = self.stages[-1]
        if stage.ended_at is None and self.running == 0 and (stage.stopped or not stage.open):
            stage.ended_at = now
            self._next_stage(now)
