"""Peers that take much and give nothing: what an endpoint holds for them has bounds."""

import struct
from typing import Any

import pytest

import wire
from tests.transport.endpoints import CLIENT, SERVER, SERVER_PORT, Link
from tests.transport.packets import ABORT, kinds, sealed
from tests.transport.raw_peer import (
    BEGIN,
    END,
    ERROR,
    HEARTBEAT,
    INIT_ACK,
    RE_CONFIG,
    RawPeer,
    chunk,
    cookie_of,
)

STRANGER = "192.0.2.66"
KB = 1024


class Host:
    """A server, and raw peers at one address."""

    def __init__(self, **options: Any) -> None:
        self.server = wire.SctpEndpoint(SERVER_PORT, accept=True, **options)
        self.now = 1000.0
        self.numbers: dict[int, int] = {}
        """The number of each peer's association, by its port."""
        self.down: list[tuple[int, str]] = []

    def send(self, peer: RawPeer, packet: bytes, ip: str = STRANGER) -> list[bytes]:
        """Deliver a packet. Return the answers."""
        self.server.receive(packet, ip, peer.port, self.now)
        answers = [answer for answer, _ in self.server.packets()]
        for kind, number, text in self.server.events():
            if kind == "up":
                self.numbers[peer.port] = number
            elif kind == "down":
                self.down.append((number, text))
        return answers

    def join(self, port: int) -> RawPeer:
        """Return a peer with an association."""
        peer = RawPeer(port, SERVER_PORT)
        (init_ack,) = self.send(peer, peer.init())
        self.send(peer, peer.cookie_echo(init_ack))
        assert port in self.numbers
        return peer

    def advance(self, seconds: float) -> None:
        """Let time pass. Peers answer no heartbeat."""
        self.now += seconds
        self.server.advance(self.now)
        self.server.packets()
        self.down += [(n, text) for kind, n, text in self.server.events() if kind == "down"]


# INIT


@pytest.mark.parametrize(
    "bad", [{"outbound": 0}, {"inbound": 0}, {"window": 1499}], ids=["OS", "MIS", "a_rwnd"]
)
def test_an_init_with_an_invalid_field_is_refused(bad: dict[str, int]) -> None:
    """RFC 9260 3.3.2: discard it and send an ABORT with the Initiate Tag. No state changes."""
    host = Host()
    peer = RawPeer(7, SERVER_PORT)
    (answer,) = host.send(peer, peer.init(**bad))
    assert kinds(answer) == [ABORT]
    assert answer[4:8] == peer.tag.to_bytes(4)
    assert struct.unpack_from(">H", answer, 16) == (7,)  # Invalid Mandatory Parameter
    there = host.join(8)
    host.send(there, there.init(**bad))
    assert host.send(there, there.packet(there.data(b"still here", BEGIN | END)))
    assert [m[3] for m in host.server.messages(10)] == [b"still here"]
    assert (host.server.associations, host.down) == (1, [])


def test_an_init_with_tag_zero_gets_no_answer() -> None:
    """RFC 9260 3.3.2: the receiver must silently discard the packet."""
    host = Host()
    peer = RawPeer(7, SERVER_PORT, tag=0)
    assert host.send(peer, peer.init()) == []
    assert host.server.associations == 0


@pytest.mark.parametrize("at", [16, 20, 24, 26], ids=["tag", "a_rwnd", "OS", "MIS"])
def test_an_init_ack_with_an_invalid_field_ends_the_attempt(at: int) -> None:
    """RFC 9260 3.3.3: the receiver must destroy the association."""
    client = wire.SctpEndpoint(50_000)
    number = client.connect(*SERVER, SERVER_PORT, 1.0)
    server = wire.SctpEndpoint(SERVER_PORT, accept=True)
    ((init, _),) = client.packets()
    server.receive(init, *CLIENT, 1.0)
    ((answer, _),) = server.packets()
    width = 4 if at < 24 else 2
    client.receive(sealed(answer[:at] + bytes(width) + answer[at + width :]), *SERVER, 1.0)
    assert [event[:2] for event in client.events()] == [("down", number)]
    answers = [kinds(packet) for packet, _ in client.packets()]
    assert answers == ([] if at == 16 else [[ABORT]])


def test_inits_take_no_place() -> None:
    """A peer with a long way gets its place, however many INITs come meanwhile."""
    host = Host(max_associations=1)
    slow = RawPeer(7, SERVER_PORT)
    (init_ack,) = host.send(slow, slow.init())
    for port in range(1000, 3000):
        other = RawPeer(port, SERVER_PORT)
        (answer,) = host.send(other, other.init(), f"198.51.100.{port % 250}")
        assert kinds(answer) == [INIT_ACK]
        assert host.server.associations == 0
    host.now += 5
    host.send(slow, slow.cookie_echo(init_ack))
    assert (list(host.numbers), host.server.associations) == ([7], 1)


