"""Behaviour of SCTP in user space only: packets on the transport's own socket."""

import asyncio
import errno
import random
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

import transport
from tests.transport.lossy import LossyProxy
from tests.transport.recorder import Recorder
from tests.transport.worlds import Pair, World
from transport import Limits, Mode, Transport, TransportError
from transport.datagrams import Datagrams, Where, open_datagrams
from transport.userspace import UserspaceTransport

UDP = Mode.USERSPACE_UDP


@pytest.fixture
async def udp() -> AsyncIterator[World]:
    opened = World(UDP)
    yield opened
    await opened.close()


class Proxied(NamedTuple):
    """A server and a client with an association through a proxy."""

    proxy: LossyProxy
    server: Recorder
    client: Recorder
    listening: Transport


@pytest.fixture
async def proxied(udp: World) -> AsyncIterator[Proxied]:
    limits = Limits(heartbeat=0.5, rto_max=0.5, max_retransmissions=20)
    server, client = Recorder(), Recorder()
    listening = await udp.listen(server, limits=limits)
    proxy = await LossyProxy(listening.udp_port or 0, seed=7).open()
    await udp.connect_to(listening.port, proxy.port, client, limits=limits)
    await server.ups()
    yield Proxied(proxy, server, client, listening)
    proxy.loss = proxy.repeat = proxy.reorder = 0.0
    await udp.close()
    proxy.close()


async def test_loss_repetition_and_reordering(proxied: Proxied) -> None:
    proxy, server, client, _ = proxied
    proxy.loss, proxy.repeat, proxy.reorder = 0.05, 0.05, 0.1
    rng = random.Random(3)
    sent = [rng.randbytes(rng.choice([1, 200, 1_400, 9_000])) for _ in range(300)]
    for number, payload in enumerate(sent):
        client.up_[0].send(number % 16, payload)
        server.up_[0].send(number % 16, payload)
    for recorder in (server, client):
        messages = await recorder.got(len(sent), seconds=60)
        for stream in range(16):
            assert [m.payload for m in messages if m.stream == stream] == sent[stream::16]
    assert len(server.messages) == len(client.messages) == len(sent)
    assert all(proxy.counts.values()), proxy.counts
    assert server.down_ == client.down_ == []


@pytest.mark.slow
async def test_associations_through_loss(udp: World, proxied: Proxied) -> None:
    """Set-up and shutdown survive loss too."""
    proxy, server, client, listening = proxied
    proxy.loss = 0.2
    for number in range(2, 5):
        client.up_[-1].shutdown()
        await client.downs(number - 1)
        await udp.connect_to(listening.port, proxy.port, client)
        client.up_[-1].send(0, b"x")
        await server.got(number - 1)


async def test_the_peer_changes_its_udp_port(proxied: Proxied) -> None:
    """RFC 6951 clause 5.4: packets go to the source of the association's last packet."""
    proxy, server, client, _ = proxied
    for number in range(1, 4):
        await proxy.rebind()
        client.up_[0].send(0, b"from another port")
        await server.got(number)
        server.up_[0].send(0, b"found you")
        await client.got(number)
    assert len(server.up_) == len(client.up_) == 1


