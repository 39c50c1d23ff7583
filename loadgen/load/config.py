"""The configuration of a load run."""

import re
from typing import Literal

from msgspec import Struct, field

from loadgen.errors import ConfigError
from loadgen.faults import Faults, faults_of
from loadgen.gnb.behaviour import GnbBehaviour
from loadgen.identity import SNssai
from loadgen.load.arrivals import Closed, Poisson
from loadgen.load.phases import Phase, Share, problem_of, problem_of_phases
from loadgen.load.subscribers import Population, problem_of_plmn
from loadgen.session_model import SessionRequest, SessionType
from loadgen.timers import TimerValues
from loadgen.ue.model import HANDOVERS, Procedure
from transport import UDP_ENCAPSULATION_PORT, Mode

Identity = Literal["stored", "suci", "unknown-guti"]
"""The identity in the first registration of a programme.

`stored`: the stored 5G-GUTI and security context, or a SUCI without them. `suci`: a SUCI.
`unknown-guti`: a 5G-GUTI that no AMF assigned.
"""

Profile = Literal["own", "foreign"]
"""The optional IEs in the messages of UEs and gNBs.

`own`: the few that the procedures need. `foreign`: further ones at random, as equipment of other
makers sends them; needs pycrate.
"""

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MAX_GNB_ID = (1 << 24) - 1
_MAX_PLMNS = 12
"""Broadcast PLMNs of a tracking area (TS 38.413 9.2.6.1)."""


class LoadConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A load run. Times are in seconds.

    Without `rate` the loop is closed: every UE repeats its programme. With `rate` it is open:
    programmes start at this rate per second as a Poisson process, each with an idle UE. An arrival
    that finds no idle UE is counted as blocked. With `phases`, the phases replace `programme`,
    `rate`, `repeat`, `duration`, `think` and `ramp`.
    """

    host: str = "127.0.0.1"
    """The AMF's address."""
    port: int = 38412
    """The AMF's SCTP port."""
    mode: Mode = Mode.AUTO
    udp_port: int = UDP_ENCAPSULATION_PORT
    """The AMF's UDP port, for SCTP over UDP."""
    local_host: str | None = None
    """A local address to bind to."""

    plmn: str = "001-01"
    plmns: tuple[str, ...] = ()
    """The PLMNs that all gNBs broadcast, and that the UEs select in turn (MOCN). If empty, `plmn`
    alone."""
    tac: int = 1
    tacs: tuple[int, ...] = ()
    """TACs that are assigned to the gNBs in turn. If empty, all gNBs have `tac`."""
    slices: tuple[SNssai, ...] = (SNssai(1, "010203"),)
    """The slices that the gNBs broadcast."""
    gnbs: int = 1
    """Number of gNBs, each with its own SCTP association. UE `i` starts at gNB ``i % gnbs``."""
    first_gnb_id: int = 1
    gnb_behaviour: GnbBehaviour = GnbBehaviour()
    """The behaviour of all gNBs."""

    population: Population = field(default_factory=Population)
    programme: tuple[Procedure, ...] = (Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER)
    identities: tuple[Identity, ...] = ("stored",)
    """UE `i` starts its programme number `n` with ``identities[(i + n) % len(identities)]``
    if the programme starts with a registration.
    """
    dnn: str | None = "internet"
    """The DNN of the PDU sessions; None lets the network choose."""
    session_slice: SNssai | None = None
    """The slice of the PDU sessions; None for the first slice of the population."""
    session_type: SessionType = "ipv4"
    rate: float | None = None
    """Programmes to start per second; None for the closed loop."""
    repeat: int | None = 1
    """Programmes per UE; None for no limit. In the open loop, the mean over all UEs."""
    duration: float | None = None
    """Time after which no programme starts. Running programmes are completed."""
    think: float = 0.0
    """The mean of the exponential time between two procedures of a UE."""
    ramp: float = 0.0
    """In the closed loop, the time over which the starts of the UEs are spread."""
    phases: tuple[Phase, ...] = ()
    """The phases, in their order; empty for the single phase of the fields above."""
    faults: Faults | float | None = None
    """Injected faults: one share of all messages about UEs, or shares for each kind of fault. A
    phase can override them."""
    failure_pause: float = 1.0
    """Time for which a UE is switched off after a failure."""
    drain: float = 40.0
    """Maximum time for running procedures after the end; then they count as unfinished. Also the
    maximum time without an AMF for a gNB; then the run ends.
    """
    connect_timeout: float = 15.0
    """Maximum time for the NG setup of all gNBs at the start."""

    seed: int = 0
    profile: Profile = "own"
    timers: TimerValues = field(default_factory=TimerValues)
    strict_duplicates: bool = False
    """Whether an exact copy of a protected message counts as a violation."""

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
        """Check the configuration.

        Raises:
            ConfigError: the first error.
        """
        problem = self._target_problem() or self._model_problem() or self.population.problem()
        if problem is not None:
            raise ConfigError(problem)

    @property
    def plan(self) -> tuple[Phase, ...]:
        """The phases, at least one."""
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
        """Return the TAC of a gNB, counted from 0."""
        return self.tacs[number % len(self.tacs)] if self.tacs else self.tac

    @property
    def broadcast(self) -> tuple[str, ...]:
        """The PLMNs that the gNBs broadcast."""
        return self.plmns or (self.plmn,)

    def plmn_of(self, ue: int) -> str:
        """Return the PLMN that a UE, counted from 0, selects. Each is selected at each gNB."""
        return self.broadcast[ue // self.gnbs % len(self.broadcast)]

    @property
    def pages(self) -> bool:
        """Whether a programme contains `Procedure.PAGE`."""
        shares = [share for phase in self.plan for share in phase.mix]
        return any(Procedure.PAGE in share.procedures for share in shares)

    @property
    def longest(self) -> float | None:
        """Maximum seconds of the run; None without a limit."""
        durations = [phase.duration for phase in self.plan]
        # The last of several phases ends by itself, just before this limit.
        drain = self.drain + (1.0 if self.phases else 0.0)
        known = [one + drain for one in durations if one is not None]
        return sum(known) if len(known) == len(durations) else None

    @property
    def session_request(self) -> SessionRequest:
        """The parameters of every PDU session."""
        own = self.session_slice or next(iter(self.population.slices), None)
        return SessionRequest(self.dnn, own, self.session_type)

    def _target_problem(self) -> str | None:
        if not 1 <= self.port <= 65535 or not 1 <= self.udp_port <= 65535:
            return f"port {self.port} and udp_port {self.udp_port} must be 1 to 65535"
        if self.gnbs < 1 or not 0 <= self.first_gnb_id <= _MAX_GNB_ID - self.gnbs + 1:
            return f"{self.gnbs} gNBs with IDs from {self.first_gnb_id} do not fit into 24 bits"
        wrong = [tac for tac in (self.tac, *self.tacs) if not 0 <= tac < 1 << 24]
        if wrong:
            return f"tac is {wrong[0]}, but a TAC has 24 bits"
        if not self.slices:
            return "slices is empty, but a gNB must broadcast at least one"
        if len(self.broadcast) > _MAX_PLMNS or len(set(self.broadcast)) < len(self.broadcast):
            return f"plmns is {', '.join(self.plmns)}, but needs 1 to {_MAX_PLMNS} different PLMNs"
        name = "plmns" if self.plmns else "plmn"
        problems = (problem_of_plmn(name, one) for one in self.broadcast)
        return next((problem for problem in problems if problem is not None), None)

    def _model_problem(self) -> str | None:
        if not self.programme:
            return "programme is empty: name procedures, such as register and deregister"
        if not self.identities:
            return "identities is empty: name 'stored', 'suci' or 'unknown-guti'"
        if self.rate is not None and self.rate <= 0:
            return f"rate is {self.rate}, but must be above 0 programmes per second"
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
            return f"dnn is {self.dnn!r}, but must be labels of 1 to 63 letters, digits and hyphens"
        if self.session_slice is not None and self.session_slice not in self.population.slices:
            return f"session_slice {self.session_slice} is not a slice of the population"
        return None

    def _length_problem(self) -> str | None:
        if self.repeat is None and self.duration is None:
            return "repeat or duration must be set, so that the load ends"
        if self.repeat is not None and self.repeat < 1:
            return f"repeat is {self.repeat}, but must be at least 1"
        for name in ("duration", "think", "ramp", "failure_pause", "drain", "connect_timeout"):
            if (getattr(self, name) or 0.0) < 0:
                return f"{name} is {getattr(self, name)}, but must not be negative"
        return None


def _is_dnn(text: str) -> bool:
    """Whether a text is an access point name (TS 23.003 9.1)."""
    return len(text) < 100 and all(_LABEL.fullmatch(label) for label in text.split("."))
