"""SCTP packets from any sender: with a right checksum and random content."""

import struct
from typing import Any

from hypothesis import strategies as st

import wire
from tests.corpus import entries
from tests.wire.hostile import changed

PORT = 38412
SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
UDP = 9899


def _table() -> list[int]:
    table: list[int] = []
    for octet in range(256):
        value = octet
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = _table()


def sealed(packet: bytes) -> bytes:
    """Return the packet with the right CRC32c (RFC 9260 appendix A)."""
    if len(packet) < 12:
        return packet
    value = 0xFFFFFFFF
    for octet in packet[:8] + bytes(4) + packet[12:]:
        value = TABLE[(value ^ octet) & 0xFF] ^ value >> 8
    return packet[:8] + struct.pack("<I", value ^ 0xFFFFFFFF) + packet[12:]


class Pair:
    """An endpoint that accepts and one that has connected to it, on a wire without losses."""

    def __init__(self, **options: Any) -> None:
        self.server = wire.SctpEndpoint(PORT, accept=True, **options)
        self.client = wire.SctpEndpoint(PORT, **options)
        self.sent: list[bytes] = []
        """All packets that the client has sent."""
        self.association = self.client.connect(SERVER, UDP, PORT, 0.0)
        self.pump(0.0)
        ((_, self.accepted, _),) = self.server.events()
        assert [name for name, _, _ in self.client.events()] == ["up"]

    def pump(self, now: float) -> None:
        while self._pass(now):
            pass

    def _pass(self, now: float) -> bool:
        up, down = self.client.packets(), self.server.packets()
        for packet, _ in up:
            self.sent.append(packet)
            self.server.receive(packet, CLIENT, UDP, now)
        for packet, _ in down:
            self.client.receive(packet, SERVER, UDP, now)
        return bool(up or down)

    def works(self, now: float) -> bool:
        """Whether a message arrives in each direction."""
        for sender, receiver, number in (
            (self.client, self.server, self.association),
            (self.server, self.client, self.accepted),
        ):
            receiver.messages(1000)
            try:
                sender.send(number, 1, 60, b"after", now)
            except wire.WireError:
                return False
            self.pump(now)
            for later in (now + 10, now + 20, now + 40):
                self.client.advance(later)
                self.server.advance(later)
                self.pump(later)
            if b"after" not in [message[3] for message in receiver.messages(1000)]:
                return False
        return True


chunk = st.builds(
    lambda kind, flags, value, wrong: (
        bytes([kind, flags])
        + (len(value) + 4 + wrong).to_bytes(2, "big")
        + value
        + bytes(-len(value) % 4)
    ),
    st.sampled_from([*range(15), 64, 128, 130, 132, 192, 193, 194, 255]) | st.integers(0, 255),
    st.integers(0, 255),
    st.binary(max_size=40),
    st.sampled_from([0, 0, 0, 1, -1, -4, 400]),
)
recorded = st.sampled_from([entry.octets for entry in entries("sctp")])
packets = st.one_of(recorded, changed(recorded), st.binary(max_size=80))
"""A random packet with a random tag."""
