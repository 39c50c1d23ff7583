"""SCTP in user space against SCTP of the kernel, over UDP (RFC 6951)."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.transport.recorder import Recorder
from tests.transport.worlds import World, why_not
from transport import BufferFull, Limits, Mode, Transport

_SYSCTL = Path("/proc/sys/net/sctp")
_KERNEL_UDP_PORT = 9899
_MISSING = why_not(Mode.KERNEL)

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.asyncio(loop_factories=["uvloop"]),
    pytest.mark.skipif(_MISSING is not None, reason=f"kernel: {_MISSING}"),
]

HASTY = Limits(
    receive_window=128 * 1024,
    send_buffer=128 * 1024,
    heartbeat=1.0,
    rto_max=0.3,
    max_retransmissions=3,
)
"""Gives up a peer that acknowledges nothing after little more than a second."""


class Mixed:
    """An association between a kernel and a userspace transport."""

    def __init__(self, server: World, client: World) -> None:
        self.worlds = (server, client)
        self.at_server, self.at_client = Recorder(), Recorder()
        self.server: Transport
        self.client: Transport

    async def open(self, limits: Limits | None = None) -> None:
        server, client = self.worlds
        self.server = await server.listen(self.at_server, limits=limits)
        if server.mode is Mode.KERNEL:
            udp_port = _KERNEL_UDP_PORT
        else:
            udp_port = self.server.udp_port or 0
            (_SYSCTL / "encap_port").write_text(str(udp_port))
        self.client = await client.connect_to(
            self.server.port, udp_port, self.at_client, limits=limits
        )
        await self.at_server.ups()


@pytest.fixture(params=["kernel-server", "userspace-server"])
async def mixed(request: pytest.FixtureRequest) -> AsyncIterator[Mixed]:
    if not (_SYSCTL / "udp_port").exists():
        pytest.skip("this kernel has no SCTP over UDP (Linux 5.11)")
    with contextlib.suppress(OSError):  # already enabled
        (_SYSCTL / "udp_port").write_text(str(_KERNEL_UDP_PORT))
    kernel, userspace = World(Mode.KERNEL), World(Mode.USERSPACE_UDP)
    of_kernel = request.param == "kernel-server"
    yield Mixed(kernel, userspace) if of_kernel else Mixed(userspace, kernel)
    await userspace.close()
    await kernel.close()
    (_SYSCTL / "encap_port").write_text("0")


async def test_messages_both_ways(mixed: Mixed) -> None:
    await mixed.open()
    up, down = mixed.at_client.up_[0], mixed.at_server.up_[0]
    assert up.outbound_streams == down.outbound_streams == 64
    rng = random.Random(5)
    sent = [rng.randbytes(rng.choice([1, 200, 1_500, 20_000])) for _ in range(200)]
    sent.append(rng.randbytes(200_000))
    for number, payload in enumerate(sent):
        for association in (up, down):
            while True:
                try:
                    association.send(number % 16, payload, number)
                except BufferFull:
                    await asyncio.sleep(0)
                else:
                    break
    for recorder in (mixed.at_server, mixed.at_client):
        messages = await recorder.got(len(sent))
        assert sorted(m.ppid for m in messages) == list(range(len(sent)))
        for stream in range(16):
            assert [m.payload for m in messages if m.stream == stream] == sent[stream::16]


@pytest.mark.parametrize("by", ["server", "client"])
@pytest.mark.parametrize("how", ["shutdown", "abort"])
async def test_ends(mixed: Mixed, by: str, how: str) -> None:
    await mixed.open()
    recorder = mixed.at_server if by == "server" else mixed.at_client
    recorder.up_[0].send(0, b"last words")
    if how == "abort":
        recorder.up_[0].abort()
    else:
        recorder.up_[0].shutdown()
    await mixed.at_server.downs()
    await mixed.at_client.downs()
    if how == "shutdown":
        other = mixed.at_client if by == "server" else mixed.at_server
        assert [m.payload for m in other.messages] == [b"last words"]


@pytest.mark.parametrize("reader", ["server", "client"])
async def test_a_long_pause(mixed: Mixed, reader: str) -> None:
    """A closed window is probed, and does not end the association (RFC 9260 6.1 A)."""
    await mixed.open(HASTY)
    if reader == "server":
        slow, slow_recorder, quick = mixed.server, mixed.at_server, mixed.at_client
    else:
        slow, slow_recorder, quick = mixed.client, mixed.at_client, mixed.at_server
    slow.pause()
    count = full = 0
    while full < 20:
        try:
            quick.up_[0].send(count % 4, b"%08d" % count + bytes(992))
        except BufferFull:
            full += 1
            await asyncio.sleep(0.01)
        else:
            count += 1
            full = 0
            await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        await quick.downs(seconds=3)
    slow.resume()
    messages = await slow_recorder.got(count)
    assert sorted(int(m.payload[:8]) for m in messages) == list(range(count))
    assert quick.down_ == slow_recorder.down_ == []
    await quick.until(lambda: bool(quick.writable_))


async def test_heartbeats_are_answered(mixed: Mixed) -> None:
    await mixed.open(HASTY)
    for recorder in (mixed.at_server, mixed.at_client):
        with pytest.raises(TimeoutError):
            await recorder.downs(seconds=3)
    mixed.at_client.up_[0].send(0, b"x")
    await mixed.at_server.got(1)
