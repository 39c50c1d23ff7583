"""Invalid, forged and unrelated packets raise nothing and affect no other association."""

import functools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from tests.transport.endpoints import CLIENT, CLIENT_PORT, SERVER, SERVER_PORT, Link
from tests.transport.packets import ABORT, INIT, init, kinds, sealed

STRANGER = ("192.0.2.66", 6_666)


@functools.cache
def recorded() -> list[bytes]:
    """Return packets of every kind, from the whole life of an association and from a rejected
    one."""
    link = Link(heartbeat=1.0)
    link.client.send(link.at_client, 1, 60, bytes(5_000), link.now)
    link.server.send(link.at_server, 1, 60, b"small", link.now)
    link.pass_time(link.now + 3)
    link.server.shutdown(link.at_server, link.now)
    link.pass_time(link.now + 1)
    link.client.connect(*SERVER, SERVER_PORT, link.now)
    link.exchange()
    ((_, number, _),) = [event for event in link.client.events() if event[0] == "up"]
    link.client.abort(number, link.now)
    link.exchange()
    packets = [packet for packet, _ in link.packets]
    # DATA to SHUTDOWN ACK, COOKIE ECHO, COOKIE ACK, SHUTDOWN COMPLETE.
    assert {kind for packet in packets for kind in kinds(packet)} >= {*range(9), 10, 11, 14}
    return packets


def _works(link: Link) -> None:
    link.client.send(link.at_client, 0, 60, b"still here", link.now)
    link.pass_time(link.now + 0.5)
    assert (link.at_server, 0, 60, b"still here") in link.server.messages(1000)
    link.server.send(link.at_server, 0, 60, b"so am I", link.now)
    link.pass_time(link.now + 0.5)
    assert (link.at_client, 0, 60, b"so am I") in link.client.messages(1000)


@given(data=st.binary(max_size=2_000))
def test_garbage(data: bytes) -> None:
    link = Link()
    for packet in (data, sealed(data)):
        link.server.receive(packet, *CLIENT, link.now)
        link.server.receive(packet, *STRANGER, link.now)
    link.server.packets()
    _works(link)


@settings(max_examples=300)
@given(data=st.data())
def test_mutations_of_real_packets(data: st.DataObject) -> None:
    """The checksum is corrected, so that the packets reach the state machine."""
    link = Link()
    tags = [link.packets[0][0][16:20], link.packets[1][0][16:20]]
    for _ in range(data.draw(st.integers(1, 8))):
        packet = bytearray(data.draw(st.sampled_from(recorded())))
        if data.draw(st.booleans()):
            packet[4:8] = tags[1]  # the tag that the server expects
        for _ in range(data.draw(st.integers(0, 4))):
            packet[data.draw(st.integers(4, len(packet) - 1))] = data.draw(st.integers(0, 255))
        bent = bytes(packet[: data.draw(st.integers(0, len(packet)))])
        source = data.draw(st.sampled_from([CLIENT, STRANGER]))
        to_server = bent[:4] == CLIENT_PORT.to_bytes(2) + SERVER_PORT.to_bytes(2)
        endpoint = link.server if to_server else link.client
        endpoint.receive(sealed(bent), *source, link.now)
        link.exchange()
    link.pass_time(link.now + 3)
    reasons = [text for endpoint in (link.client, link.server) for *_, text in endpoint.events()]
    assert not any("internal error" in reason for reason in reasons)
    # A new association is possible, even if the first one ended.
    if link.server.associations == 0 or link.client.associations == 0:
        link.pass_time(link.now + 60)
    other = wire.SctpEndpoint(CLIENT_PORT + 1)
    other.connect(*SERVER, SERVER_PORT, link.now)
    for _ in range(3):
        for packet, _ in other.packets():
            link.server.receive(packet, *STRANGER, link.now)
        for packet, to in link.server.packets():
            if to == STRANGER:
                other.receive(packet, *SERVER, link.now)
    assert [kind for kind, _, _ in other.events()] == ["up"]


@pytest.mark.parametrize("length", [0, 1, 11, 12, 13, 15, 16, 19, 20])
def test_cut_short(length: int) -> None:
    link = Link()
    for packet in recorded():
        link.server.receive(packet[:length], *CLIENT, link.now)
        link.server.receive(sealed(packet[:length]), *STRANGER, link.now)
    link.server.packets()
    _works(link)


