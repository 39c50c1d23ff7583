"""Child processes that do not outlive their parent, with their last words kept."""

import asyncio
import contextlib
import ctypes
import signal
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


class ProcessError(Exception):
    """A process ended that should not have; it says which and with what last words."""


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Process:
    """One child. Its standard error goes to a file, its last lines are at hand."""

    def __init__(self, name: str, child: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self._child = child
        self._lines: deque[str] = deque(maxlen=20)
        self._ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pattern = ""
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str], log: Path, ready: str = ""
    ) -> "Process":
        """Start `command`; return when a line of its standard error contains `ready`.

        Raises:
            ProcessError: it ends before that.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=_die_with_parent,
            start_new_session=True,
        )
        process = cls(name, child, log)
        if ready:
            process._pattern = ready
            await process._ready
        return process

    async def _read(self) -> None:
        stream = self._child.stderr
        if stream is None:
            return
        with self.log.open("a") as file:
            while line := await stream.readline():
                text = line.decode(errors="replace").rstrip()
                self._lines.append(text)
                file.write(text + "\n")
                file.flush()
                if self._pattern and self._pattern in text and not self._ready.done():
                    self._ready.set_result(text)
        if not self._ready.done():
            status = await self._child.wait()
            words = " / ".join(list(self._lines)[-3:]) or "it said nothing"
            self._ready.set_exception(ProcessError(f"{self.name} ended with {status}: {words}"))
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
    def said(self) -> list[str]:
        """Its last lines."""
        return list(self._lines)

    async def wait(self) -> int:
        """Wait for its end; its exit status."""
        return await self._child.wait()

    def kill(self) -> None:
        """End it at once, with SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self._child.kill()

    async def stop(self, seconds: float = 10.0) -> None:
        """End it with SIGTERM, and with SIGKILL if that takes too long."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self._child.terminate()
            try:
                await asyncio.wait_for(self._child.wait(), seconds)
            except TimeoutError:
                self.kill()
                await self._child.wait()
        await self._reader
