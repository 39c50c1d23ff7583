"""Latency objectives: how long an event may take from JetStream's storing it until it is done with.

They order work and scale workers; no decision depends on them.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct, field

from schemas.config.values import ConfigError, slice_of
from schemas.identity import SNssai
from schemas.procedures import Procedure
from schemas.ue.state import Ue

RELAXED: Final = 1.0
"""Seconds that an event may take of which the configuration does not say anything. That there is
such a time at all is what keeps urgent events from having the others wait for ever."""


class ObjectiveConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [[objective]]: of a procedure, or of a slice as ``"1-010203"``."""

    milliseconds: Annotated[int, Meta(ge=1, le=60_000)]
    procedure: str = ""
    slice: str = ""


class Objectives(Struct, frozen=True):
    """Objectives in seconds."""

    procedures: Mapping[str, float] = field(default_factory=dict[str, float])
    slices: Mapping[SNssai, float] = field(default_factory=dict[SNssai, float])

    def __bool__(self) -> bool:
        return bool(self.procedures or self.slices)

    @property
    def strictest(self) -> float:
        """The shortest of all."""
        return min((*self.procedures.values(), *self.slices.values()), default=RELAXED)

    def of(self, procedure: str) -> float:
        """The objective of a procedure's events."""
        return self.procedures.get(procedure, RELAXED)

    def of_ue(self, ue: Ue) -> float:
        """The objective of a UE, by the slices that it has PDU sessions in."""
        return min(
            (self.slices.get(session.nssai, RELAXED) for session in ue.sessions), default=RELAXED
        )


def objectives_of(tables: tuple[ObjectiveConfig, ...]) -> Objectives:
    """The objectives of a configuration.

    Raises:
        ConfigError: one is of neither a procedure nor a slice or of both, or of one that has one.
    """
    procedures: dict[str, float] = {}
    slices: dict[SNssai, float] = {}
    for table in tables:
        seconds = table.milliseconds / 1000
        if bool(table.procedure) == bool(table.slice):
            raise ConfigError("an [[objective]] is of a procedure, or of a slice")
        named = table.procedure or table.slice
        if table.procedure:
            if table.procedure not in tuple(Procedure):
                raise ConfigError(f"objective: there is no procedure {table.procedure!r}")
            given = procedures.setdefault(table.procedure, seconds)
        else:
            given = slices.setdefault(slice_of(table.slice), seconds)
        if given != seconds:
            raise ConfigError(f"objective: {named!r} has two")
    return Objectives(procedures, slices)