async def test_random_datagrams_do_not_disturb(userspace: World) -> None:
    pair = await Pair(userspace).open()
    rng = random.Random(4)
    family, host = 2, userspace.host
    noise = open_datagrams(userspace.mode, family, host, 0)
    for number in range(500):
        noise.sock.sendto(rng.randbytes(rng.randrange(1_500)), (host, pair.server.udp_port or 0))
        if number % 50 == 0:
            pair.to_server.send(0, b"x")
            await pair.at_server.got(1 + number // 50)
    noise.close()
    assert pair.at_server.down_ == []
    assert len(pair.at_server.up_) == 1


class _Stuck(Datagrams):
    """A socket with a buffer that is full until the test clears it."""

    def __init__(self, inner: Datagrams) -> None:
        super().__init__(inner.sock, inner.mode)
        self.stuck = False
        self.sent: list[bytes] = []
        self.refusals = 0

    def send(self, packet: bytes, to: Where) -> None:
        if self.stuck:
            self.refusals += 1
            if self.refusals > 3:
                self.stuck = False
            raise BlockingIOError
        self.sent.append(packet)
        super().send(packet, to)


async def test_a_full_socket_keeps_the_order(udp: World) -> None:
    server, client = Recorder(), Recorder()
    listening = await udp.listen(server)
    datagrams = _Stuck(open_datagrams(UDP, 2, "127.0.0.1", 0))
    sending = UserspaceTransport(datagrams, 50_000, client, Limits(), accept=False)
    await sending.connect("127.0.0.1", listening.udp_port or 0, listening.port)
    await server.ups()
    datagrams.sent.clear()
    datagrams.stuck = True
    for number in range(100):
        client.up_[0].send(0, b"%d" % number + bytes(1_000))
        await asyncio.sleep(0)
    await server.got(100)
    assert datagrams.refusals > 3
    # The TSNs of the DATA chunks, in the order in which the packets left.
    tsns = [int.from_bytes(packet[16:20]) for packet in datagrams.sent if packet[12] == 0]
    assert tsns == sorted(tsns)
    await sending.close()


async def test_packets_that_cannot_be_sent_are_lost_and_repeated(udp: World) -> None:
    class Unlucky(Datagrams):
        refusals = 0

        def send(self, packet: bytes, to: Where) -> None:
            if len(packet) > 900 and self.refusals < 3:
                self.refusals += 1
                raise OSError(errno.EMSGSIZE, "Message too long")
            super().send(packet, to)

    server, client = Recorder(), Recorder()
    listening = await udp.listen(server)
    datagrams = Unlucky(open_datagrams(UDP, 2, "127.0.0.1", 0).sock, UDP)
    sending = UserspaceTransport(datagrams, 50_000, client, Limits(rto_max=0.5), accept=False)
    await sending.connect("127.0.0.1", listening.udp_port or 0, listening.port)
    client.up_[0].send(0, bytes(1_000))
    await server.got(1)
    assert datagrams.refusals == 3
    await sending.close()


async def test_an_unbound_port_refuses_at_once(udp: World) -> None:
    """The ICMP message ends the attempt. The client does not wait for the timeout."""
    listening = await udp.listen(Recorder())
    await listening.close()
    with pytest.raises(TransportError, match="the peer is unreachable"):
        await udp.connect(listening, Recorder(), limits=Limits(connect_timeout=30))


async def test_a_server_that_is_slow_to_come(udp: World) -> None:
    """`connect` repeats its INIT."""
    listening = await udp.listen(Recorder())
    sock = open_datagrams(UDP, 2, "127.0.0.1", 0)
    connecting = asyncio.create_task(
        udp.connect_to(listening.port, sock.udp_port, Recorder(), limits=Limits())
    )
    loop = asyncio.get_running_loop()
    arrived = loop.create_future()
    loop.add_reader(sock.sock, lambda: arrived.done() or arrived.set_result(None))
    await arrived
    loop.remove_reader(sock.sock)
    sock.close()
    server = Recorder()
    await udp.listen(server, port=listening.port, udp_port=sock.udp_port)
    await connecting
    await server.ups()


async def test_a_cancelled_connect_leaves_nothing(udp: World) -> None:
    silent = open_datagrams(UDP, 2, "127.0.0.1", 0)
    handler = Recorder()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await udp.connect_to(38_412, silent.udp_port, handler)
    assert handler.up_ == []
    silent.close()


@pytest.mark.parametrize(
    ("host", "port"),
    [("no such host.invalid", 0), ("192.0.2.1", 0), ("::ffff:300.1.1.1", 0)],
)
async def test_addresses_that_are_not_ours(host: str, port: int) -> None:
    with pytest.raises(TransportError):
        await transport.listen(UDP, host, port, Recorder(), udp_port=0)


async def test_a_taken_udp_port(udp: World) -> None:
    listening = await udp.listen(Recorder())
    with pytest.raises(TransportError, match=r"UDP port \d+: Address already in use"):
        await udp.listen(Recorder(), udp_port=listening.udp_port or 0)


@pytest.mark.parametrize(
    "limits", [Limits(mtu=100), Limits(streams=0), Limits(streams=-1), Limits(heartbeat=-1.0)]
)
async def test_impossible_limits(udp: World, limits: Limits) -> None:
    with pytest.raises(TransportError):
        await udp.listen(Recorder(), limits=limits)


async def test_auto_is_never_what_is_in_use() -> None:
    listening = await transport.listen(Mode.AUTO, "127.0.0.1", 0, Recorder(), udp_port=0)
    assert listening.mode in (Mode.KERNEL, UDP)
    await listening.close()
