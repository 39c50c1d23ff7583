"""Messages arrive as they were sent."""

import random

import pytest

from tests.transport.worlds import Pair, World
from transport import NGAP_PPID, BufferFull, TransportError


async def test_order_within_each_of_16_streams(world: World) -> None:
    pair = await Pair(world).open()
    sent: dict[int, list[bytes]] = {stream: [] for stream in range(16)}
    rng = random.Random(1)
    for number in range(2000):
        stream = rng.randrange(16)
        sent[stream].append(b"%d" % number + b"." * rng.randrange(300))
        pair.to_server.send(stream, sent[stream][-1])
    messages = await pair.at_server.got(2000)
    for stream, payloads in sent.items():
        assert [m.payload for m in messages if m.stream == stream] == payloads


async def test_both_directions_at_once(world: World) -> None:
    pair = await Pair(world).open()
    for number in range(500):
        pair.to_server.send(0, b"up %d" % number)
        pair.to_client.send(0, b"down %d" % number)
    assert [m.payload for m in await pair.at_server.got(500)] == [b"up %d" % n for n in range(500)]
    assert [m.payload for m in await pair.at_client.got(500)] == [
        b"down %d" % n for n in range(500)
    ]


async def test_payload_protocol_identifiers(world: World) -> None:
    pair = await Pair(world).open()
    pair.to_server.send(0, b"the default")
    for ppid in (0, 1, NGAP_PPID, 0x01020304, 2**32 - 1):
        pair.to_server.send(0, b"x", ppid)
    messages = await pair.at_server.got(6)
    assert [m.ppid for m in messages] == [60, 0, 1, 60, 0x01020304, 2**32 - 1]


@pytest.mark.parametrize("size", [1, 2, 3, 1_200, 1_452, 1_500, 65_536, 200_000])
async def test_sizes(world: World, size: int) -> None:
    pair = await Pair(world).open()
    payload = random.Random(size).randbytes(size)
    pair.at_server.on_message = lambda message: message.association.send(3, message.payload)
    pair.to_server.send(2, payload)
    (there,) = await pair.at_server.got(1)
    (back,) = await pair.at_client.got(1)
    assert (there.stream, back.stream) == (2, 3)
    assert there.payload == back.payload == payload


async def test_large_among_small(world: World) -> None:
    pair = await Pair(world).open()
    sizes = [1, 200_000, 7, 50_000, 300, 100_000, 1]
    for number, size in enumerate(sizes):
        pair.to_server.send(number % 2, bytes([number]) * size)
    messages = await pair.at_server.got(len(sizes))
    assert sorted((m.payload[0], len(m.payload)) for m in messages) == list(enumerate(sizes))


async def test_refusals(world: World) -> None:
    pair = await Pair(world).open()
    limit = 1 << 18
    association = pair.to_server
    for stream, payload in (
        (0, b""),
        (0, bytes(limit + 1)),
        (64, b"x"),
        (-1, b"x"),
        (70_000, b"x"),
    ):
        with pytest.raises(TransportError) as caught:
            association.send(stream, payload)
        assert not isinstance(caught.value, BufferFull)
    for ppid in (-1, 2**32):
        with pytest.raises(TransportError):
            association.send(0, b"x", ppid)
    association.send(63, bytes(limit))
    await pair.at_server.got(1)


async def test_no_call_back_from_within_send(world: World) -> None:
    pair = await Pair(world).open()
    for recorder in (pair.at_server, pair.at_client):
        recorder.inside = True
    for _ in range(100):
        pair.to_server.send(0, b"x")
        pair.to_client.send(0, b"x")
    for recorder in (pair.at_server, pair.at_client):
        recorder.inside = False
    await pair.at_server.got(100)
    await pair.at_client.got(100)


async def test_sending_from_every_callback(world: World) -> None:
    pair = Pair(world)
    pair.at_server.on_up = lambda association: association.send(0, b"welcome")
    pair.at_client.on_up = lambda association: association.send(0, b"hello")
    pair.at_client.on_message = lambda message: message.association.send(0, b"thanks")
    await pair.open()
    messages = await pair.at_server.got(2)
    assert [m.payload for m in messages] == [b"hello", b"thanks"]
