"""Start function processes fast: a server that has imported all their modules forks them."""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from evcore.local.process import LONGEST_LINE, Backoff, Process, ProcessError

log = logging.getLogger(__name__)

PATIENCE: Final = 10.0
"""Seconds to wait for the server to fork."""

_PR_SET_CHILD_SUBREAPER: Final = 36


StartWorker = Callable[[str, Sequence[str], Path], Awaitable[Process]]
"""Starts a function process with a name, its arguments, and a file for its standard error."""


async def start_plainly(
    name: str, arguments: Sequence[str], log_file: Path, python: str = ""
) -> Process:
    """Start a function process without the fork server, with a new Python interpreter.

    `python` is the interpreter of another environment. It does not import from the current
    directory.

    Raises:
        ProcessError: the process cannot be started.
    """
    start = [python, "-P"] if python else [sys.executable]
    command = [*start, "-m", "functions.runtime", *arguments]
    return await Process.start(name, command, log_file)


class Request(Struct, frozen=True):
    """A request to fork a process. The descriptor sent with it becomes the standard error."""

    arguments: tuple[str, ...]
    parent: int
    """The process that becomes the parent."""


class ForkServer:
    """Starts function processes by the fork server, or without it if it does not run."""

    def __init__(self, log_file: Path) -> None:
        self._log = log_file
        self.server: Process | None = None
        """The last started server."""
        self._requests: socket.socket | None = None
        self._turn = asyncio.Lock()

    async def begin(self) -> None:
        """Start the server. On failure `server` stays unchanged."""
        try:
            self.server = await self._start_server()
        except ProcessError as err:
            log.warning("%s", err)

    async def run(self) -> None:
        """Restart the server whenever it ends, until cancelled."""
        backoff = Backoff()
        while True:
            since = time.monotonic()
            if self.server is not None:
                await self.server.wait()
                log.warning("%s %s", self.server.name, self.server.end)
            await asyncio.sleep(backoff.after(time.monotonic() - since))
            await self.begin()

    async def stop(self) -> None:
        """Stop the server. The forked processes continue."""
        if self._requests is not None:
            self._requests.close()
        if self.server is not None:
            await self.server.stop()

    async def start(self, name: str, arguments: Sequence[str], log_file: Path) -> Process:
        """Start a function process, equal to `python -m functions.runtime` with these arguments.

        Raises:
            ProcessError: the process cannot be started.
        """
        child = await self._fork(arguments)
        if child is not None:
            return Process(name, child, log_file)
        return await start_plainly(name, arguments, log_file)

    async def _start_server(self) -> Process:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "evcore.local.fork_server", str(theirs.fileno())]
            server = await Process.start(
                "the fork server", command, self._log, keep=(theirs.fileno(),)
            )
        ours.setblocking(False)
        if self._requests is not None:
            self._requests.close()
        self._requests = ours
        return server

    async def _fork(self, arguments: Sequence[str]) -> "_Forked | None":
        """Return a process that the server has forked; None if the server cannot fork."""
        async with self._turn:
            server, requests = self.server, self._requests
            if server is None or requests is None or not server.alive:
                return None
            ours, theirs = os.pipe()
            try:
                request = msgspec.json.encode(Request(tuple(arguments), os.getpid()))
                socket.send_fds(requests, [request], [theirs])
                pid = await self._answer(server, requests)
            except OSError as err:
                log.warning("the request to the fork server failed: %s", err)
                pid = 0
            finally:
                os.close(theirs)
            if not pid:
                os.close(ours)
                return None
            return await _Forked.of(pid, ours)

    @staticmethod
    async def _answer(server: Process, requests: socket.socket) -> int:
        """Receive the id of the requested process; 0 if there is none."""
        loop = asyncio.get_running_loop()
        answer = asyncio.ensure_future(loop.sock_recv(requests, 64))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(answer), PATIENCE)
        if not answer.done():
            log.warning("the fork server does not answer")
            server.kill()  # closes its end of the socket, so that the receive ends
        return int(await answer or b"0")


class _Forked:
    """A child that asyncio did not start, with the attributes that `Process` needs."""

    def __init__(self, pid: int, stderr: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stderr = stderr
        self.returncode: int | None = None
        self._pidfd = os.pidfd_open(pid)
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    @classmethod
    async def of(cls, pid: int, stderr: int) -> "_Forked":
        """Wrap the child with an id and the read end of its standard error."""
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stderr, "rb", 0)
        )
        return cls(pid, reader)

    def _reap(self) -> None:
        _, status = os.waitpid(self.pid, os.WNOHANG)
        self.returncode = os.waitstatus_to_exitcode(status)
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._ended.set()

    async def wait(self) -> int:
        await self._ended.wait()
        return self.returncode or 0

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            signal.pidfd_send_signal(self._pidfd, number)
