"""Behaviour of the SQLite engine only: a file, its faults, and a lock."""

import asyncio
import fcntl
import os
import resource
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from statestore.contract import Append, StoreDamaged, StoreError, StoreUnavailable
from statestore.sqlite.engine import SqliteEngine
from statestore.sqlite.file import connect
from tests.statestore.steps import OK, UE, step, steps, stored


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def text(path: Path) -> Path:
    path.write_bytes(b"This is not a database, it only has the size of one. " * 100)
    return path


@pytest.fixture
async def sqlite(path: Path) -> AsyncGenerator[SqliteEngine]:
    engine = await SqliteEngine.open(path, patience=0.05)
    yield engine
    await engine.close()


def change(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def garble(path: Path) -> None:
    """Overwrite the start of every page after the first few."""
    whole = bytearray(path.read_bytes())
    for page in range(8, len(whole) // 4096):
        whole[page * 4096 : page * 4096 + 64] = b"\xee" * 64
    path.write_bytes(whole)


def contents(path: Path) -> bytes:
    return path.read_bytes()


async def refused(path: Path, kind: type[StoreError], *, read_only: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        await SqliteEngine.open(path, read_only=read_only)
    assert caught.type is kind
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "STORE")


async def test_a_store_outlives_its_engine(path: Path):
    engine = await SqliteEngine.open(path)
    await engine.append(steps(UE, 1, 3))
    await engine.close()
    await engine.close()
    for read_only in (True, False):
        engine = await SqliteEngine.open(str(path), read_only=read_only)
        assert await stored(engine, UE) == [1, 2, 3]
        await engine.close()


async def test_a_commit_is_flushed_before_it_is_answered(path: Path, sqlite: SqliteEngine):
    await sqlite.close()
    db = connect(path, read_only=False)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


async def test_a_name_of_any_kind(tmp_path: Path):
    engine = await SqliteEngine.open(tmp_path / "a store?mode=memory#é%20.db")
    assert await engine.append([step(UE, 1)]) == [OK]
    await engine.close()
    assert (tmp_path / "a store?mode=memory#é%20.db").stat().st_size


async def test_a_missing_directory_is_told(tmp_path: Path):
    path = tmp_path / "none" / "store.db"
    said = await refused(path, StoreError)
    assert said == f"the directory {path.parent} of the store does not exist"


async def test_a_directory_that_cannot_be_written_is_told():
    said = await refused(Path("/proc/store.db"), StoreError)
    assert said == "the lock STORE-gate cannot be opened: No such file or directory"


async def test_a_directory_is_no_store(tmp_path: Path):
    assert "cannot be opened" in await refused(tmp_path, StoreError)


async def test_a_tool_makes_no_store(path: Path):
    assert await refused(path, StoreError, read_only=True) == "there is no store at STORE"
    assert not list(path.parent.iterdir())


async def test_a_tool_writes_nothing(path: Path, sqlite: SqliteEngine):
    await sqlite.append([step(UE, 1)])
    tool = await SqliteEngine.open(path, read_only=True)
    with pytest.raises(StoreError, match="read only"):
        await tool.append([step(UE, 2)])
    with pytest.raises(StoreError, match="read only"):
        await tool.put_document("a", b"")
    assert await stored(tool, UE) == [1]
    await tool.close()


@pytest.mark.parametrize("read_only", [True, False])
async def test_a_file_of_something_else_is_damaged(text: Path, *, read_only: bool):
    path = text
    said = await refused(path, StoreDamaged, read_only=read_only)
    assert said == "STORE is damaged or not an SQLite database: file is not a database"


async def test_a_database_of_something_else_is_left_alone(path: Path):
    change(path, "CREATE TABLE contacts (name TEXT)")
    before = contents(path)
    said = await refused(path, StoreDamaged)
    assert said == "STORE is an SQLite database, but not an evcore store"
    assert contents(path) == before


async def test_a_newer_schema_is_refused(path: Path, sqlite: SqliteEngine):
    await sqlite.close()
    change(path, "PRAGMA user_version = 7")
    for read_only in (True, False):
        said = await refused(path, StoreError, read_only=read_only)
        assert said == (
            "STORE has schema version 7, made by a newer evcore; this one supports versions up to 1"
        )


async def test_a_changed_page_is_found(path: Path, sqlite: SqliteEngine):
    await sqlite.append([step(UE, seq, body=bytes(1000)) for seq in range(1, 200)])
    await sqlite.close()
    garble(path)
    engine = await SqliteEngine.open(path)
    with pytest.raises(StoreDamaged, match="is damaged or not an SQLite database"):
        await engine.read(UE)
    with pytest.raises(StoreDamaged, match="is damaged or not an SQLite database"):
        await engine.load([UE])
    await engine.close()


async def test_what_is_missing_is_damage(path: Path, sqlite: SqliteEngine):
    await sqlite.append(steps(UE, 1, 9))
    change(path, "DELETE FROM log WHERE seq IN (4, 5)")
    with pytest.raises(StoreDamaged, match=f"2 steps of '{UE}' are missing"):
        await sqlite.load([UE])
    change(path, "INSERT INTO aggregates (name, data_key) VALUES ('ue/a', x'00')")
    with pytest.raises(StoreDamaged, match="'ue/a' has no steps"):
        await sqlite.load(["ue/a"])


async def test_a_closed_engine_says_so(sqlite: SqliteEngine):
    await sqlite.close()
    with pytest.raises(StoreError, match="closed"):
        await sqlite.append([step(UE, 1)])
    with pytest.raises(StoreError, match="closed"):
        await sqlite.load([UE])


async def test_a_batch_with_an_impossible_step_is_undone(sqlite: SqliteEngine):
    with pytest.raises(StoreError, match="not valid Unicode"):
        await sqlite.append([step(UE, 1), Append("ue/\udcff", 1, "a", b"")])
    with pytest.raises(StoreError, match="too big"):
        await sqlite.append([step(UE, 1), Append(UE, 2, "a", bytes(1_000_000_001))])
    assert await sqlite.load([UE]) == [None]
    assert await sqlite.append([step(UE, 1)]) == [OK]


async def test_a_disk_that_takes_no_more_undoes_the_batch(path: Path, sqlite: SqliteEngine):
    await sqlite.append([step(UE, 1)])
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = len(contents(Path(f"{path}-wal"))) + 20_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, unlimited[1]))
    try:
        with pytest.raises(StoreUnavailable, match="disk"):
            await sqlite.append([step(UE, 2), step(UE, 3, body=bytes(200_000))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert await stored(sqlite, UE) == [1]
    assert await sqlite.append([step(UE, 2)]) == [OK]


async def test_a_stuck_writer_does_not_stop_the_loop(path: Path, sqlite: SqliteEngine):
    holder = os.open(f"{path}-turn", os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="another process has kept"):
            await sqlite.append([step(UE, 1)])
    ticking.cancel()
    assert ticks > 10
    # Reading is possible during the lock, and writing after it.
    assert await sqlite.load([UE]) == [None]
    os.close(holder)
    assert await sqlite.append([step(UE, 1)]) == [OK]


async def test_a_foreign_writer_is_waited_for_no_longer_than_told(path: Path, sqlite: SqliteEngine):
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="database is locked"):
        await sqlite.append([step(UE, 1)])
    foreign.execute("ROLLBACK")
    foreign.close()
    assert await sqlite.append([step(UE, 1)]) == [OK]


async def test_calls_at_once_take_turns(path: Path, sqlite: SqliteEngine):
    other = await SqliteEngine.open(path)
    outcomes = await asyncio.gather(
        *(
            engine.append([step(f"ue/{number}", seq) for seq in (1, 2)])
            for number, engine in enumerate([sqlite, other] * 20)
        )
    )
    assert outcomes == [[OK, OK]] * 40
    await other.close()
