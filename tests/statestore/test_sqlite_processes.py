"""Several processes on one SQLite store. Some of them are killed."""

import asyncio
import sqlite3
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from statestore.contract import FeedEntry
from statestore.sqlite.engine import SqliteEngine
from tests.statestore.sqlite_writer import body
from tests.statestore.steps import OK, follow, step, stored

ROOT = Path(__file__).parents[2]


async def start(path: Path, aggregate: str, last: int, batch: int) -> asyncio.subprocess.Process:
    arguments = (str(path), aggregate, str(last), str(batch))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.statestore.sqlite_writer",
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def go(*writers: asyncio.subprocess.Process) -> None:
    """Start the writers when all of them are ready."""
    for writer in writers:
        assert writer.stdout is not None
        assert await writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")


async def told(process: asyncio.subprocess.Process) -> int:
    """Return the next head that a writer prints; 0 at its end."""
    assert process.stdout is not None
    return int(await process.stdout.readline() or b"0")


@pytest.mark.slow
async def test_two_processes_write_and_a_third_follows(tmp_path: Path):
    path = tmp_path / "store.db"
    reader = await SqliteEngine.open(path)
    writers = [await start(path, name, 2000, 5) for name in ("ue/a", "ue/b")]
    await go(*writers)
    waiting = asyncio.gather(*(writer.communicate() for writer in writers))
    seen: list[FeedEntry] = []
    while not waiting.done():
        seen += await reader.feed(seen[-1].cursor if seen else b"", 50)
        await asyncio.sleep(0)
    await waiting
    assert [writer.returncode for writer in writers] == [0, 0]
    seen += await follow(reader, seen[-1].cursor)
    assert seen == await follow(reader)
    for name in ("ue/a", "ue/b"):
        assert await stored(reader, name) == list(range(1, 2001))
    # The writers took turns. Neither waited until the other had finished.
    order = [entry.aggregate for entry in seen]
    assert sum(a != b for a, b in pairwise(order)) > 10
    await reader.close()


@pytest.mark.slow
async def test_a_killed_writer_loses_nothing_it_was_promised(tmp_path: Path):
    path = tmp_path / "store.db"
    steady = await start(path, "ue/steady", 3000, 3)
    await go(steady)
    finished = asyncio.create_task(steady.communicate())
    for number in range(1, 6):
        writer = await start(path, "ue/killed", 1_000_000, 16)
        await go(writer)
        acknowledged = 0
        for _ in range(3 * number):
            acknowledged = await told(writer)
        writer.kill()
        rest, _ = await writer.communicate()
        # A head printed before the process died counts as acknowledged too.
        acknowledged = max([acknowledged, *map(int, rest.split(b"\n")[:-1])])
        engine = await SqliteEngine.open(path)
        heads = await stored(engine, "ue/killed")
        assert len(heads) >= acknowledged
        assert len(heads) % 16 == 0, "a batch is there as a whole or not at all"
        records = await engine.read("ue/killed", 0, len(heads))
        assert all(record.body == body(record.seq) for record in records)
        await engine.close()
    await finished
    assert steady.returncode == 0
    engine = await SqliteEngine.open(path)
    assert await stored(engine, "ue/steady") == list(range(1, 3001))
    assert await engine.append([step("ue/steady", 3001)]) == [OK]
    await engine.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


async def test_a_tool_reads_while_others_write(tmp_path: Path):
    path = tmp_path / "store.db"
    writer = await SqliteEngine.open(path)
    await writer.append([step("ue/a", 1)])
    tool = await SqliteEngine.open(path, read_only=True)
    for seq in range(2, 20):
        await writer.append([step("ue/a", seq)])
        assert len(await stored(tool, "ue/a")) == seq
    await writer.close()
    assert len(await stored(tool, "ue/a")) == 19
    await tool.close()
