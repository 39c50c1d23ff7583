"""Faults to inject into signalling, drawn from a seeded generator so that a run can be repeated.

SCTP loses nothing, so they are made above it: of NGAP PDUs, and of the NAS messages in them.
"""

from collections import Counter
from math import isfinite
from random import Random
from typing import Literal, TypeAlias

from msgspec import Struct

from loadgen.tolerated import FaultKind

Direction: TypeAlias = Literal["uplink", "downlink"]


class Shares(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which share of the messages of one direction each fault is for, 0 to 1."""

    drop: float = 0.0
    delay: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    wrong: float = 0.0
    """Of answers of a gNB; nothing else is answered wrongly."""

    @property
    def all(self) -> tuple[tuple[FaultKind, float], ...]:
        """The faults that there are, with their shares."""
        found = [(kind, float(getattr(self, kind))) for kind in FaultKind]
        return tuple((kind, share) for kind, share in found if share > 0)

    def fault(self) -> str | None:
        """What is wrong with it, in a sentence; None for nothing."""
        shares = [getattr(self, kind) for kind in FaultKind]
        if any(not isfinite(one) or one < 0 for one in shares) or sum(shares) > 1:
            return f"faults are shares of 0 to 1 in all, and not {shares}"
        return None


class Faults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The faults of a phase. Only messages about a UE meet with them."""

    uplink: Shares = Shares()
    downlink: Shares = Shares()
    longest: float = 2.0
    """How long a message is held back at most, in seconds."""

    def fault(self) -> str | None:
        """What is wrong with it, in a sentence; None for nothing."""
        if not isfinite(self.longest) or self.longest <= 0:
            return f"faults: longest is {self.longest}, and it is a time above 0"
        return self.uplink.fault() or self.downlink.fault()


NO_FAULTS = Faults()


def spread(share: float) -> Faults:
    """Every kind of fault alike, so that this share of the messages meets with one."""
    five = share / 5
    down = Shares(drop=five, delay=five, duplicate=five, reorder=five, corrupt=five)
    six = share / 6
    up = Shares(drop=six, delay=six, duplicate=six, reorder=six, corrupt=six, wrong=six)
    return Faults(uplink=up, downlink=down)


def faults_of(said: "Faults | float | None") -> Faults:
    """The faults that a share, or a table of them, says."""
    if said is None:
        return NO_FAULTS
    return said if isinstance(said, Faults) else spread(said)


class Draws:
    """Which message meets with which fault."""

    def __init__(self, rng: Random) -> None:
        self.faults = NO_FAULTS
        self.injected: Counter[str] = Counter()
        """By direction and kind, as in ``uplink drop``."""
        self._rng = rng

    @property
    def idle(self) -> bool:
        """Whether there are no faults now."""
        return self.faults is NO_FAULTS

    def draw(self, direction: Direction) -> FaultKind | None:
        """The fault of the next message; None for most."""
        shares = self.faults.uplink if direction == "uplink" else self.faults.downlink
        left = self._rng.random()
        for kind, share in shares.all:
            left -= share
            if left < 0:
                return kind
        return None

    def pause(self) -> float:
        """How long a message is held back, in seconds."""
        return self._rng.uniform(0.05, 1.0) * self.faults.longest

    def corrupt(self, nas: bytes) -> bytes:
        """A NAS message of at least three octets with another bit behind its header."""
        at = self._rng.randrange(2, len(nas))
        return nas[:at] + bytes([nas[at] ^ 1 << self._rng.randrange(8)]) + nas[at + 1 :]
