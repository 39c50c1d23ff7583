"""Whether a programme of procedures makes sense, told before it runs."""

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


class Standing(Struct, frozen=True):
    """What a UE has at a point of its programme."""

    registered: bool = False
    connected: bool = False
    sessions: int = 0
    up: bool = False
    """Whether its sessions have a user plane."""


def fault_of(
    programme: Iterable[Procedure], standing: Standing | None = None
) -> tuple[str | None, Standing]:
    """Why the first procedure that cannot be done cannot, None where all can; and what is then.

    The procedures of 5GMM are possible at any time: one with nothing to do is skipped.
    """
    now = standing or Standing()
    for procedure in programme:
        if procedure in _CALLED_FOR and (fault := _fault(procedure, now)) is not None:
            return f"{procedure} {fault}", now
        now = _standing_after(procedure, now)
    return None, now


def _fault(procedure: Procedure, now: Standing) -> str | None:
    if not now.registered:
        return "needs a registered UE: put register before it"
    if procedure in HANDOVERS:
        return _fault_of_handover(procedure, now)
    if procedure in _UPDATES:
        return None
    nothing_to_ask_for = now.connected and (now.up or not now.sessions)
    faults = {
        Procedure.SESSION: (
            now.sessions >= MAX_PSI,
            f"would be one session more than the {MAX_PSI} that a UE can have",
        ),
        Procedure.RELEASE_SESSION: (
            not now.sessions,
            "needs a PDU session: put session before it",
        ),
        Procedure.SERVICE_REQUEST: (
            nothing_to_ask_for,
            "has nothing to ask for while the UE is connected: put idle before it",
        ),
        Procedure.PAGE: (
            not now.sessions or now.connected,
            "is for an idle UE with a PDU session: put session and idle before it",
        ),
    }
    wrong, text = faults[procedure]
    return text if wrong else None


def _fault_of_handover(procedure: Procedure, now: Standing) -> str | None:
    least = 2 if procedure is Procedure.HANDOVER_PARTIAL else 1
    if not now.connected or not now.up or now.sessions < least:
        what = "two PDU sessions" if least == 2 else "a PDU session"
        return f"is for a connected UE with {what}: put session, or service-request, before it"
    return None


def _standing_after(procedure: Procedure, now: Standing) -> Standing:
    sessions, up = now.sessions, now.up
    match procedure:
        case Procedure.REGISTER:
            now = Standing(registered=True, connected=True)
        case Procedure.DEREGISTER | Procedure.SWITCH_OFF:
            now = Standing()
        case Procedure.IDLE:
            now = Standing(now.registered, connected=False, sessions=sessions)
        case Procedure.SESSION:
            now = Standing(registered=True, connected=True, sessions=sessions + 1, up=True)
        case Procedure.RELEASE_SESSION:
            now = Standing(registered=True, connected=True, sessions=sessions - 1, up=up)
        case Procedure.SERVICE | Procedure.PERIODIC_UPDATE | Procedure.MOBILITY_UPDATE:
            now = Standing(now.registered, connected=now.registered, sessions=sessions, up=up)
        case Procedure.SERVICE_REQUEST | Procedure.PAGE:
            now = Standing(registered=True, connected=True, sessions=sessions, up=sessions > 0)
        case _:
            # A handover leaves things as they are.
            pass
    return now


Programme: TypeAlias = tuple[Procedure, ...]


class Share(Struct, frozen=True, forbid_unknown_fields=True):
    """A programme in a mix."""

    procedures: Programme
    weight: float = 1.0
    """How often it is run, relative to the others of the mix."""


class Phase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a load. The next one begins when all that began in it is over."""

    name: str
    mix: tuple[Share, ...]
    arrivals: Arrivals = Closed()
    repeat: int | None = 1
    """Programmes a UE, or with arrivals that many times the UEs in all; None for no end."""
    duration: float | None = None
    """Seconds after which no more programmes begin."""
    faults: Faults | float | None = None
    """Those of this phase: a share of the messages, or a table of shares; None for the load's."""
    think: float = 0.0
    """The mean of the exponential time between two procedures of a UE, in seconds."""

    def fault(self) -> str | None:
        """What is wrong with it, in a sentence without its name; None for nothing."""
        if not self.mix:
            return "mix is empty: name at least one programme"
        for share in self.mix:
            if not share.procedures:
                return "a programme of mix is empty: name procedures, such as service-request"
            if not isfinite(share.weight) or share.weight <= 0:
                return f"weight is {share.weight}: it is above 0"
        fault = self.arrivals.fault() or faults_of(self.faults).fault()
        return fault or self._fault_of_length()

    def _fault_of_length(self) -> str | None:
        if isinstance(self.arrivals, Empirical) and not self.arrivals.samples:
            return f"the arrivals of {self.arrivals.file} were not read"
        if self.repeat is None and self.duration is None:
            return "neither repeat nor duration says when it ends"
        if self.repeat is not None and self.repeat < 1:
            return f"repeat is {self.repeat}: at least one programme is needed"
        for name in ("duration", "think"):
            value: float = getattr(self, name) or 0.0
            if not isfinite(value) or value < 0:
                return f"{name} is {value}: a time is not negative"
        return None

    @property
    def once(self) -> bool:
        """Whether every UE runs exactly one programme of it, if it can."""
        return self.repeat == 1 and self.duration is None


def fault_of_phases(phases: Iterable[Phase]) -> str | None:
    """What is wrong with phases, one after the other, in a sentence; None for nothing.

    A UE may have run any number of programmes of a phase, and any of its mix: whatever it
    stands at then, the programmes of the next phase must be possible.
    """
    standings = {Standing()}
    for phase in phases:
        fault = phase.fault()
        if fault is not None:
            return f"phase {phase.name}: {fault}"
        fault, standings = _standings_after(phase, standings)
        if fault is not None:
            return f"phase {phase.name}: {fault}"
    return None


def _standings_after(phase: Phase, before: set[Standing]) -> tuple[str | None, set[Standing]]:
    """What a UE may stand at after a phase, or what cannot be done in it."""
    ends: set[Standing] = set()
    waiting, seen = list(before), set(before)
    while waiting:
        standing = waiting.pop()
        for share in phase.mix:
            fault, end = fault_of(share.procedures, standing)
            if fault is not None:
                return f"{','.join(share.procedures)}: {fault}", ends
            ends.add(end)
            if not phase.once and end not in seen:
                seen.add(end)
                waiting.append(end)
    return None, ends if phase.once else seen | ends


@lru_cache(maxsize=256)
def possible(programme: Programme, *, registered: bool, connected: bool, sessions: int) -> bool:
    """Whether a UE can run a programme: one that failed before may not be where it should."""
    if not registered and programme[0] is not Procedure.REGISTER:
        return False
    standing = Standing(registered, connected=connected, sessions=sessions, up=connected)
    return fault_of(programme, standing)[0] is None