def test_a_wrong_checksum_is_dropped() -> None:
    link = Link()
    link.client.send(link.at_client, 0, 60, b"payload", link.now)
    ((packet, _),) = link.client.packets()
    dropped = link.server.dropped
    for at in range(len(packet)):
        flipped = packet[:at] + bytes([packet[at] ^ 1]) + packet[at + 1 :]
        link.server.receive(flipped, *CLIENT, link.now)
    assert link.server.dropped == dropped + len(packet)
    assert link.server.messages(10) == []
    assert link.server.packets() == []
    link.server.receive(packet, *CLIENT, link.now)
    assert len(link.server.messages(10)) == 1


def test_out_of_the_blue() -> None:
    """RFC 9260 clause 8.4: an ABORT with the tag of the packet, except to some chunks."""
    server = wire.SctpEndpoint(SERVER_PORT, accept=True)
    for packet in recorded():
        if packet[2:4] != SERVER_PORT.to_bytes(2) or kinds(packet) == [INIT]:
            continue
        server.receive(packet, *STRANGER, 1.0)
        answers = server.packets()
        if set(kinds(packet)) & {2, 6, 9, 10, 11, 14}:
            assert answers == []
        else:
            ((answer, to),) = answers
            assert to == STRANGER
            assert answer[4:8] == packet[4:8]
            assert kinds(answer) == [14 if 8 in kinds(packet) else ABORT]
    assert server.associations == 0


def test_an_endpoint_that_does_not_accept_says_so() -> None:
    client = wire.SctpEndpoint(CLIENT_PORT)
    client.receive(init(SERVER_PORT, CLIENT_PORT, 0x01020304), *STRANGER, 1.0)
    ((answer, _),) = client.packets()
    assert kinds(answer) == [ABORT]
    assert answer[4:8] == bytes([1, 2, 3, 4])


def test_half_open_associations_are_bounded_and_give_way() -> None:
    """A flood of INITs from invented addresses does not keep a real peer out."""
    link = Link(max_associations=8)
    rng = random.Random(2)
    for number in range(1_000):
        ip = f"198.51.100.{number % 250}"
        packet = init(rng.randrange(65536), SERVER_PORT, rng.randrange(1, 2**32))
        link.server.receive(packet, ip, rng.randrange(1, 65536), link.now)
        assert link.server.associations <= 8
    link.server.packets()
    _works(link)
    other = wire.SctpEndpoint(CLIENT_PORT + 1)
    other.connect(*SERVER, SERVER_PORT, link.now)
    for _ in range(2):
        for packet, _ in other.packets():
            link.server.receive(packet, *STRANGER, link.now)
        for packet, to in link.server.packets():
            assert to == STRANGER
            other.receive(packet, *SERVER, link.now)
    assert [kind for kind, _, _ in other.events()] == ["up"]
    link.server.events()
    link.pass_time(link.now + 40)
    assert link.server.associations == 2
    assert link.server.events() == []


def test_no_room_is_said() -> None:
    link = Link(max_associations=1)
    link.server.receive(init(7, SERVER_PORT, 0x01020304), *STRANGER, link.now)
    ((answer, _),) = link.server.packets()
    assert kinds(answer) == [ABORT]
    assert answer[4:8] == bytes([1, 2, 3, 4])
    _works(link)


def test_repeated_inits_do_not_dislodge_an_association() -> None:
    """Repeated INITs in the peer's name only make the endpoint offer more tags."""
    link = Link()
    for tag in range(1, 50):
        link.server.receive(init(CLIENT_PORT, SERVER_PORT, tag), *CLIENT, link.now)
    link.server.packets()
    _works(link)
    assert link.server.events() == link.client.events() == []


def test_a_forged_abort_is_ignored() -> None:
    link = Link()
    for tag in (0, 1, 0xFFFFFFFF):
        for flags in (0, 1):
            header = CLIENT_PORT.to_bytes(2) + SERVER_PORT.to_bytes(2) + tag.to_bytes(4)
            abort = sealed(header + bytes(4) + bytes([ABORT, flags, 0, 4]))
            link.server.receive(abort, *CLIENT, link.now)
    _works(link)
