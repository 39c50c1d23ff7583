"""Run `evcore up` as a process on free ports, and read its output."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from evcore.local.data import DataDirectory
from tests.servers import free_udp_port, violations

COMMAND = (sys.executable, "-m", "evcore")


class Up:
    """A core that was started by the command line."""

    def __init__(self, child: asyncio.subprocess.Process, data: Path) -> None:
        self.child = child
        self.data = data
        self.said: list[str] = []

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait for a new line that matches."""
        assert self.child.stderr is not None
        while line := (await self.child.stderr.readline()).decode():
            self.said.append(line.rstrip())
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it never said {pattern!r}: {self.said}")

    async def ends(self, number: signal.Signals) -> int:
        """Send a signal, and wait for the end. Return the exit status."""
        self.child.send_signal(number)
        assert self.child.stderr is not None
        self.said += (await self.child.stderr.read()).decode().splitlines()
        return await self.child.wait()

    def processes(self) -> dict[int, str]:
        """Return the other processes on its data directory: process ids and command lines."""
        found: dict[int, str] = {}
        for path in Path("/proc").glob("[0-9]*"):
            pid = int(path.name)
            try:
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if str(self.data) in command and pid not in (self.child.pid, os.getpid()):
                found[pid] = command
        return found

    async def load(self, *more: object) -> tuple[int, str]:
        """Run a load against the core. Return the exit status and standard output."""
        return await run("load", "--data", self.data, *more)


@asynccontextmanager
async def up(data: Path, *more: object) -> AsyncGenerator[Up]:
    """Run a core on a data directory for the duration of a block."""
    ports = ("--udp-port", free_udp_port(), "--nats-port", 0)
    arguments = ("up", "--data", data, *ports, "--transport", "userspace-udp", *more)
    child = await asyncio.create_subprocess_exec(
        *COMMAND, *map(str, arguments), stderr=asyncio.subprocess.PIPE
    )
    core = Up(child, data)
    try:
        await core.says("evcore is up")
        yield core
        assert violations(DataDirectory(data)) == []
    except BaseException:
        print(*core.said, *(log.read_text() for log in data.glob("logs/*.log")), sep="\n")
        raise
    finally:
        if child.returncode is None:
            await core.ends(signal.SIGTERM)


async def run(*arguments: object) -> tuple[int, str]:
    """Run a command. Return its exit status and its output."""
    child = await asyncio.create_subprocess_exec(
        *COMMAND,
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await child.communicate()
    assert child.returncode is not None
    return child.returncode, out.decode()


async def ended(pids: list[int]) -> None:
    """Wait until processes have ended that are not children of this process."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        gone = asyncio.Event()
        loop.add_reader(descriptor, gone.set)
        await gone.wait()
        loop.remove_reader(descriptor)
        os.close(descriptor)
