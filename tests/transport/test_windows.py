"""The receive window of readers that stop for a long time (RFC 9260 clause 6.1 A)."""

import itertools

import wire
from tests.transport.endpoints import Link
from tests.transport.packets import with_window

WINDOW = 65_536
OPTIONS = {"receive_window": WINDOW, "send_buffer": WINDOW, "max_retransmissions": 5}


def _fill(link: Link) -> int:
    for count in itertools.count():
        payload = b"%06d" % count + bytes(194)
        try:
            link.client.send(link.at_client, count % 4, 60, payload, link.now)
        except wire.WireError:
            return count
        link.exchange()
    raise AssertionError


def test_a_reader_may_stop_for_an_hour() -> None:
    link = Link(**OPTIONS)
    count = _fill(link)
    packets = link.pass_time(link.now + 3600)
    assert packets < 3600 * 2
    assert link.client.events() == link.server.events() == []
    assert link.client.associations == link.server.associations == 1
    resumed = link.now
    got: list[bytes] = []
    while len(got) < count:
        messages = link.server.messages(7)
        got += [payload for _, _, _, payload in messages]
        if not link.exchange() and not messages:
            link.pass_time(link.now + 0.1)
    assert sorted(int(payload[:6]) for payload in got) == list(range(count))
    assert link.now - resumed < 1
    assert [kind for kind, _, _ in link.client.events()] == ["writable"]


def test_a_peer_that_ignores_the_window_gains_nothing() -> None:
    link = Link(**{**OPTIONS, "send_buffer": 1 << 20})
    link.bend = lambda packet, to_server: packet if to_server else with_window(packet, 1 << 20)
    taken = 0
    for _ in range(5_000):
        try:
            link.client.send(link.at_client, 0, 60, bytes(200), link.now)
        except wire.WireError:
            break
        taken += 1
        link.exchange()
    link.pass_time(link.now + 60)
    kept = link.server.messages(1_000_000)
    assert taken * 200 > 2 * WINDOW
    assert sum(len(payload) for _, _, _, payload in kept) < 2 * WINDOW


def test_tiny_messages_count_for_more_than_their_octets() -> None:
    """The overhead of a message counts against the window too."""
    link = Link(**OPTIONS)
    for _ in range(20_000):
        try:
            link.client.send(link.at_client, 0, 60, b"x", link.now)
        except wire.WireError:
            break
        link.exchange()
    assert len(link.server.messages(100_000)) <= WINDOW // 64


def test_messages_outlive_their_association_until_they_are_read() -> None:
    link = Link()
    for number in range(10):
        link.client.send(link.at_client, 0, 60, b"%d" % number, link.now)
    link.client.shutdown(link.at_client, link.now)
    link.pass_time(link.now + 2)
    assert [kind for kind, _, _ in link.client.events()] == ["down"]
    assert link.server.events() == []
    assert link.server.associations == 1
    assert len(link.server.messages(9)) == 9
    assert link.server.events() == []
    assert len(link.server.messages(9)) == 1
    assert [(kind, number) for kind, number, _ in link.server.events()] == [
        ("down", link.at_server)
    ]
    assert link.server.associations == 0


def test_an_aborted_association_is_not_read_on() -> None:
    link = Link()
    link.client.send(link.at_client, 0, 60, b"never read", link.now)
    link.exchange()
    link.server.abort(link.at_server, link.now)
    assert link.server.messages(10) == []
    assert [kind for kind, _, _ in link.server.events()] == ["down"]
    link.exchange()
    assert [kind for kind, _, _ in link.client.events()] == ["down"]


def test_messages_sent_together_share_packets() -> None:
    link = Link()
    before = len(link.packets)
    for number in range(50):
        link.client.send(link.at_client, number % 16, 60, bytes(50), link.now)
    link.exchange()
    assert len(link.packets) - before <= 6
    assert len(link.server.messages(100)) == 50
