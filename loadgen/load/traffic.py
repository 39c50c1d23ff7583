"""The virtual users of a run: their programmes, by phases, in the closed and the open loop."""

from collections import deque
from collections.abc import Callable
from math import inf
from random import Random

from loadgen.faults import faults_of
from loadgen.foreign import ForeignNas
from loadgen.gnb.context import CampedUe
from loadgen.gnb.gnb import Gnb
from loadgen.identity import Guami, Guti
from loadgen.load.config import LoadConfig
from loadgen.load.phase_run import PhaseRun
from loadgen.load.phases import Programme, possible
from loadgen.load.virtual_user import VirtualUser
from loadgen.report.report import PhaseReport, Recorder
from loadgen.timers import Deadlines
from loadgen.ue.model import SKIPPED, Connection, Ended, Procedure
from loadgen.ue.sessions import AddressRegistry
from loadgen.ue.ue import DownlinkData, DownlinkTunnel, Ue, no_downlink_data, no_downlink_tunnel

_FOREIGN = Guami("999-99", 255, 1023, 63)
_LEAST_PAUSE = 0.01
"""The shortest pause after a procedure that took no time, so that its programme cannot spin."""
_LOOKS = 32
"""How many free UEs are examined to find one that can run a programme."""


class Traffic:
    """The virtual users of a run, without I/O: it reacts to ended procedures and to time."""

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
        """Create UEs on `gnbs`, switched off; `finished` is called at the end of the run."""
        self.config = config
        self.running = 0
        """UEs in a programme."""
        self.queued = inf
        self.runs: list[PhaseRun] = []
        """The phases that have started."""
        self._recorder = recorder
        self._deadlines = deadlines
        self._finished = finished
        self._rng = Random(config.seed)
        self._patience = inf
        """When the next phase starts although UEs are still busy with this one."""
        self._users: dict[CampedUe, VirtualUser] = {}
        self._free: deque[VirtualUser] = deque()
        rng = Random(f"{config.seed} UEs")
        registry, request = AddressRegistry(), config.session_request
        self._gnbs = gnbs
        foreign = config.profile == "foreign"
        for profile in config.population:
            cell = gnbs[profile.index % len(gnbs)].cell
            ue = Ue(
                profile,
                (config.plmn_of(profile.index), cell.config.tac),
                timers=config.timers,
                rng=rng,
                on_violation=recorder.violated,
                strict=config.strict_duplicates,
                session_request=request,
                registry=registry,
                downlink_data=downlink_data,
                downlink_tunnel=downlink_tunnel,
                nas=ForeignNas(f"{config.seed} {profile.supi}") if foreign else None,
            )
            camped = cell.camp(ue)
            self._users[camped] = VirtualUser(self.go, camped)

    @property
    def ues(self) -> list[Ue]:
        """Return all UEs."""
        return [camped.ue for camped in self._users]

    @property
    def blocked(self) -> int:
        """Arrivals that found no free UE."""
        return sum(run.blocked for run in self.runs)

    @property
    def planned(self) -> int | None:
        """The number of procedures of the run, or None if it is not known in advance."""
        total = 0
        for phase in self.config.plan:
            lengths = {len(share.procedures) for share in phase.mix}
            if phase.repeat is None or phase.duration is not None or len(lengths) > 1:
                return None
            total += phase.repeat * self.config.population.count * lengths.pop()
        return total

    def reports(self, now: float) -> list[PhaseReport]:
        """Return the reports of the phases."""
        return [run.report(now) for run in self.runs]

    def start(self, now: float) -> None:
        """Start the load."""
        self._next_phase(now)

    def _next_phase(self, now: float) -> None:
        plan, number = self.config.plan, len(self.runs)
        self._patience = inf
        if self.runs and self.runs[-1].ended_at is None:
            self.runs[-1].ended_at = now
        if number == len(plan):
            self._finished()
            return
        run = PhaseRun(plan[number], self._rng, self.arrive, self.stop, now)
        self.runs.append(run)
        said = run.phase.faults
        faults = faults_of(self.config.faults if said is None else said)
        for gnb in self._gnbs:
            gnb.fault_injector.inject(faults)
        for user in self._users.values():
            user.programmes = 0
        self._deadlines.touch(run)
        idle = [one for one in self._users.values() if one.step < 0]
        if run.open:
            self._free = deque(idle)
            return
        self._free.clear()
        spacing = getattr(run.phase.arrivals, "ramp", 0.0) / len(self._users)
        for index, user in enumerate(idle):
            programme = run.choose()
            if self._fits(user, programme):
                self._enter(user, programme, now + index * spacing, now)
            else:
                run.unfit += 1
        for gnb in self._gnbs:
            # The event that ended the previous phase belongs to one gNB, but UEs of all gNBs start
            # now.
            gnb.cell.notify_driver()
        self._check_over(now)

    def deadline(self) -> float:
        """Return when the next phase starts even if UEs are busy."""
        return self._patience

    def advance(self, now: float) -> None:
        """Start the next phase: the time of the busy UEs is up."""
        if self._patience <= now:
            if len(self.runs) == len(self.config.plan):
                self.give_up(now)
            self._next_phase(now)

    def stop(self, now: float) -> None:
        """Start no more programmes in this phase."""
        run = self.runs[-1]
        run.halt()
        for user in self._users.values():
            if user.step == 0 and user.camped.ue.busy is None and user.wake != inf:
                user.wake = inf
                run.begun -= 1
                self._leave(user)
        if self.config.phases:
            self._patience = now + self.config.drain
            self._deadlines.touch(self)
        self._check_over(now)

    def give_up(self, now: float) -> None:
        """Count unfinished procedures as failed."""
        for camped, user in self._users.items():
            busy = camped.ue.busy
            if busy is not None:
                cause = f"unfinished-{camped.ue.waits_for}"
                end = Ended(busy, cause, user.at, now)
                self._recorder.ended(end, camped.ue.profile.supi)

    def collect(self, gnb: Gnb, now: float) -> None:
        """Record the procedures that ended on a gNB, and start the next ones."""
        cell = gnb.cell
        while cell.ended:
            ended, cell.ended = cell.ended, []
            for camped, end in ended:
                self._recorder.ended(end, camped.ue.profile.supi)
                if not end.unsolicited:
                    self._go_on(self._users[camped], end, now)

    def arrive(self, at: float, now: float) -> bool:
        """Start a programme for an arrival. Return False if no more arrivals are wanted."""
        run = self.runs[-1]
        if not run.wants(at, len(self._users)):
            self.stop(now)
            return False
        programme = run.choose()
        user = self._find(programme)
        others = iter(run.programmes if run.phase.once else ())
        while user is None and (programme := next(others, ())):
            # Every UE must run one programme of the phase, so try the other programmes.
            user = self._find(programme)
        if user is not None:
            self._enter(user, programme, at, now)
        elif self._free:
            run.unfit += 1
        else:
            run.blocked += 1
        return True

    def _find(self, programme: Programme) -> VirtualUser | None:
        """Return the UE that has been free for the longest time and can run a programme."""
        free = self._free
        for _ in range(min(_LOOKS, len(free))):
            user = free.popleft()
            if self._fits(user, programme):
                return user
            free.append(user)
        return None

    def _fits(self, user: VirtualUser, programme: Programme) -> bool:
        if len(self.runs) == 1:
            # Nothing can have failed before the first phase.
            return True
        if self.runs[-1].phase.once and user.programmes > 0:
            return False
        return self._possible(user.camped.ue, programme)

    def _possible(self, ue: Ue, programme: Programme) -> bool:
        return possible(
            programme,
            registered=ue.registered,
            connected=ue.connection is Connection.CONNECTED,
            sessions=len(ue.sessions.live),
        )

    def go(self, user: VirtualUser, now: float) -> None:
        """Start the next procedure of a UE."""
        camped = user.camped
        if user.step == 0:
            self._identify(user)
        # In an open loop the latency counts from the arrival, even if it is handled late.
        since = user.at if user.open and user.step == 0 else now
        camped.cell.begin(camped, user.programme[user.step], now, since)

    def _enter(self, user: VirtualUser, programme: Programme, at: float, now: float) -> None:
        """Start a programme of a UE."""
        run = self.runs[-1]
        self.running += 1
        run.begun += 1
        user.programmes += 1
        user.programme = programme
        user.open = run.open
        user.step = 0
        self._begin(user, at, now)

    def _begin(self, user: VirtualUser, at: float, now: float) -> None:
        user.at = at
        if at <= now:
            self.go(user, now)
        else:
            user.wake = at
            self._deadlines.touch(user)

    def _identify(self, user: VirtualUser) -> None:
        """Set the identity that the configuration wants for a UE that registers."""
        identities, ue = self.config.identities, user.camped.ue
        identity = identities[(ue.profile.index + user.programmes - 1) % len(identities)]
        if identity == "stored" or user.programme[0] is not Procedure.REGISTER:
            return
        ue.forget()
        if identity == "unknown-guti":
            ue.guti = Guti(_FOREIGN, ue.rng.getrandbits(32))

    def _go_on(self, user: VirtualUser, end: Ended, now: float) -> None:
        cause, pause = end.cause, 0.0
        violated = cause is not None and cause.startswith("violation-")
        if cause is None or cause == SKIPPED or violated:
            user.step += 1
            left = user.programme[user.step :]
            ue = user.camped.ue
            if left and ue.faults.active(now) and not self._possible(ue, left):
                # Injected faults have changed the UE's state: the rest of the programme is
                # impossible.
                user.step = len(user.programme)
        else:
            user.step = len(user.programme)
            user.camped.ue.power_cycle()
            user.camped.cell.pump(user.camped, now)
            pause = self.config.failure_pause
        if end.ended <= end.began:
            pause = max(pause, _LEAST_PAUSE)
        think = self.runs[-1].phase.think
        if think > 0:
            pause += self._rng.expovariate(1 / think)
        if user.step < len(user.programme):
            self._begin(user, now + pause, now)
            return
        self._leave(user)
        self._catch_up(user, now)
        self._again(user, now + pause, now)
        self._check_over(now)

    def _leave(self, user: VirtualUser) -> None:
        """End the programme of a UE."""
        self.running -= 1
        user.step = -1
        run = self.runs[-1]
        if run.open and not (run.phase.once and user.programmes):
            self._free.append(user)

    def _catch_up(self, user: VirtualUser, now: float) -> None:
        """Start the one programme of a UE that was busy when its arrival came in this phase."""
        run = self.runs[-1]
        if not run.open or not run.phase.once or user.programmes or run.ended_at is not None:
            return
        fitting = (one for one in run.programmes if self._fits(user, one))
        programme = next(fitting, None)
        if programme is not None:
            self._free = deque(one for one in self._free if one is not user)
            self._enter(user, programme, now, now)

    def _again(self, user: VirtualUser, at: float, now: float) -> None:
        """Start the next programme of a UE in the closed loop."""
        run = self.runs[-1]
        repeat = run.phase.repeat
        if run.open or not run.wants(at, len(self._users)):
            return
        if repeat is None or user.programmes < repeat:
            programme = run.choose()
            if self._fits(user, programme):
                self._enter(user, programme, at, now)
            else:
                run.unfit += 1

    def _check_over(self, now: float) -> None:
        run = self.runs[-1]
        if run.ended_at is None and self.running == 0 and (run.stopped or not run.open):
            run.ended_at = now
            self._next_phase(now)
