"""The start and the end of associations."""

import asyncio
import contextlib
import logging

import pytest

from tests.transport.recorder import Message, Recorder
from tests.transport.worlds import Pair, World
from transport import Association, Limits, TransportError


async def test_up_and_closed_by_the_client(world: World) -> None:
    pair = await Pair(world).open()
    assert pair.to_server.peer
    assert pair.to_client.peer
    pair.to_server.shutdown()
    await pair.at_client.downs()
    await pair.at_server.downs()
    assert len(pair.at_client.up_) == len(pair.at_server.up_) == 1


async def test_closed_by_the_server(world: World) -> None:
    pair = await Pair(world).open()
    pair.to_client.shutdown()
    await pair.at_client.downs()
    await pair.at_server.downs()


async def test_client_up_before_connect_returns(world: World) -> None:
    server = await world.listen(Recorder())
    client = Recorder()
    await world.connect(server, client)
    assert len(client.up_) == 1


async def test_over_ipv6(world6: World) -> None:
    pair = await Pair(world6).open()
    assert "::1" in pair.to_client.peer
    assert "::1" in pair.server.address
    pair.to_server.send(1, b"ping")
    (message,) = await pair.at_server.got(1)
    message.association.send(1, b"pong")
    assert (await pair.at_client.got(1))[0].payload == b"pong"
    await pair.client.close()
    await pair.at_server.downs()


async def test_fewer_streams_of_the_two_offers(world: World) -> None:
    server, client = Recorder(), Recorder()
    listening = await world.listen(server, limits=Limits(streams=5))
    await world.connect(listening, client, limits=Limits(streams=30))
    await server.ups()
    assert client.up_[0].outbound_streams == server.up_[0].outbound_streams == 5
    with pytest.raises(TransportError):
        client.up_[0].send(5, b"x")
    client.up_[0].send(4, b"x")
    await server.got(1)


async def test_many_associations_on_one_socket(world: World) -> None:
    count = 40
    server = Recorder()
    server.on_message = lambda message: message.association.send(0, message.payload.upper())
    listening = await world.listen(server)
    clients = [Recorder() for _ in range(count)]
    for client in clients:
        await world.connect(listening, client)
    await server.ups(count)
    for number, client in enumerate(clients):
        client.up_[0].send(0, b"from %d" % number)
    for number, client in enumerate(clients):
        (answer,) = await client.got(1)
        assert answer.payload == b"FROM %d" % number
    assert len({association.peer for association in server.up_}) == count
    assert len({message.association for message in server.messages}) == count


async def test_one_too_many(world: World) -> None:
    server = Recorder()
    limits = Limits(max_associations=2, connect_timeout=10)
    listening = await world.listen(server, limits=limits)
    first, second, third = Recorder(), Recorder(), Recorder()
    await world.connect(listening, first)
    await world.connect(listening, second)
    await server.ups(2)
    with pytest.raises(TransportError):
        await world.connect(listening, third, limits=limits)
    assert third.up_ == []
    first.up_[0].send(0, b"still here")
    await server.got(1)
    second.up_[0].shutdown()
    await server.downs(1)
    await world.connect(listening, third)
    third.up_[0].send(0, b"room for me")
    await server.got(2)


async def test_abort(world: World) -> None:
    pair = await Pair(world).open()
    pair.to_server.abort()
    await pair.at_client.downs()
    await pair.at_server.downs()
    pair.to_server.abort()
    pair.to_server.shutdown()


async def test_abort_from_received(world: World) -> None:
    """After an abort in the middle of a batch, no message of the association is delivered."""
    pair = await Pair(world).open()

    def third_is_the_last(message: Message) -> None:
        if len(pair.at_server.messages) == 3:
            message.association.abort()

    pair.at_server.on_message = third_is_the_last
    for number in range(10):
        pair.to_server.send(number % 4, b"x")
    await pair.at_server.downs()
    await pair.at_client.downs()
    assert len(pair.at_server.messages) == 3


async def test_gone_is_gone(world: World) -> None:
    pair = await Pair(world).open()
    pair.to_server.abort()
    await pair.at_server.downs()
    await pair.at_client.downs()
    for association in (pair.to_server, pair.to_client):
        with pytest.raises(TransportError, match=r"gone|no association"):
            association.send(0, b"x")


async def test_nothing_is_sent_while_shutting_down(world: World) -> None:
    pair = await Pair(world).open()
    pair.to_server.shutdown()
    with pytest.raises(TransportError):
        pair.to_server.send(0, b"x")
    await pair.at_client.downs()


