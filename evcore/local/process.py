"""Child processes that end with their parent, and keep the last lines of their standard error."""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from evcore.local import private
from evcore.local.log_file import LogFile

_PR_SET_PDEATHSIG: Final = 1
_prctl: Final = ctypes.CDLL(None).prctl
"""Looked up here, because only few calls are safe between fork and exec."""

LONGEST_LINE: Final = 1 << 20
"""Longest line in octets. A longer line is dropped."""
_PREFIX: Final = re.compile(r"\[\d+\] \S+ \S+ \[[A-Z]+\] |evcore [a-z0-9 ]+: ")
"""Prefix of a line of nats-server or of an evcore process."""

FIRST = 0.5
MOST = 30.0
HEALTHY = 10.0
"""Seconds after which a process counts as healthy."""


class ProcessError(Exception):
    """A process ended unexpectedly. The message has its name and its last line."""


class _Child(Protocol):
    """A started process, of asyncio or of the fork server."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    @property
    def stderr(self) -> asyncio.StreamReader | None: ...

    async def wait(self) -> int: ...

    def kill(self) -> None: ...

    def terminate(self) -> None: ...


class Process:
    """A child process. Its standard error is written to a file, and the last lines are kept."""

    def __init__(
        self,
        name: str,
        child: _Child,
        log: Path,
        heard: Callable[[str], None] | None = None,
    ) -> None:
        """Wrap a running child. `start` starts a new one."""
        self.name = name
        self.log = log
        self._file = LogFile(log)
        self._heard = heard
        self.stopping = False
        """Whether `stop` was called."""
        self._child = child
        self._lines: deque[str] = deque(maxlen=20)
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted: re.Pattern[str] | None = None
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(
        cls,
        name: str,
        command: Sequence[str],
        log: Path,
        ready: str = "",
        *,
        patience: float = 30.0,
        orphaned: signal.Signals = signal.SIGKILL,
        keep: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        with_keys: bool = True,
        heard: Callable[[str], None] | None = None,
    ) -> "Process":
        """Start `command`. Return when a line of its standard error matches `ready`.

        Args:
            name: the name of the process in messages.
            command: the program and its arguments.
            log: the file that its standard error is appended to.
            ready: a regular expression; empty to return at once.
            patience: seconds to wait until the process is ready.
            orphaned: the signal that the process gets when its parent ends.
            keep: file descriptors that the process inherits.
            environment: environment variables in addition to those of this process.
            with_keys: whether it inherits the keys in environment variables of this process.
            heard: called with each line of its standard error.

        Raises:
            ProcessError: the process cannot be started, ends early, or is not ready in time.
        """
        try:
            LogFile(log).close()
            child = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                preexec_fn=_prepared(orphaned),
                start_new_session=True,
                pass_fds=tuple(keep),
                env={**private.inherited(with_keys=with_keys), **(environment or {})},
            )
        except OSError as err:
            about = f" ({err.filename})" if err.filename else ""
            raise ProcessError(f"{name} cannot be started: {err.strerror}{about}") from None
        process = cls(name, child, log, heard)
        if ready:
            await process._until_ready(re.compile(ready), patience)
        return process

    async def _until_ready(self, pattern: re.Pattern[str], patience: float) -> None:
        self._wanted = pattern
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), patience)
        except TimeoutError:
            await self._kill_and_wait()
            raise ProcessError(f"{self.name} is not ready after {patience:g} s") from None
        except BaseException:
            await self._kill_and_wait()
            raise

    async def _read(self) -> None:
        stream = self._child.stderr
        if stream is None:
            return
        while True:
            try:
                line = await stream.readline()
            except ValueError:
                continue  # the line is too long: drop what was read
            if not line:
                break
            text = line.decode(errors="replace").rstrip()
            self._lines.append(text)
            self._file.write(text)
            if self._heard is not None:
                self._heard(text)
            if self._wanted is not None and self._wanted.search(text):
                self._set_ready(None)
        self._file.close()
        await self._child.wait()
        self._set_ready(ProcessError(f"{self.name} {self.end}"))

    def _set_ready(self, error: ProcessError | None) -> None:
        if self._ready.done():
            return
        if error is None:
            self._ready.set_result(None)
        else:
            self._ready.set_exception(error)
            self._ready.exception()  # mark as retrieved: there may be no waiter

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._child.returncode is None

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while the process runs."""
        return self._child.returncode

    @property
    def said(self) -> list[str]:
        """The last lines of standard error."""
        return list(self._lines)

    @property
    def end(self) -> str:
        """How the process ended, to follow its name in a sentence."""
        status = self._child.returncode
        if status is None:
            return "is running"
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-status).name}"
        words = _PREFIX.sub("", next((line for line in reversed(self._lines) if line), ""))
        return f"ended with {status}: {words or 'it printed nothing'}"

    async def wait(self) -> int:
        """Wait for the end of the process, and for its last lines. Return the exit status."""
        status = await self._child.wait()
        # A child of the process may keep the pipe open.
        await asyncio.wait({self._reader}, timeout=0.2)
        return status

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal, unless it has ended."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self._child.kill()

    async def stop(self, seconds: float = 10.0) -> None:
        """Stop the process with SIGTERM, and with SIGKILL after a timeout."""
        self.stopping = True
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self._child.terminate()
            try:
                await asyncio.wait_for(self._child.wait(), seconds)
            except TimeoutError:
                self.kill()
        await self._reader

    async def _kill_and_wait(self) -> None:
        self.stopping = True
        self.kill()
        await self._reader


def _prepared(number: signal.Signals) -> Callable[[], None]:
    """Return a function to run between fork and exec.

    It requests a signal if the parent ends, and keeps the files of the child from other users.
    """
    parent = os.getpid()

    def prepare() -> None:
        os.umask(private.UMASK)
        _prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


class Backoff:
    """Pauses before a restart: none after a healthy run, doubled after each failure."""

    def __init__(self, first: float = FIRST, most: float = MOST, healthy: float = HEALTHY) -> None:
        self._first = first
        self._most = most
        self._healthy = healthy
        self._pause = 0.0

    def after(self, ran: float) -> float:
        """Return the pause after a process that ran for `ran` seconds."""
        if ran >= self._healthy:
            self._pause = 0.0
        pause = self._pause
        self._pause = min(max(pause * 2, self._first), self._most)
        return pause
