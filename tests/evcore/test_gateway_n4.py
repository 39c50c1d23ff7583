"""The N4 gateway as a process of the local core, and started by hand."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

import wire
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from evcore.local.process import Process, ProcessError
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import BusConfig, ensure_streams
from schemas.config.reading import Config, N2Config, N4Config, UpfConfig
from tests.servers import free_udp_port, nats_server
from transport import Mode

HEARTBEAT = wire.pfcp_encode(
    {"message": "HeartbeatRequest", "sequence": 5, "ies": [{"Recovery Time Stamp": 1}]}
)


@asynccontextmanager
async def core_of(folder: Path, *upfs: UpfConfig) -> AsyncGenerator[LocalCore]:
    """Run a core without functions."""
    n2 = N2Config(udp_port=free_udp_port(), transport=Mode.USERSPACE_UDP)
    config = Config(n2=n2, n4=N4Config(port=free_udp_port()), upf=upfs)
    async with local_core(DataDirectory(folder / "data"), config, ()) as core:
        yield core


@pytest.fixture
async def upf() -> AsyncGenerator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        found.setblocking(False)
        yield found


def configured(upf: socket.socket) -> UpfConfig:
    return UpfConfig("10.0.0.1", "127.0.0.1", upf.getsockname()[1])


async def answers(core: LocalCore, upf: socket.socket) -> None:
    """The gateway itself answers a message of another version."""
    loop = asyncio.get_running_loop()
    at = ("127.0.0.1", core.config.n4.port)
    await loop.sock_sendto(upf, bytes([0x40]) + HEARTBEAT[1:], at)
    async with asyncio.timeout(20):
        answer = wire.pfcp_peek(await loop.sock_recv(upf, 2048))
    assert (answer.message, answer.sequence) == ("VersionNotSupportedResponse", 5)


async def test_without_a_upf_there_is_none(tmp_path: Path) -> None:
    async with core_of(tmp_path) as core:
        assert core.gateway is not None
        assert core.gateway_n4 is None


async def test_with_a_upf_there_is_one_until_the_core_ends(
    tmp_path: Path, upf: socket.socket
) -> None:
    async with core_of(tmp_path, configured(upf)) as core:
        await answers(core, upf)
        process = core.gateway_n4
        assert process is not None
    assert process.status == 0, process.said
    assert "Traceback" not in "\n".join(process.said)


async def test_one_that_is_killed_is_started_again(tmp_path: Path, upf: socket.socket) -> None:
    async with core_of(tmp_path, configured(upf)) as core:
        before = core.gateway_n4
        assert before is not None
        told: asyncio.Queue[str] = asyncio.Queue()
        keeping = asyncio.ensure_future(core.keep_running(told.put_nowait))
        await asyncio.sleep(0)
        before.kill()
        async with asyncio.timeout(30):
            assert "the N4 gateway was ended by SIGKILL; restarting" in await told.get()
            assert await told.get() == "the N4 gateway runs again"
        assert core.gateway_n4 is not before
        await answers(core, upf)
        keeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeping


async def test_a_port_that_is_taken(tmp_path: Path, upf: socket.socket) -> None:
    port = upf.getsockname()[1]
    n4 = N4Config(port=port)
    async with nats_server(tmp_path) as broker, connected(broker.url, "test") as client:
        await ensure_streams(client, BusConfig())
        said = await ends(tmp_path, Config(n4=n4, upf=(UpfConfig("10.0.0.1"),)), broker.url)
    assert said == (
        f"n4 ended with 1: cannot listen at 127.0.0.1, UDP port {port}: Address already in use"
    )


async def test_it_serves_nobody_without_a_upf(tmp_path: Path) -> None:
    said = await ends(tmp_path, Config(), "nats://127.0.0.1:1")
    assert said == "n4 ended with 1: there is no [[upf]] to serve"


async def ends(folder: Path, config: Config, url: str) -> str:
    """Return how a gateway ends that cannot start."""
    path = folder / "config.json"
    nats = msgspec.structs.replace(config.nats, url=url)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(config, nats=nats)))
    command = [sys.executable, "-m", "gateway.n4", "--config", str(path)]
    with pytest.raises(ProcessError) as error:
        await Process.start("n4", command, folder / "n4.log", "UPF.* at ")
    return str(error.value)