def test_a_cookie_is_only_good_for_its_address() -> None:
    host = Host()
    peer = RawPeer(7, SERVER_PORT)
    (init_ack,) = host.send(peer, peer.init())
    echo = peer.cookie_echo(init_ack)
    assert host.send(peer, echo, "192.0.2.67") == []
    for at in range(16, len(echo), 5):
        changed = bytearray(echo)
        changed[at] ^= 1
        assert host.send(peer, sealed(bytes(changed))) == []
    assert (host.server.associations, host.numbers) == (0, {})
    host.send(peer, echo)
    assert list(host.numbers) == [7]


def test_an_old_cookie_is_stale() -> None:
    """RFC 9260 5.1.5: an ERROR with the cause Stale Cookie, and no association."""
    host = Host()
    peer = RawPeer(7, SERVER_PORT)
    (init_ack,) = host.send(peer, peer.init())
    host.now += 61
    (answer,) = host.send(peer, peer.cookie_echo(init_ack))
    assert kinds(answer) == [ERROR]
    assert answer[4:8] == peer.tag.to_bytes(4)
    assert struct.unpack_from(">HHI", answer, 16) == (3, 8, 1_000_000)
    assert host.server.associations == 0


def test_tags_do_not_follow_from_each_other() -> None:
    host = Host()
    tags: set[bytes] = set()
    cookies: set[bytes] = set()
    for port in range(1, 500):
        peer = RawPeer(port, SERVER_PORT)
        (init_ack,) = host.send(peer, peer.init())
        tags.add(init_ack[16:20])
        cookies.add(cookie_of(init_ack)[-16:])
    assert len(tags) == len(cookies) == 499


def test_a_repeated_cookie_echo_is_answered_once_each() -> None:
    host = Host()
    peer = RawPeer(7, SERVER_PORT)
    (init_ack,) = host.send(peer, peer.init())
    echo = peer.cookie_echo(init_ack)
    assert [len(host.send(peer, echo)) for _ in range(100)] == [1] * 100
    assert (host.server.associations, host.down) == (1, [])


# Received data


