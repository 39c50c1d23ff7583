"""What a load run is: everything that `loadgen.run` needs to know."""

import re
from typing import Literal

from msgspec import Struct, field

from loadgen.errors import ConfigError
from loadgen.faults import Faults, faults_of
from loadgen.identity import SNssai
from loadgen.load.arrivals import Closed, Poisson
from loadgen.load.phases import Phase, Share, problem_of, problem_of_phases
from loadgen.load.subscribers import Population
from loadgen.session_model import SessionRequest, SessionType
from loadgen.timers import TimerValues
from loadgen.ue.model import HANDOVERS, Procedure
from transport import UDP_ENCAPSULATION_PORT, Mode

Identity = Literal["stored", "suci", "unknown-guti"]
"""How a UE presents itself at the start of a programme: with what it has stored (5G-GUTI and
security context, where it has them), anew with its SUCI, or with a 5G-GUTI that no AMF gave."""

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MAX_GNB_ID = (1 << 24) - 1


class LoadConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A load run. Times are in seconds.

    Without `rate` the loop is closed: every UE runs its programme again and again. With
    `rate` it is open: so many programmes start a second, as a Poisson process, each with a UE
    that has nothing to do; an arrival that finds none is counted as blocked. With `phases`,
    these say what is done and when, and `programme`, `rate`, `repeat`, `duration`, `think` and
    `ramp` are not looked at.
    """

    host: str = "127.0.0.1"
    """The AMF's address."""
    port: int = 38412
    """Its SCTP port."""
    mode: Mode = Mode.AUTO
    udp_port: int = UDP_ENCAPSULATION_PORT
    """Its UDP port, with SCTP over UDP."""
    local_host: str | None = None
    """An address of ours to come from."""

    plmn: str = "001-01"
    tac: int = 1
    tacs: tuple[int, ...] = ()
    """The TACs of the gNBs, in turn; without any, all have `tac`."""
    slices: tuple[SNssai, ...] = (SNssai(1, "010203"),)
    """The slices that the gNBs broadcast."""
    gnbs: int = 1
    """Each with its own SCTP association; UE `i` is on gNB ``i % gnbs``."""
    first_gnb_id: int = 1

    population: Population = field(default_factory=Population)
    programme: tuple[Procedure, ...] = (Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER)
    identities: tuple[Identity, ...] = ("stored",)
    """UE `i` starts its programme number `n` with ``identities[(i + n) % len(identities)]``,
    where the programme begins with a registration."""
    dnn: str | None = "internet"
    """The DNN that PDU sessions are asked for; None leaves it to the network."""
    session_slice: SNssai | None = None
    """Their slice; None for the first of the population's."""
    session_type: SessionType = "ipv4"
    rate: float | None = None
    """Programmes to start a second; None for the closed loop."""
    repeat: int | None = 1
    """Programmes a UE, or in the open loop that many times the UEs in all; None for no end."""
    duration: float | None = None
    """When to start no more programmes; those that run are finished."""
    think: float = 0.0
    """The mean of the exponential time between two procedures of a UE."""
    ramp: float = 0.0
    """In the closed loop, the time over which the UEs start."""
    phases: tuple[Phase, ...] = ()
    """One after the other, as of a scenario file; empty for the one that the fields above are."""
    faults: Faults | float | None = None
    """The share of messages about UEs that meet with a problem, or a table of shares; a phase may
    say otherwise."""
    failure_pause: float = 1.0
    """How long a UE stays off after a failure."""
    drain: float = 40.0
    """How long procedures may go on after the end, and how long a gNB may be without an AMF;
    then they count as unfinished."""
    connect_timeout: float = 15.0
    """How long the gNBs may take to be set up at the start."""

    seed: int = 0
    timers: TimerValues = field(default_factory=TimerValues)
    strict_duplicates: bool = False
    """Whether a protected message that arrives twice, octet for octet, is a violation."""

    json: str | None = None
    """A file for the report."""
    plot: str | None = None
    """A PNG file for the latency plot; needs matplotlib."""
    capture: str | None = None
    """A file for every NGAP PDU, as JSON lines."""
    progress: bool = False
    table: bool = False
    """Whether to print the tables of the report."""

    def check(self) -> None:
        """Refuse what cannot be run.

        Raises:
            ConfigError: the first thing that is wrong.
        """
        problem = self._target_problem() or self._model_problem() or self.population.problem()
        if problem is not None:
            raise ConfigError(problem)

    @property
    def plan(self) -> tuple[Phase, ...]:
        """The phases, of which there is at least one."""
        if self.phases:
            return self.phases
        arrivals = Closed(self.ramp) if self.rate is None else Poisson(self.rate)
        only = Phase(
            name="load",
            mix=(Share(self.programme),),
            arrivals=arrivals,
            repeat=self.repeat,
            duration=self.duration,
            think=self.think,
        )
        return (only,)

    def tac_of(self, number: int) -> int:
        """The TAC of a gNB, counted from 0."""
        return self.tacs[number % len(self.tacs)] if self.tacs else self.tac

    @property
    def pages(self) -> bool:
        """Whether UEs are to be paged."""
        shares = [share for phase in self.plan for share in phase.mix]
        return any(Procedure.PAGE in share.procedures for share in shares)

    @property
    def longest(self) -> float | None:
        """Seconds after which it is over whatever happens, None where nothing says so."""
        durations = [phase.duration for phase in self.plan]
        # A phase of several ends by itself then, a moment before.
        drain = self.drain + (1.0 if self.phases else 0.0)
        known = [one + drain for one in durations if one is not None]
        return sum(known) if len(known) == len(durations) else None

    @property
    def session_request(self) -> SessionRequest:
        """What every UE asks for with a PDU session."""
        own = self.session_slice or next(iter(self.population.slices), None)
        return SessionRequest(self.dnn, own, self.session_type)

    def _target_problem(self) -> str | None:
        if not 1 <= self.port <= 65535 or not 1 <= self.udp_port <= 65535:
            return f"port {self.port} and udp_port {self.udp_port} must be of 1 to 65535"
        if self.gnbs < 1 or not 0 <= self.first_gnb_id <= _MAX_GNB_ID - self.gnbs + 1:
            return f"{self.gnbs} gNBs from ID {self.first_gnb_id} on do not fit into 24 bits"
        wrong = [tac for tac in (self.tac, *self.tacs) if not 0 <= tac < 1 << 24]
        if wrong:
            return f"tac is {wrong[0]}, and a TAC has 24 bits"
        if not self.slices:
            return "slices is empty: a gNB broadcasts at least one"
        if self.plmn != self.population.plmn:
            return f"the gNBs are of PLMN {self.plmn}, the UEs of {self.population.plmn}"
        return None

    def _model_problem(self) -> str | None:
        if not self.programme:
            return "programme is empty: name procedures, such as register and deregister"
        if not self.identities:
            return "identities is empty: name 'stored', 'suci' or 'unknown-guti'"
        if self.rate is not None and self.rate <= 0:
            return f"rate is {self.rate}: it counts programmes a second"
        problem = faults_of(self.faults).problem() or self._handovers_problem()
        return problem or self._sessions_problem() or self._length_problem()

    def _handovers_problem(self) -> str | None:
        shares = [share for phase in self.plan for share in phase.mix]
        if self.gnbs < 2 and any(HANDOVERS & set(share.procedures) for share in shares):
            return "a handover needs two gNBs"
        return None

    def _sessions_problem(self) -> str | None:
        if self.phases:
            problem = problem_of_phases(self.phases)
        elif (problem := problem_of(self.programme)[0]) is not None:
            problem = f"programme {','.join(self.programme)}: {problem}"
        if problem is not None:
            return problem
        if self.dnn is not None and not _is_dnn(self.dnn):
            return f"dnn is {self.dnn!r}: labels of 1 to 63 letters, digits and hyphens"
        if self.session_slice is not None and self.session_slice not in self.population.slices:
            return f"session_slice {self.session_slice} is no slice of the population"
        return None

    def _length_problem(self) -> str | None:
        if self.repeat is None and self.duration is None:
            return "neither repeat nor duration says when the load ends"
        if self.repeat is not None and self.repeat < 1:
            return f"repeat is {self.repeat}: at least one programme is needed"
        for name in ("duration", "think", "ramp", "failure_pause", "drain", "connect_timeout"):
            if (getattr(self, name) or 0.0) < 0:
                return f"{name} is {getattr(self, name)}: a time is not negative"
        return None


def _is_dnn(text: str) -> bool:
    """Whether it is an access point name (TS 23.003 9.1)."""
    return len(text) < 100 and all(_LABEL.fullmatch(label) for label in text.split("."))
