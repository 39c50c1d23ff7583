"""The connection to NATS: its timeouts and error messages."""

from pathlib import Path

import pytest
from nats.aio.client import Client

from evcore.local.broker import binary, free_port
from evcore.local.process import Process
from eventing.jetstream import connection as bus_module
from eventing.jetstream.connection import BusError, connect, connected, request
from eventing.jetstream.streams import BusConfig, ensure
from tests.eventing.brokers import Bus, until


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_module, "CONNECT_TIMEOUT", 0.3)


@pytest.mark.usefixtures("_impatient")
async def test_a_server_that_was_never_there_is_one_sentence() -> None:
    url = f"nats://127.0.0.1:{free_port()}"
    with pytest.raises(BusError) as refused:
        await connect(url, "test")
    assert str(refused.value).startswith(f"cannot connect to NATS at {url}: [Errno 111] Connect")
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("_impatient")
async def test_a_server_that_does_not_answer_is_one_sentence(bus: Bus) -> None:
    with bus.frozen(), pytest.raises(BusError) as refused:
        await connect(bus.url, "test")
    assert str(refused.value) == f"cannot connect to NATS at {bus.url}: no answer in time"


@pytest.mark.parametrize("url", ["nats://", "http://127.0.0.1:1", "nats://no such host"])
@pytest.mark.usefixtures("_impatient")
async def test_what_is_no_address_is_one_sentence(url: str) -> None:
    with pytest.raises(BusError, match=r"^cannot connect to NATS at ") as refused:
        await connect(url, "test")
    assert str(refused.value).partition(f" at {url}: ")[2]


async def test_a_server_that_goes_away_is_waited_for(bus: Bus, client: Client) -> None:
    await bus.end()
    await until(lambda: not client.is_connected)
    await bus.start()
    await until(lambda: client.is_connected)
    assert (await request(client, "INFO"))["streams"] == 0


async def test_a_server_without_jetstream_is_named(tmp_path: Path) -> None:
    port = free_port()
    command = [str(binary()), "--addr", "127.0.0.1", "--port", str(port)]
    server = await Process.start("nats-server", command, tmp_path / "log", "Server is ready")
    try:
        async with connected(f"nats://127.0.0.1:{port}", "test") as client:
            with pytest.raises(BusError, match="JetStream is not enabled on this NATS server"):
                await ensure(client, BusConfig())
    finally:
        await server.stop()


async def test_a_refusal_of_jetstream_carries_its_code(client: Client) -> None:
    with pytest.raises(BusError, match=r"^STREAM\.INFO\.NONE: stream not found$") as refused:
        await request(client, "STREAM.INFO.NONE")
    assert refused.value.code == 10059
