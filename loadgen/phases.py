"""The phases of a load: which programmes run, in which mix, and when they begin."""

from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from typing import TypeAlias

from msgspec import Struct

from loadgen.arrivals import Arrivals, Closed, Empirical
from loadgen.faults import Faults, faults_of
from loadgen.programme import Standing, fault_of
from loadgen.ue_model import Procedure

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
        fault, standings = _after(phase, standings)
        if fault is not None:
            return f"phase {phase.name}: {fault}"
    return None


def _after(phase: Phase, before: set[Standing]) -> tuple[str | None, set[Standing]]:
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
