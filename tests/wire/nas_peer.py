"""Protect NAS messages octet by octet (TS 24.501 4.4, TS 33.501 6.4), without `NasSecurity`.

The keys and codes are those of `wire.knas_int`, `wire.nia` and similar functions, which other tests
compare with second implementations. The composition of a message is independent.
"""

import wire

KAMF = bytes(range(64, 96))
REGISTRATION_COMPLETE = b"\x7e\x00\x43"
AUTHENTICATION_REJECT = b"\x7e\x00\x58"
INTEGRITY, CIPHERED, NEW, NEW_CIPHERED = 1, 2, 3, 4

PAIRS = [(nia, nea) for nia in range(4) for nea in range(4) if nia or not nea]
"""The valid pairs of algorithms: NIA0 goes with NEA0 only."""


def sealed(
    plain: bytes,
    count: int,
    *,
    downlink: bool = False,
    header: int = CIPHERED,
    nia: int = 2,
    nea: int = 2,
    kamf: bytes = KAMF,
) -> bytes:
    """Return a protected message of 3GPP access, which has NAS connection identifier 1 (annex
    D)."""
    body = plain
    if header in (CIPHERED, NEW_CIPHERED):
        key = wire.knas_enc(kamf, nea)
        body = wire.nea(nea, key, count, 1, plain, downlink=downlink)
    covered = bytes([count & 0xFF]) + body
    mac = wire.nia(nia, wire.knas_int(kamf, nia), count, 1, covered, downlink=downlink)
    return bytes([0x7E, header]) + mac + covered


def opened(data: bytes, count: int, *, downlink: bool, nia: int, nea: int) -> bytes:
    """Return the plain message. Assert that its MAC is right."""
    header, mac, covered = data[1], data[2:6], data[6:]
    assert covered[0] == count & 0xFF
    key = wire.knas_int(KAMF, nia)
    assert wire.nia(nia, key, count, 1, covered, downlink=downlink) == mac
    if header in (INTEGRITY, NEW):
        return covered[1:]
    return wire.nea(nea, wire.knas_enc(KAMF, nea), count, 1, covered[1:], downlink=downlink)


def context(uplink: int = 0, downlink: int = 0, nia: int = 2, nea: int = 2) -> wire.NasSecurity:
    return wire.NasSecurity(KAMF, nia, nea, uplink, downlink)
