"""A peer that builds its SCTP packets by hand and obeys no rule."""

import struct

from tests.transport.packets import sealed

DATA, INIT_ACK, HEARTBEAT, ERROR, COOKIE_ECHO = 0, 2, 4, 9, 10
RE_CONFIG = 130
BEGIN, END = 2, 1
"""Flags of DATA: the first and the last fragment of a message."""
STATE_COOKIE = 7


class RawPeer:
    """One end of an association."""

    def __init__(self, port: int, server_port: int, tag: int = 0x01020304) -> None:
        self.port = port
        self.server_port = server_port
        self.tag = tag
        self.server_tag = 0
        self.tsn = 1
        self.ssn = 0

    def packet(self, chunks: bytes, tag: int | None = None) -> bytes:
        """Return a packet with the server's tag, or another one."""
        tag = self.server_tag if tag is None else tag
        header = struct.pack(">HHII", self.port, self.server_port, tag, 0)
        return sealed(header + chunks)

    def init(self, *, window: int = 1 << 20, outbound: int = 10, inbound: int = 10) -> bytes:
        """Return an INIT."""
        body = struct.pack(">IIHHI", self.tag, window, outbound, inbound, self.tsn)
        return self.packet(chunk(1, body), 0)

    def cookie_echo(self, init_ack: bytes) -> bytes:
        """Return the COOKIE ECHO for an INIT ACK."""
        assert init_ack[12] == INIT_ACK
        (self.server_tag,) = struct.unpack_from(">I", init_ack, 16)
        return self.packet(chunk(COOKIE_ECHO, cookie_of(init_ack)))

    def data(self, payload: bytes, flags: int, *, stream: int = 0) -> bytes:
        """Return a DATA chunk with the next TSN."""
        body = struct.pack(">IHHI", self.tsn, stream, self.ssn, 60) + payload
        self.tsn = (self.tsn + 1) & 0xFFFFFFFF
        if flags & END:
            self.ssn += 1
        return chunk(DATA, body, flags)


def chunk(kind: int, body: bytes, flags: int = 0) -> bytes:
    """Return a chunk with its padding."""
    return struct.pack(">BBH", kind, flags, 4 + len(body)) + body + bytes(-len(body) % 4)


def cookie_of(init_ack: bytes) -> bytes:
    """Return the state cookie of an INIT ACK."""
    at = 32
    while at + 4 <= len(init_ack):
        kind, length = struct.unpack_from(">HH", init_ack, at)
        if kind == STATE_COOKIE:
            return init_ack[at + 4 : at + length]
        at += (length + 3) & ~3
    raise AssertionError("no state cookie")
