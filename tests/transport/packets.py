"""SCTP packets, built and changed by hand (RFC 9260 clause 3)."""

import struct

INIT, ABORT, SACK = 1, 6, 3


def _table() -> list[int]:
    table: list[int] = []
    for octet in range(256):
        crc = octet
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()


def sealed(packet: bytes) -> bytes:
    """Return the packet with the right CRC32c (clause 6.8, appendix A)."""
    if len(packet) < 12:
        return packet
    crc = 0xFFFFFFFF
    for octet in packet[:8] + bytes(4) + packet[12:]:
        crc = (crc >> 8) ^ _TABLE[(crc ^ octet) & 255]
    return packet[:8] + struct.pack("<I", crc ^ 0xFFFFFFFF) + packet[12:]


def init(source: int, destination: int, tag: int, *, streams: int = 10) -> bytes:
    """Return an INIT with an initiate tag of `tag`."""
    header = struct.pack(">HHII", source, destination, 0, 0)
    body = struct.pack(">IIHHI", tag, 100_000, streams, streams, 1)
    return sealed(header + struct.pack(">BBH", INIT, 0, 4 + len(body)) + body)


def kinds(packet: bytes) -> list[int]:
    """Return the types of the packet's chunks."""
    found: list[int] = []
    at = 12
    while at + 4 <= len(packet):
        kind, _, length = struct.unpack_from(">BBH", packet, at)
        found.append(kind)
        at += (max(length, 4) + 3) & ~3
    return found


def with_window(packet: bytes, window: int) -> bytes:
    """Return the packet with another window in its SACK, if its first chunk is one."""
    if packet[12] != SACK:
        return packet
    return sealed(packet[:20] + struct.pack(">I", window) + packet[24:])
