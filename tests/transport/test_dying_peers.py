"""Peers in separate processes that are killed."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.transport.recorder import Recorder
from tests.transport.worlds import QUICK, World
from transport import Limits

pytestmark = pytest.mark.asyncio(loop_factories=["asyncio"])

PATIENT = Limits(heartbeat=0.5, max_retransmissions=100)
"""Takes a minute to notice a silent peer."""


class Peers:
    """Starts peers, and kills the remaining ones at the end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._processes: list[asyncio.subprocess.Process] = []

    async def start(
        self, role: str, *, limits: Limits = QUICK, **order: int
    ) -> tuple[asyncio.subprocess.Process, int, int]:
        """Start a peer. Return its process, port and UDP port."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.transport.peer",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._processes.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        ports = {"port": 0, "udp_port": 0, "local_port": 0, "local_udp_port": 0}
        what: dict[str, Any] = {
            **ports,
            **order,
            "role": role,
            "mode": self.world.name,
            "host": self.world.host,
            "limits": msgspec.to_builtins(limits),
        }
        process.stdin.write(json.dumps(what).encode() + b"\n")
        line = await process.stdout.readline()
        assert line, f"the peer died: {what}"
        where = json.loads(line)
        return process, where["port"], where["udp_port"] or 0

    async def kill(self, process: asyncio.subprocess.Process) -> None:
        process.kill()
        await process.wait()

    async def end(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                await self.kill(process)


@pytest.fixture
async def peers(sockets: World) -> AsyncIterator[Peers]:
    started = Peers(sockets)
    yield started
    await started.end()


async def test_a_killed_client_is_noticed(peers: Peers) -> None:
    server = Recorder()
    listening = await peers.world.listen(server, limits=QUICK)
    client, _, _ = await peers.start(
        "client", port=listening.port, udp_port=listening.udp_port or 0
    )
    await server.ups()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await peers.kill(client)
    await server.downs(seconds=20)
    # Two heartbeats without an answer, of which the second is awaited, plus the same time as slack.
    assert loop.time() - began < 2 * (QUICK.heartbeat * (QUICK.max_retransmissions + 1) + 1)


async def test_a_killed_server_is_noticed(peers: Peers) -> None:
    process, port, udp_port = await peers.start("server")
    client = Recorder()
    await peers.world.connect_to(port, udp_port, client, limits=QUICK)
    client.up_[0].send(0, b"echo")
    await client.got(1)
    await peers.kill(process)
    await client.downs(seconds=10)


async def test_a_server_that_restarts_tells_its_clients(peers: Peers) -> None:
    """The server aborts an unknown association at its first packet."""
    process, port, udp_port = await peers.start("server", limits=PATIENT)
    client, again = Recorder(), Recorder()
    await peers.world.connect_to(port, udp_port, client, limits=PATIENT)
    await peers.kill(process)
    await peers.start("server", limits=PATIENT, port=port, udp_port=udp_port)
    await client.downs(seconds=5)
    await peers.world.connect_to(port, udp_port, again, limits=PATIENT)
    again.up_[0].send(0, b"echo")
    await again.got(1)


async def test_a_client_that_restarts_from_the_same_ports(peers: Peers) -> None:
    server = Recorder()
    listening = await peers.world.listen(server, limits=PATIENT)
    to = {"port": listening.port, "udp_port": listening.udp_port or 0}
    process, local_port, local_udp_port = await peers.start("client", limits=PATIENT, **to)
    await server.ups()
    await peers.kill(process)
    same = {"local_port": local_port, "local_udp_port": local_udp_port}
    await peers.start("client", limits=PATIENT, **to, **same)
    await server.ups(2)
    await server.downs(1)
    old, new = server.up_
    assert server.down_[0][0] is old
    new.send(0, b"echo")
    (message,) = await server.got(1)
    assert message.association is new