async def test_shutdown_delivers_what_is_queued(world: World) -> None:
    pair = await Pair(world).open()
    for number in range(500):
        pair.to_server.send(number % 16, b"%d" % number + b"." * 500)
    pair.to_server.shutdown()
    await pair.at_server.downs()
    await pair.at_client.downs()
    assert {int(m.payload.rstrip(b".")) for m in pair.at_server.messages} == set(range(500))


async def test_shutdown_delivers_to_a_paused_reader(world: World) -> None:
    """A slow reader gets the messages of a peer that has ended, then the end of the association."""
    pair = await Pair(world).open()
    pair.server.pause()
    for number in range(50):
        pair.to_server.send(0, b"%d" % number)
    pair.to_server.shutdown()
    if world.name != "memory":  # in memory, both ends wait for the reader
        await pair.at_client.downs()
    assert pair.at_server.messages == []
    assert pair.at_server.down_ == []
    pair.server.resume()
    await pair.at_server.downs()
    assert [int(m.payload) for m in pair.at_server.messages] == list(range(50))


async def test_close_of_a_server(world: World) -> None:
    pair = await Pair(world).open()
    pair.to_client.send(0, b"last words")
    await pair.server.close()
    await pair.at_client.downs()
    assert [m.payload for m in pair.at_client.messages] == [b"last words"]
    assert len(pair.at_server.down_) == 1
    await pair.server.close()


async def test_close_then_listen_there_again(world: World) -> None:
    pair = await Pair(world).open()
    await pair.client.close()
    await pair.server.close()
    again, client = Recorder(), Recorder()
    listening = await world.listen(again, port=pair.server.port, udp_port=pair.server.udp_port or 0)
    assert listening.port == pair.server.port
    await world.connect(listening, client)
    client.up_[0].send(0, b"hello again")
    await again.got(1)


async def test_close_with_a_peer_that_does_not_read(world: World) -> None:
    """`close` waits for a second only."""
    pair = await Pair(world, Limits(receive_window=65536)).open()
    pair.server.pause()
    for _ in range(20):
        pair.to_server.send(0, bytes(10_000))
    async with asyncio.timeout(5):
        await pair.client.close()
    assert len(pair.at_client.down_) == 1
    pair.server.resume()
    await pair.at_server.downs()


async def test_nobody_there(world: World) -> None:
    limits = Limits(connect_timeout=1)
    listening = await world.listen(Recorder())
    await listening.close()
    handler = Recorder()
    with pytest.raises(TransportError, match=r"not connected|no answer"):
        await world.connect(listening, handler, limits=limits)
    assert handler.up_ == []


async def test_a_handler_that_fails_loses_its_association_only(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Clumsy(Recorder):
        def received(
            self, association: Association, stream: int, ppid: int, payload: bytes
        ) -> None:
            if payload == b"bad":
                raise ValueError("clumsy")
            super().received(association, stream, ppid, payload)

    server, good, bad = Clumsy(), Recorder(), Recorder()
    listening = await world.listen(server)
    await world.connect(listening, good)
    await world.connect(listening, bad)
    await server.ups(2)
    with caplog.at_level(logging.ERROR, logger="transport"):
        bad.up_[0].send(0, b"bad")
        bad.up_[0].send(0, b"never read")
        await bad.downs()
    assert "clumsy" in caplog.text
    await server.downs(1)
    good.up_[0].send(0, b"good")
    (message,) = await server.got(1)
    assert message.payload == b"good"
    assert good.down_ == []


async def test_up_and_down_that_fail(world: World, caplog: pytest.LogCaptureFixture) -> None:
    class Worse(Recorder):
        def up(self, association: Association) -> None:
            super().up(association)
            raise ValueError("up is too much")

        def down(self, association: Association, reason: str) -> None:
            super().down(association, reason)
            raise ValueError("down is too much")

    server, client = Worse(), Recorder()
    listening = await world.listen(server)
    for count in (1, 2):
        # The association may end before the client has noticed its start.
        with contextlib.suppress(TransportError):
            await world.connect(listening, client)
        await server.downs(count)
    await client.downs(len(client.up_))
    assert "up is too much" in caplog.text
    assert "down is too much" in caplog.text


async def test_an_association_knows_the_address_of_its_peer(world: World) -> None:
    pair = await Pair(world).open()
    assert pair.to_client.address == pair.to_server.address == world.host
