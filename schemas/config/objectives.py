"""Latency objectives: the maximum time from the storage of an event in JetStream to the end of its
processing.

Workers use objectives to order events, and the autoscaler to scale workers. No decision depends on
an objective.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct, field

from schemas.config.values import ConfigError, slice_of
from schemas.identity import SNssai
from schemas.procedures import Procedure
from schemas.ue.state import Ue

RELAXED: Final = 1.0
"""Default objective in seconds. Without a default, urgent events could delay the other events
forever."""


class ObjectiveConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table ``[[objective]]``, either of a procedure or of a slice such as ``"1-010203"``."""

    milliseconds: Annotated[int, Meta(ge=1, le=60_000)]
    procedure: str = ""
    slice: str = ""


class Objectives(Struct, frozen=True):
    """The objectives of procedures and slices, in seconds."""

    procedures: Mapping[str, float] = field(default_factory=dict[str, float])
    slices: Mapping[SNssai, float] = field(default_factory=dict[SNssai, float])

    def __bool__(self) -> bool:
        return bool(self.procedures or self.slices)

    @property
    def strictest(self) -> float:
        """The shortest objective."""
        return min((*self.procedures.values(), *self.slices.values()), default=RELAXED)

    def of(self, procedure: str) -> float:
        """Return the objective of a procedure's events."""
        return self.procedures.get(procedure, RELAXED)

    def of_ue(self, ue: Ue) -> float:
        """Return the shortest objective of the slices that the UE has PDU sessions in."""
        return min(
            (self.slices.get(session.nssai, RELAXED) for session in ue.sessions), default=RELAXED
        )


def objectives_of(tables: tuple[ObjectiveConfig, ...]) -> Objectives:
    """Return the objectives of a configuration.

    Raises:
        ConfigError: a table has both or neither of procedure and slice, or contradicts another.
    """
    procedures: dict[str, float] = {}
    slices: dict[SNssai, float] = {}
    for table in tables:
        seconds = table.milliseconds / 1000
        if bool(table.procedure) == bool(table.slice):
            raise ConfigError("an [[objective]] needs a procedure or a slice, not both")
        named = table.procedure or table.slice
        if table.procedure:
            if table.procedure not in tuple(Procedure):
                raise ConfigError(f"objective: there is no procedure {table.procedure!r}")
            given = procedures.setdefault(table.procedure, seconds)
        else:
            given = slices.setdefault(slice_of(table.slice), seconds)
        if given != seconds:
            raise ConfigError(f"objective: {named!r} has two different objectives")
    return Objectives(procedures, slices)
