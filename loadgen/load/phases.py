"""The phases of a load: their programmes, mixes and lengths, and a check that they are possible."""

from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from typing import TypeAlias

from msgspec import Struct

from loadgen.faults import Faults, faults_of
from loadgen.load.arrivals import Arrivals, Closed, Empirical
from loadgen.session_model import MAX_PSI
from loadgen.ue.model import HANDOVERS, Procedure

_UPDATES = frozenset({Procedure.PERIODIC_UPDATE, Procedure.MOBILITY_UPDATE})
_CALLED_FOR = frozenset(
    {
        Procedure.SESSION,
        Procedure.RELEASE_SESSION,
        Procedure.SERVICE_REQUEST,
        Procedure.PAGE,
        *HANDOVERS,
        *_UPDATES,
    }
)


class ExpectedState(Struct, frozen=True):
    """The state that a UE should have at a point of its programme."""

    registered: bool = False
    connected: bool = False
    sessions: int = 0
    up: bool = False
    """Whether the sessions have an active user plane."""


def problem_of(
    programme: Iterable[Procedure], state: ExpectedState | None = None
) -> tuple[str | None, ExpectedState]:
    """Check that a UE can run the procedures one after the other.

    The 5GMM procedures are always possible; one with nothing to do is skipped.

    Returns:
        Why the first impossible procedure is impossible, or None; and the state at the end.
    """
    now = state or ExpectedState()
    for procedure in programme:
        if procedure in _CALLED_FOR and (problem := _problem(procedure, now)) is not None:
            return f"{procedure} {problem}", now
        now = _state_after(procedure, now)
    return None, now


def _problem(procedure: Procedure, now: ExpectedState) -> str | None:
    if not now.registered:
        return "needs a registered UE: put register before it"
    if procedure in HANDOVERS:
        return _handover_problem(procedure, now)
    if procedure in _UPDATES:
        return None
    nothing_to_ask_for = now.connected and (now.up or not now.sessions)
    faults = {
        Procedure.SESSION: (
            now.sessions >= MAX_PSI,
            f"exceeds the {MAX_PSI} sessions of a UE",
        ),
        Procedure.RELEASE_SESSION: (
            not now.sessions,
            "needs a PDU session: put session before it",
        ),
        Procedure.SERVICE_REQUEST: (
            nothing_to_ask_for,
            "has nothing to request for a connected UE: put idle before it",
        ),
        Procedure.PAGE: (
            not now.sessions or now.connected,
            "is for an idle UE with a PDU session: put session and idle before it",
        ),
    }
    wrong, text = faults[procedure]
    return text if wrong else None


def _handover_problem(procedure: Procedure, now: ExpectedState) -> str | None:
    least = 2 if procedure is Procedure.HANDOVER_PARTIAL else 1
    if not now.connected or not now.up or now.sessions < least:
        what = "two PDU sessions" if least == 2 else "a PDU session"
        return f"is for a connected UE with {what}: put session, or service-request, before it"
    return None


def _state_after(procedure: Procedure, now: ExpectedState) -> ExpectedState:
    sessions, up = now.sessions, now.up
    match procedure:
        case Procedure.REGISTER:
            now = ExpectedState(registered=True, connected=True)
        case Procedure.DEREGISTER | Procedure.SWITCH_OFF:
            now = ExpectedState()
        case Procedure.IDLE:
            now = ExpectedState(now.registered, connected=False, sessions=sessions)
        case Procedure.SESSION:
            now = ExpectedState(registered=True, connected=True, sessions=sessions + 1, up=True)
        case Procedure.RELEASE_SESSION:
            now = ExpectedState(registered=True, connected=True, sessions=sessions - 1, up=up)
        case Procedure.SERVICE | Procedure.PERIODIC_UPDATE | Procedure.MOBILITY_UPDATE:
            now = ExpectedState(now.registered, connected=now.registered, sessions=sessions, up=up)
        case Procedure.SERVICE_REQUEST | Procedure.PAGE:
            now = ExpectedState(registered=True, connected=True, sessions=sessions, up=sessions > 0)
        case _:
            # A handover does not change the state.
            pass
    return now


Programme: TypeAlias = tuple[Procedure, ...]


class Share(Struct, frozen=True, forbid_unknown_fields=True):
    """A programme in a mix."""

    procedures: Programme
    weight: float = 1.0
    """The relative frequency of the programme in the mix."""


class Phase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a load. The next phase starts when all programmes of this one have ended."""

    name: str
    mix: tuple[Share, ...]
    arrivals: Arrivals = Closed()
    repeat: int | None = 1
    """Programmes per UE; with arrivals a factor for the number of UEs. None for no limit."""
    duration: float | None = None
    """Seconds after which no more programmes start."""
    faults: Faults | float | None = None
    """A share of the messages, or a table of shares; None for the faults of the load."""
    think: float = 0.0
    """The mean of the exponential time between two procedures of a UE, in seconds."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence without the phase's name, or None."""
        if not self.mix:
            return "mix is empty: name at least one programme"
        for share in self.mix:
            if not share.procedures:
                return "a programme of mix is empty: name procedures, such as service-request"
            if not isfinite(share.weight) or share.weight <= 0:
                return f"weight is {share.weight}, but must be above 0"
        problem = self.arrivals.problem() or faults_of(self.faults).problem()
        return problem or self._length_problem()

    def _length_problem(self) -> str | None:
        if isinstance(self.arrivals, Empirical) and not self.arrivals.samples:
            return f"the arrivals of {self.arrivals.file} were not read"
        if self.repeat is None and self.duration is None:
            return "repeat or duration must be set, so that it ends"
        if self.repeat is not None and self.repeat < 1:
            return f"repeat is {self.repeat}, but must be at least 1"
        for name in ("duration", "think"):
            value: float = getattr(self, name) or 0.0
            if not isfinite(value) or value < 0:
                return f"{name} is {value}, but must not be negative"
        return None

    @property
    def once(self) -> bool:
        """Whether every UE runs exactly one programme of the phase, if it can."""
        return self.repeat == 1 and self.duration is None


def problem_of_phases(phases: Iterable[Phase]) -> str | None:
    """Check phases that run one after the other. Return the first error, as a sentence, or None.

    A UE may have run any number of programmes of a phase, and any of its mix. The programmes of the
    next phase must be possible in every state that results.
    """
    states = {ExpectedState()}
    for phase in phases:
        problem = phase.problem()
        if problem is not None:
            return f"phase {phase.name}: {problem}"
        problem, states = _states_after(phase, states)
        if problem is not None:
            return f"phase {phase.name}: {problem}"
    return None


def _states_after(
    phase: Phase, before: set[ExpectedState]
) -> tuple[str | None, set[ExpectedState]]:
    """Return the possible states of a UE after a phase, or the reason why a programme is
    impossible."""
    ends: set[ExpectedState] = set()
    waiting, seen = list(before), set(before)
    while waiting:
        state = waiting.pop()
        for share in phase.mix:
            problem, end = problem_of(share.procedures, state)
            if problem is not None:
                return f"{','.join(share.procedures)}: {problem}", ends
            ends.add(end)
            if not phase.once and end not in seen:
                seen.add(end)
                waiting.append(end)
    return None, ends if phase.once else seen | ends


@lru_cache(maxsize=256)
def possible(programme: Programme, *, registered: bool, connected: bool, sessions: int) -> bool:
    """Whether a UE can run a programme. Its state may differ from the expected one after a
    failure."""
    if not registered and programme[0] is not Procedure.REGISTER:
        return False
    state = ExpectedState(registered, connected=connected, sessions=sessions, up=connected)
    return problem_of(programme, state)[0] is None
