"""Partly received messages of the kernel's associations.

The kernel hands a long message over in parts. A peer that never sends the last part must not keep
memory for good, so the parts of all associations have a bound, and a message has one too.
"""

from typing import Protocol

from transport.contract import Limits


class Parts:
    """The parts of a message that has not arrived completely."""

    __slots__ = ("_parts", "octets", "since")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.octets = 0
        self.since = 0.0
        """When the first part arrived."""

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, part: bytes, now: float) -> None:
        """Append a part."""
        if not self._parts:
            self.since = now
        self._parts.append(part)
        self.octets += len(part)

    def take(self) -> bytes:
        """Return the joined parts, and keep none."""
        message = b"".join(self._parts)
        self._parts.clear()
        self.octets = 0
        return message


class Owner(Protocol):
    """An association with a partly received message."""

    parts: Parts


class Unfinished:
    """Decides which associations end because of their partly received messages."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._owners: dict[Owner, None] = {}
        """The associations with parts, in the order of their first part."""
        self.octets = 0

    def add(self, owner: Owner, part: bytes, now: float) -> Owner | None:
        """Append a part to the message of `owner`. Return the association that must end."""
        owner.parts.add(part, now)
        self._owners.setdefault(owner)
        self.octets += len(part)
        if owner.parts.octets > self._limits.receive_window:
            return owner
        if self.octets > self._limits.max_unfinished:
            return next(iter(self._owners))
        return None

    def take(self, owner: Owner) -> bytes:
        """Return the message of `owner`, and forget its parts."""
        self._owners.pop(owner, None)
        self.octets -= owner.parts.octets
        return owner.parts.take()

    def too_old(self, now: float) -> Owner | None:
        """Return an association with a message that takes too long; None if there is none."""
        oldest = next(iter(self._owners), None)
        if oldest is None or oldest.parts.since + self._limits.unfinished_within > now:
            return None
        return oldest

    def postpone(self, now: float) -> None:
        """Restart the age of all parts, because nothing was read."""
        for owner in self._owners:
            owner.parts.since = now

    @property
    def due(self) -> float | None:
        """The time at which the oldest message is too old."""
        oldest = next(iter(self._owners), None)
        return None if oldest is None else oldest.parts.since + self._limits.unfinished_within
