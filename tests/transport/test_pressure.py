"""Readers that are slower than their peers."""

import asyncio
import contextlib

import pytest

from tests.transport.recorder import Message
from tests.transport.worlds import Pair, World
from transport import BufferFull, Limits

SMALL = Limits(receive_window=128 * 1024, send_buffer=128 * 1024, heartbeat=1.0)


async def _fill(pair: Pair, size: int, settle: int = 20) -> int:
    """Send until the buffer stays full. Return how many messages were accepted."""
    count = full_in_a_row = 0
    while full_in_a_row < settle:
        try:
            pair.to_server.send(count % 4, b"%08d" % count + bytes(size - 8))
        except BufferFull:
            full_in_a_row += 1
            # This does not wait for a time. It gives the other side turns of the loop.
            await asyncio.sleep(0.005)
        else:
            count += 1
            full_in_a_row = 0
            await asyncio.sleep(0)
    return count


def _fill_up(pair: Pair, size: int, count: int) -> int:
    """Send until the buffer is full again. It was full after `count` messages, but a slow kernel
    may have sent some since. Return how many messages were accepted in total."""
    with contextlib.suppress(BufferFull):
        while True:
            pair.to_server.send(count % 4, b"%08d" % count + bytes(size - 8))
            count += 1
    return count


@pytest.mark.parametrize("size", [200, 5_000])
async def test_pause_full_resume_writable(world: World, size: int) -> None:
    pair = await Pair(world, SMALL).open()
    pair.server.pause()
    count = _fill_up(pair, size, await _fill(pair, size))
    told = len(pair.at_client.writable_)
    # The accepted data fits into the two buffers. The slack covers data in flight, and the kernel,
    # which doubles the requested size and counts its own overhead.
    octets = count * size
    assert octets <= (SMALL.receive_window + SMALL.send_buffer) * 2.5
    assert octets >= SMALL.send_buffer
    assert pair.at_server.messages == []
    pair.server.resume()
    await pair.at_server.got(count)
    await pair.at_client.until(lambda: len(pair.at_client.writable_) > told)
    pair.to_server.send(0, b"%08d" % count)
    messages = await pair.at_server.got(count + 1)
    numbers = [int(m.payload[:8]) for m in messages]
    assert sorted(numbers) == list(range(count + 1))
    for stream in range(4):
        of_stream = [int(m.payload[:8]) for m in messages if m.stream == stream]
        assert of_stream == sorted(of_stream)
    assert set(pair.at_client.writable_) == {pair.to_server}
    assert pair.at_client.down_ == pair.at_server.down_ == []


async def test_the_other_direction_flows_while_paused(world: World) -> None:
    pair = await Pair(world, SMALL).open()
    pair.server.pause()
    await _fill(pair, 1_000)
    for number in range(300):
        pair.to_client.send(0, b"%d" % number)
    messages = await pair.at_client.got(300)
    assert [int(m.payload) for m in messages] == list(range(300))


async def test_pause_from_received_takes_effect_at_once(world: World) -> None:
    pair = await Pair(world).open()

    def pause_at_ten(_: Message) -> None:
        if len(pair.at_server.messages) == 10:
            pair.server.pause()

    pair.at_server.on_message = pause_at_ten
    for number in range(100):
        pair.to_server.send(0, b"%d" % number)
    await pair.at_server.got(10)
    pair.to_client.send(0, b"what is sent goes on")
    await pair.at_client.got(1)
    assert len(pair.at_server.messages) == 10
    pair.server.resume()
    messages = await pair.at_server.got(100)
    assert [int(m.payload) for m in messages] == list(range(100))


async def test_resume_from_writable(world: World) -> None:
    """A reader that stops reading while it cannot write, like a relay."""
    pair = await Pair(world, SMALL).open()
    pair.server.pause()
    count = await _fill(pair, 1_000)
    pair.client.pause()
    pair.to_client.send(0, b"for the paused client")
    pair.at_client.on_writable = pair.client.resume
    _fill_up(pair, 1_000, count)
    pair.server.resume()
    await pair.at_client.got(1)


async def test_a_flood_does_not_starve_another(world: World) -> None:
    """The messages of one association are not delayed until all messages of another are
    delivered."""
    pair = await Pair(world).open()
    other = Pair(world)
    await world.connect(pair.server, other.at_client)
    await pair.at_server.ups(2)
    pair.server.pause()
    for _ in range(2_000):
        pair.to_server.send(0, b"flood")
    other.to_server.send(0, b"excuse me")
    # Both floods have arrived when the server's messages have made a round trip.
    for association, recorder in zip(
        pair.at_server.up_, (pair.at_client, other.at_client), strict=True
    ):
        association.send(0, b"ping")
        await recorder.got(1)
    pair.server.resume()
    messages = await pair.at_server.got(2_001)
    assert [m.payload for m in messages].index(b"excuse me") < 500
