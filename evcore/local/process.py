"""Child processes that do not outlive their parent, with their last words kept."""

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

_PR_SET_PDEATHSIG: Final = 1
_prctl: Final = ctypes.CDLL(None).prctl
"""Looked up here, because little may be done between fork and exec."""

LONGEST_LINE: Final = 1 << 20
"""Octets of a line that are kept; a longer one is dropped."""
_PREFIX: Final = re.compile(r"\[\d+\] \S+ \S+ \[[A-Z]+\] |evcore [a-z0-9 ]+: ")
"""What nats-server and our own processes put in front of what they say."""

FIRST = 0.5
MOST = 30.0
HEALTHY = 10.0
"""Seconds after which a process counts as one that works."""


class ProcessError(Exception):
    """A process ended that should not have; it says which and with what last words."""


class _Child(Protocol):
    """What is started, by asyncio or otherwise."""

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
    """One child. Its standard error goes to a file, its last lines are at hand."""

    def __init__(self, name: str, child: _Child, log: Path) -> None:
        """A child that runs already; `start` starts one."""
        self.name = name
        self.log = log
        self.stopping = False
        """Whether it was asked to end."""
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
    ) -> "Process":
        """Start `command`; return when a line of its standard error matches `ready`.

        Args:
            name: what to call it in messages.
            command: the program and its arguments.
            log: the file that its standard error is added to.
            ready: a regular expression; empty to return at once.
            patience: how long it may take, in seconds.
            orphaned: the signal that it gets when this process is gone.
            keep: file descriptors that it holds open.
            environment: variables that it has beside those of this process.

        Raises:
            ProcessError: it cannot be started, ends before it is ready or does not get ready.
        """
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.touch()
            child = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                preexec_fn=_dying_with_parent(orphaned),
                start_new_session=True,
                pass_fds=tuple(keep),
                env={**os.environ, **(environment or {})},
            )
        except OSError as err:
            about = f" ({err.filename})" if err.filename else ""
            raise ProcessError(f"{name} cannot be started: {err.strerror}{about}") from None
        process = cls(name, child, log)
        if ready:
            await process._until_ready(re.compile(ready), patience)
        return process

    async def _until_ready(self, pattern: re.Pattern[str], patience: float) -> None:
        self._wanted = pattern
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), patience)
        except TimeoutError:
            await self._end()
            raise ProcessError(f"{self.name} is not ready after {patience:g} s") from None
        except BaseException:
            await self._end()
            raise

    async def _read(self) -> None:
        stream = self._child.stderr
        if stream is None:
            return
        with self.log.open("a", encoding="utf-8") as file:
            while True:
                try:
                    line = await stream.readline()
                except ValueError:
                    continue  # a line without measure: what was read of it is dropped
                if not line:
                    break
                text = line.decode(errors="replace").rstrip()
                self._lines.append(text)
                with contextlib.suppress(OSError):  # a full disk must not stop the process
                    file.write(text + "\n")
                    file.flush()
                if self._wanted is not None and self._wanted.search(text):
                    self._settle(None)
        await self._child.wait()
        self._settle(ProcessError(f"{self.name} {self.end}"))

    def _settle(self, error: ProcessError | None) -> None:
        if self._ready.done():
            return
        if error is None:
            self._ready.set_result(None)
        else:
            self._ready.set_exception(error)
            self._ready.exception()  # it may be that nobody waits for it

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._child.returncode is None

    @property
    def status(self) -> int | None:
        """Its exit status, or less than zero for the signal that ended it; None while it runs."""
        return self._child.returncode

    @property
    def said(self) -> list[str]:
        """Its last lines."""
        return list(self._lines)

    @property
    def end(self) -> str:
        """How it ended, to follow its name in a sentence."""
        status = self._child.returncode
        if status is None:
            return "runs"
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-status).name}"
        words = _PREFIX.sub("", next((line for line in reversed(self._lines) if line), ""))
        return f"ended with {status}: {words or 'it said nothing'}"

    async def wait(self) -> int:
        """Wait for its end; its exit status."""
        return await self._child.wait()

    def kill(self) -> None:
        """End it at once, with SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self._child.kill()

    async def stop(self, seconds: float = 10.0) -> None:
        """End it with SIGTERM, and with SIGKILL if that takes too long."""
        self.stopping = True
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self._child.terminate()
            try:
                await asyncio.wait_for(self._child.wait(), seconds)
            except TimeoutError:
                self.kill()
        await self._reader

    async def _end(self) -> None:
        """End it whatever it does."""
        self.stopping = True
        self.kill()
        await self._reader


def _dying_with_parent(number: signal.Signals) -> Callable[[], None]:
    """What a child does between fork and exec, so that it gets a signal when we are gone."""
    parent = os.getpid()

    def prepare() -> None:
        _prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


class Backoff:
    """No time at all for one that has worked, twice as long each time for one that does not."""

    def __init__(self, first: float = FIRST, most: float = MOST, healthy: float = HEALTHY) -> None:
        self._first = first
        self._most = most
        self._healthy = healthy
        self._pause = 0.0

    def after(self, ran: float) -> float:
        """The pause after a process that ran for `ran` seconds."""
        if ran >= self._healthy:
            self._pause = 0.0
        pause = self._pause
        self._pause = min(max(pause * 2, self._first), self._most)
        return pause
