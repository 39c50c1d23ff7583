"""The table of procedures: its numbers, and `evcore up` on a terminal."""

import asyncio
import fcntl
import os
import signal
import struct
import sys
import termios
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from evcore.commands.live import milliseconds, rendered
from evcore.local.autoscaler import Autoscaler
from evcore.local.group import Group
from evcore.local.table import Row, Table
from eventing.stats import ProcedureStats, Stats, StatsWatch, bound_of
from schemas.procedures import Procedure
from tests.evcore.cores import COMMAND, run
from tests.servers import free_udp_port

ON_IT = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
"""Runs a command with standard input as its controlling terminal, so that Ctrl-C ends it."""
GROUPS = [Group("a", (Procedure.RAN, Procedure.PAGING)), Group("b", (Procedure.SESSION,))]


class Scaler:
    """The part of an autoscaler that a table reads."""

    def __init__(self) -> None:
        self.groups = GROUPS
        self.queued = {"paging": 7}

    def workers_of(self, name: str) -> list[object]:
        return [object()] if name == "a" else []

    def cold_starts_of(self, name: str) -> tuple[int, int]:
        return (2, 42) if name == "a" else (0, 0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def said(steps: int, bucket: int) -> Stats:
    found = (
        ProcedureStats("paging", "1", steps, 1, {bucket: steps}),
        ProcedureStats("paging", "", 1, 0, {0: 1}),
    )
    return Stats("w", "1", 42, found, cold_start=0.031)


def test_the_numbers_of_procedures() -> None:
    watch, clock = StatsWatch(), Clock()
    table = Table(cast("Autoscaler", Scaler()), watch, clock)
    first = table.rows()
    assert [row.procedure for row in first] == ["ran", "paging", "session"]
    assert first[1] == Row("paging", 7, 1, 0.0, None, 0, 2, None)
    watch.note(said(10, 30))
    clock.now += 2.0
    assert table.rows()[1] == Row("paging", 7, 1, 5.5, bound_of(30), 1, 2, 0.031)
    assert table.rows()[2] == Row("session", 0, 0, 0.0, None, 0, 0, None)


def test_numbers_of_long_ago_do_not_count() -> None:
    watch, clock = StatsWatch(), Clock()
    table = Table(cast("Autoscaler", Scaler()), watch, clock)
    watch.note(said(10, 30))
    for _ in range(40):
        clock.now += 1.0
        table.rows()
    row = table.rows()[1]
    assert (row.per_second, row.p99, row.failures) == (0.0, None, 1)


def test_a_row_on_a_terminal() -> None:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(rendered([Row("paging", 7, 1, 12.4, 0.0512, 0, 2, 1.25)]))
    assert capture.get().split() == [
        *("procedure", "queued", "workers", "steps/s", "p99", "failures", "cold", "starts"),
        *("last", "took"),
        "─" * len(capture.get().splitlines()[1].strip()),
        *("paging", "7", "1", "12", "51", "ms", "0", "2", "1.2", "s"),
    ]
    assert milliseconds(0.9994) == "999 ms"


class Terminal:
    """A pseudo-terminal of 40 lines of 120 columns, and its output."""

    def __init__(self) -> None:
        self.ours, self.theirs = os.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.drawn = ""
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(self.ours, self._read)

    def _read(self) -> None:
        try:
            self.drawn += os.read(self.ours, 65_536).decode(errors="replace")
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self.ours)
        self._more.set()

    async def shows(self, *words: str) -> None:
        """Wait until all these texts are on one line, in this order."""

        def there() -> bool:
            lines = self.drawn.splitlines()
            return any(_in_order(line, words) for line in lines)

        while not there():
            self._more.clear()
            await self._more.wait()

    def types(self, keys: bytes) -> None:
        os.write(self.ours, keys)


def _in_order(line: str, words: tuple[str, ...]) -> bool:
    at = 0
    for word in words:
        at = line.find(word, at)
        if at < 0:
            return False
    return True


@pytest.mark.slow
async def test_up_on_a_terminal_keeps_a_table_below_its_lines(home: Path) -> None:
    terminal = Terminal()
    environment = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ON_IT),
        *COMMAND,
        *("up", "--data", str(home / "data"), "--nats-port", "0", "--upfs", "0"),
        *("--transport", "userspace-udp", "--udp-port", str(free_udp_port())),
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        env=environment,
    )
    os.close(terminal.theirs)
    try:
        async with asyncio.timeout(120):
            await terminal.shows("procedure", "queued", "workers", "steps/s", "p99", "cold starts")
            status, words = await run("load", "--data", home / "data", "--ues", 4)
            assert status == 0, words
            await terminal.shows("functions core: 0 -> 1 worker")
            await terminal.shows("registration", " 0 ", " 1 ", " ms ", " 1 ", " ms")
            await terminal.shows("functions core: 1 -> 0 workers")
            terminal.types(b"\x03")
            await terminal.shows("stopping")
            await terminal.shows("stopped")
            assert await child.wait() == 0
    except BaseException:
        print(terminal.drawn)
        raise
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGKILL)
            await child.wait()
        os.close(terminal.ours)
    last = terminal.drawn.rpartition("stopping")[2]
    assert "queued" not in last.rpartition("\x1b[?25h")[2], "the table is gone, the cursor is back"
    assert terminal.drawn.count("\x1b[?25l") == terminal.drawn.count("\x1b[?25h")
