"""Behaviour of the transports without sockets only."""

import pytest

from tests.transport.recorder import Recorder
from tests.transport.worlds import MEMORY, Pair, World
from transport import TransportError
from transport.memory import MemoryTransport


async def test_a_machine_that_vanishes() -> None:
    pair = await Pair(World(MEMORY)).open()
    assert isinstance(pair.client, MemoryTransport)
    pair.to_client.send(0, b"never read")
    pair.client.vanish()
    (reason,) = await pair.at_server.downs()
    assert "heartbeats" in reason
    assert pair.at_client.messages == []
    assert pair.at_client.down_ == []
    with pytest.raises(TransportError):
        pair.to_server.send(0, b"x")
    await pair.client.close()


async def test_a_server_that_vanishes_can_be_replaced() -> None:
    world = World(MEMORY)
    pair = await Pair(world).open()
    assert isinstance(pair.server, MemoryTransport)
    pair.server.vanish()
    await pair.at_client.downs()
    again = await world.listen(Recorder(), port=pair.server.port)
    await world.connect(again, pair.at_client)
    await world.close()


async def test_an_address_in_use() -> None:
    world = World(MEMORY)
    listening = await world.listen(Recorder())
    with pytest.raises(TransportError, match="in use"):
        await world.listen(Recorder(), port=listening.port)
