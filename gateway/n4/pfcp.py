"""The octets of PFCP headers that a gateway changes or goes by (TS 29.244 7.2.2)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import wire

SEQUENCES: Final = 1 << 24
"""How many sequence numbers there are."""

MAX_MESSAGES: Final = 64
"""Messages that are taken of one datagram."""

FIRST_OF_SESSIONS: Final = 50
"""The lowest type of a message of a session; those below are of nodes (table 7.3-1)."""

_SEID: Final = 0x01
_OCTETS, _OCTETS_WITH_SEID = 8, 16


class Header(NamedTuple):
    """The header of a message that may be malformed behind it."""

    version: int
    message_type: int
    seid: int | None
    sequence: int


def read(octets: bytes) -> Header | None:
    """The header of a message; None for fewer octets than one has."""
    has_seid = bool(octets) and bool(octets[0] & _SEID)
    length = _OCTETS_WITH_SEID if has_seid else _OCTETS
    if len(octets) < length:
        return None
    seid = int.from_bytes(octets[4:12], "big") if has_seid else None
    return Header(
        octets[0] >> 5, octets[1], seid, int.from_bytes(octets[length - 4 : length - 1], "big")
    )


def with_sequence(octets: bytes, sequence: int) -> bytes:
    """A message with another sequence number; a whole header must be there."""
    at = 12 if octets[0] & _SEID else 4
    return octets[:at] + sequence.to_bytes(3, "big") + octets[at + 3 :]


def messages(datagram: bytes) -> Iterator[tuple[bytes, wire.PfcpPeek | None]]:
    """The messages of a datagram, each with what can be read of it.

    It is None for octets that are no whole message; nothing can be told of what follows them.
    """
    rest = datagram
    for _ in range(MAX_MESSAGES):
        try:
            peek = wire.pfcp_peek(rest)
        except wire.WireError:
            yield rest, None
            return
        if not peek.follow_on or peek.length >= len(rest):
            yield rest, peek
            return
        yield rest[: peek.length], peek
        rest = rest[peek.length :]
    yield b"", None
