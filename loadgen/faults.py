"""Faults to inject into signalling, drawn from a seeded generator so that a run is repeatable.

SCTP loses nothing, so the faults are injected above SCTP: in NGAP PDUs and their NAS messages.
"""

from collections import Counter
from enum import StrEnum
from math import isfinite
from random import Random
from typing import Literal, TypeAlias

from msgspec import Struct

Direction: TypeAlias = Literal["uplink", "downlink"]


class FaultKind(StrEnum):
    """A fault of one message."""

    DROP = "drop"
    DELAY = "delay"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    """The message is held until the next one of its UE in the same direction has passed."""
    CORRUPT = "corrupt"
    """One bit of the NAS message is flipped."""
    WRONG = "wrong"
    """The gNB reports a failure instead of its success."""


class FaultShares(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The share of the messages of one direction that each fault hits, 0 to 1."""

    drop: float = 0.0
    delay: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    wrong: float = 0.0
    """Hits only answers of a gNB."""

    @property
    def all(self) -> tuple[tuple[FaultKind, float], ...]:
        """The faults with a share above 0."""
        found = [(kind, float(getattr(self, kind))) for kind in FaultKind]
        return tuple((kind, share) for kind, share in found if share > 0)

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        shares = [getattr(self, kind) for kind in FaultKind]
        if any(not isfinite(one) or one < 0 for one in shares) or sum(shares) > 1:
            return f"faults must be shares of 0 to 1 in all, not {shares}"
        return None


class Faults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The faults of a phase. They hit only messages about a UE."""

    uplink: FaultShares = FaultShares()
    downlink: FaultShares = FaultShares()
    longest: float = 2.0
    """The longest delay of a message, in seconds."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        if not isfinite(self.longest) or self.longest <= 0:
            return f"faults: longest is {self.longest}, but must be above 0"
        return self.uplink.problem() or self.downlink.problem()


NO_FAULTS = Faults()


def spread(share: float) -> Faults:
    """Return faults of all kinds in equal parts that hit this share of the messages."""
    five = share / 5
    down = FaultShares(drop=five, delay=five, duplicate=five, reorder=five, corrupt=five)
    six = share / 6
    up = FaultShares(drop=six, delay=six, duplicate=six, reorder=six, corrupt=six, wrong=six)
    return Faults(uplink=up, downlink=down)


def faults_of(given: "Faults | float | None") -> Faults:
    """Return the faults of a configured share or table of shares."""
    if given is None:
        return NO_FAULTS
    return given if isinstance(given, Faults) else spread(given)


class Draws:
    """Draws the fault of each message."""

    def __init__(self, rng: Random) -> None:
        self.faults = NO_FAULTS
        self.injected: Counter[str] = Counter()
        """Count by direction and kind, as in ``uplink drop``."""
        self._rng = rng

    @property
    def idle(self) -> bool:
        """Whether no faults are configured now."""
        return self.faults is NO_FAULTS

    def draw(self, direction: Direction) -> FaultKind | None:
        """Return the fault of the next message, or None."""
        shares = self.faults.uplink if direction == "uplink" else self.faults.downlink
        left = self._rng.random()
        for kind, share in shares.all:
            left -= share
            if left < 0:
                return kind
        return None

    def pause(self) -> float:
        """Return the delay of a message in seconds."""
        return self._rng.uniform(0.05, 1.0) * self.faults.longest

    def corrupt(self, nas: bytes) -> bytes:
        """Return a NAS message of at least three octets with one bit after the header flipped."""
        at = self._rng.randrange(2, len(nas))
        return nas[:at] + bytes([nas[at] ^ 1 << self._rng.randrange(8)]) + nas[at + 1 :]
