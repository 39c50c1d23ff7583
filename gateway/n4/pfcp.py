"""PFCP headers, message types and heartbeats (TS 29.244)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import wire

HEARTBEAT_REQUEST: Final = 1
HEARTBEAT_RESPONSE: Final = 2
ASSOCIATION_SETUP_REQUEST: Final = 5
ASSOCIATION_SETUP_RESPONSE: Final = 6
VERSION_NOT_SUPPORTED: Final = 11
"""The response that may answer any request (7.4.4.7)."""
FIRST_OF_SESSIONS: Final = 50
"""Lowest type of a session message; lower types are node messages (table 7.3-1)."""
SESSION_ESTABLISHMENT_RESPONSE: Final = 51

ACCEPTED: Final = 1
NO_ASSOCIATION: Final = 72
"""Values of Cause (8.2.1)."""
FIRST_REFUSAL: Final = 64
"""The lowest cause of a request that is not accepted."""

SEQUENCES: Final = 1 << 24
"""Number of sequence numbers."""

MAX_MESSAGES: Final = 64
"""Maximum messages that are read from one datagram."""

_SEID: Final = 0x01
_OCTETS, _OCTETS_WITH_SEID = 8, 16


class PfcpHeader(NamedTuple):
    """The header of a message (7.2.2); the rest of the message may be malformed."""

    version: int
    message_type: int
    seid: int | None
    sequence: int


def header(peek: wire.PfcpPeek) -> PfcpHeader:
    """Return the header of a peeked message."""
    return PfcpHeader(peek.version, peek.message_type, peek.seid, peek.sequence)


def header_of(octets: bytes) -> PfcpHeader | None:
    """Return the header of a message; None if there are too few octets."""
    has_seid = bool(octets) and bool(octets[0] & _SEID)
    length = _OCTETS_WITH_SEID if has_seid else _OCTETS
    if len(octets) < length:
        return None
    seid = int.from_bytes(octets[4:12], "big") if has_seid else None
    return PfcpHeader(
        octets[0] >> 5, octets[1], seid, int.from_bytes(octets[length - 4 : length - 1], "big")
    )


def with_sequence(octets: bytes, sequence: int) -> bytes:
    """Return a message with another sequence number. The message must have a whole header."""
    at = 12 if octets[0] & _SEID else 4
    return octets[:at] + sequence.to_bytes(3, "big") + octets[at + 3 :]


def messages(datagram: bytes) -> Iterator[tuple[bytes, wire.PfcpPeek | None]]:
    """Yield the messages of a datagram, each with its peeked fields.

    The fields are None for octets that are not a whole message. Nothing follows such octets.
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


def heartbeat(message: str, sequence: int, stamp: int) -> bytes:
    """Return a heartbeat request or response (7.4.2) with the core's Recovery Time Stamp."""
    ies = [{"Recovery Time Stamp": stamp}]
    return wire.pfcp_encode({"message": message, "sequence": sequence, "ies": ies})
