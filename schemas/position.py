"""The position of an event in the order of the events of its UE.

The event stream is one sequence, so it orders the events of all procedures and connections of a UE.
An event that is published again, for another procedure or slot or apart from its batch, keeps the
position of the message that carried it first.
"""

from typing import Final

from msgspec import Struct

SKEW: Final = 1000
"""Milliseconds by which the clocks of two brokers may differ."""
LONGEST: Final = 60
"""Maximum octets of a position as text."""


class Position(Struct, frozen=True, array_like=True):
    """The place of an event in the stream."""

    sequence: int
    """The stream sequence of the first message that carried the event."""
    index: int
    """The index of the event in that message."""
    stored: int
    """When JetStream stored that message, in milliseconds since the Unix epoch."""

    def precedes(self, other: "Position") -> bool:
        """Whether this event stands before another one.

        A stream that was made again, or that has lost its last messages with its disk, uses lower
        sequences again. So the time decides about events that are further apart than `SKEW`.
        """
        if abs(self.stored - other.stored) > SKEW:
            return self.stored < other.stored
        return (self.sequence, self.index) < (other.sequence, other.index)

    def __str__(self) -> str:
        """Return the form of the CloudEvents attribute: sequence, index and time with dots."""
        return f"{self.sequence}.{self.index}.{self.stored}"


def parse(text: str) -> Position:
    """Return the position in a CloudEvents attribute.

    Raises:
        ValueError: the text is not a position.
    """
    parts = text.split(".")
    if (
        len(parts) != 3
        or len(text) > LONGEST
        or not all(p.isascii() and p.isdigit() for p in parts)
    ):
        raise ValueError(f"position is {text[:60]!r}, not <sequence>.<index>.<milliseconds>")
    sequence, index, stored = map(int, parts)
    if max(sequence, index, stored) >= 1 << 63:
        raise ValueError(f"position is {text!r}: no stream reaches that")
    return Position(sequence, index, stored)