def unfinished(peer: RawPeer, octets: int) -> list[bytes]:
    """Return packets with the beginning of a message."""
    packets = [peer.packet(peer.data(bytes(1_000), BEGIN))]
    packets += [peer.packet(peer.data(bytes(1_000), 0)) for _ in range(octets // 1_000 - 1)]
    return packets


def test_unfinished_messages_of_all_peers_have_a_bound() -> None:
    """The peer with the oldest one ends, until the rest is within the bound."""
    host = Host(receive_window=128 * KB, max_unfinished=512 * KB)
    peers = [host.join(port) for port in range(1, 21)]
    for peer in peers:
        host.now += 1
        for packet in unfinished(peer, 100_000):
            host.send(peer, packet)
    assert 2 <= host.server.associations <= 5
    first = [host.numbers[peer.port] for peer in peers[: len(host.down)]]
    assert [number for number, _ in host.down] == first
    assert {text for _, text in host.down} == {"too much of all messages is unfinished"}
    last = peers[-1]
    host.send(last, last.packet(last.data(b"end", END)))
    assert [len(m[3]) for m in host.server.messages(10)] == [100_003]


def test_tiny_fragments_count_by_their_memory() -> None:
    host = Host(receive_window=128 * KB)
    peer = host.join(7)
    host.send(peer, peer.packet(peer.data(b"x", BEGIN)))
    packets = 0
    while not host.down and packets < 200:
        host.send(peer, peer.packet(b"".join(peer.data(b"x", 0) for _ in range(60))))
        packets += 1
    assert packets < 100
    assert host.server.associations == 0


def test_messages_that_wait_for_an_earlier_one_count_too() -> None:
    """The first message of the stream is missing."""
    host = Host(receive_window=128 * KB)
    peer = host.join(7)
    peer.ssn = 1
    peer.tsn = 2
    for _ in range(100):
        host.send(peer, peer.packet(b"".join(peer.data(b"x", BEGIN | END) for _ in range(60))))
    assert host.server.associations == 0


def test_an_unfinished_message_has_an_age() -> None:
    host = Host(heartbeat=0, unfinished_within=30.0)
    peer, honest = host.join(7), host.join(8)
    for packet in unfinished(peer, 50_000):
        host.send(peer, packet)
    for _ in range(29):
        host.advance(1)
        # Long messages are fine, if each of them ends.
        for packet in unfinished(honest, 50_000):
            host.send(honest, packet)
        host.send(honest, honest.packet(honest.data(b"end", END)))
        host.send(peer, peer.packet(peer.data(b"more", 0)))
        assert len(host.server.messages(10)) == 1
    assert host.down == []
    host.advance(1.5)
    assert [number for number, _ in host.down] == [host.numbers[7]]
    host.advance(60)
    assert len(host.down) == 1


def test_a_peer_that_waits_for_the_reader_does_not_age() -> None:
    host = Host(heartbeat=0, receive_window=64 * KB, unfinished_within=30.0)
    peer = host.join(7)
    for packet in unfinished(peer, 20_000):
        host.send(peer, packet)
    host.send(peer, peer.packet(peer.data(b"end", END)))
    for _ in range(40):
        host.send(peer, peer.packet(peer.data(bytes(1_000), BEGIN | END)))
    for packet in unfinished(peer, 20_000):
        host.send(peer, packet)
    for _ in range(20):
        host.advance(10)
    assert host.down == []


def test_what_waits_for_the_reader_has_a_bound_over_all_peers() -> None:
    host = Host(receive_window=128 * KB, max_waiting=512 * KB)
    peers = [host.join(port) for port in range(1, 21)]
    for _ in range(120):
        for peer in peers:
            before = peer.tsn
            answers = host.send(peer, peer.packet(peer.data(bytes(1_000), BEGIN | END)))
            for answer in answers:
                (acknowledged,) = struct.unpack_from(">I", answer, 16)
                if answer[12] == 3 and acknowledged < before:
                    peer.tsn, peer.ssn = acknowledged + 1, acknowledged
    octets = sum(len(m[3]) for m in host.server.messages(10_000))
    assert 256 * KB <= octets <= 600 * KB
    # Then all of them can send again. The server may have kept the last message of each.
    for peer in peers:
        for _ in range(2):
            host.send(peer, peer.packet(peer.data(b"again", BEGIN | END)))
    assert len(host.server.messages(10_000)) >= len(peers)


@pytest.mark.parametrize(
    ("stream", "payload", "reason"),
    [(64, b"x", "invalid stream identifier"), (0, b"", "DATA without user data")],
)
def test_invalid_data_ends_the_association(stream: int, payload: bytes, reason: str) -> None:
    host = Host(streams=64)
    peer, other = host.join(7), host.join(8)
    wrong = RawPeer(8, SERVER_PORT)
    wrong.server_tag = other.server_tag ^ 1
    host.send(wrong, wrong.packet(wrong.data(payload, BEGIN | END, stream=stream)))
    answers = host.send(peer, peer.packet(peer.data(payload, BEGIN | END, stream=stream)))
    assert [kinds(answer) for answer in answers] == [[ABORT]]
    assert host.down == [(host.numbers[7], reason)]


def test_a_reset_of_more_streams_than_there_are_ends_the_association() -> None:
    """RFC 6525 4.1. The endpoint would keep the streams until all data before has arrived."""
    host = Host(streams=64)
    peer = host.join(7)
    request = struct.pack(">HHIII", 13, 16 + 2 * 64, peer.tsn, 0, 1000)
    some = request + b"".join(struct.pack(">H", n) for n in range(64))
    assert host.send(peer, peer.packet(chunk(RE_CONFIG, some)))
    assert host.down == []
    request = struct.pack(">HHIII", 13, 16 + 2 * 2_000, peer.tsn, 0, 1000)
    many = request + b"".join(struct.pack(">H", n) for n in range(2_000))
    host.send(peer, peer.packet(chunk(RE_CONFIG, many)))
    assert [text for _, text in host.down] == ["RE-CONFIG of too many streams"]


@pytest.mark.parametrize("kind", [HEARTBEAT, 0xC0 | 0x3F], ids=["HEARTBEAT", "unknown"])
def test_one_packet_has_few_answers(kind: int) -> None:
    host = Host()
    peer = host.join(7)
    body = struct.pack(">HH", 1, 4) if kind == HEARTBEAT else b""
    answers = host.send(peer, peer.packet(chunk(kind, body) * 2_000))
    assert 1 <= len(answers) <= 17
    assert host.server.associations == 1


# Sent data


def test_what_waits_for_the_peers_has_a_bound_over_all_of_them() -> None:
    host = Host(heartbeat=0, send_buffer=256 * KB, max_unsent=1024 * KB)
    peers = [host.join(port) for port in range(1, 17)]
    for _ in range(200):
        for peer in peers[:-1]:
            number = host.numbers[peer.port]
            if number not in dict(host.down):
                host.server.send(number, 0, 60, bytes(1_000), host.now)
        host.down += [(n, text) for kind, n, text in host.server.events() if kind == "down"]
    assert len(peers) - len(host.down) >= 4
    assert {text for _, text in host.down} == {"the peer reads too slowly"}
    # A peer with little to read stays.
    assert host.numbers[peers[-1].port] not in dict(host.down)


def test_peers_that_read_never_come_near_the_bound() -> None:
    link = Link(send_buffer=256 * KB, max_unsent=512 * KB)
    for _ in range(100):
        for _ in range(20):
            link.server.send(link.at_server, 0, 60, bytes(1_000), link.now)
        link.pass_time(link.now + 0.5)
        assert len(link.client.messages(100)) == 20
    assert link.server.associations == 1
