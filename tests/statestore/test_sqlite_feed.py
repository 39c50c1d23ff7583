"""A cursor of an SQLite feed skips no step: no step becomes visible before an earlier position."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from statestore.contract import StoreUnavailable
from statestore.sqlite.engine import SqliteEngine
from tests.statestore.steps import OK, OTHER, UE, follow, step

_INSERT = "INSERT INTO log (aggregate, seq, trigger, body) VALUES (1, ?, ?, x'00')"


async def test_a_transaction_that_is_late_keeps_all_others_waiting(tmp_path: Path) -> None:
    """A step with a later position cannot overtake an uncommitted one, because only one process may
    write at a time."""
    path = tmp_path / "store.db"
    engine = await SqliteEngine.open(path, patience=0.1)
    reader = await SqliteEngine.open(path, read_only=True)
    assert await engine.append([step(UE, 1)]) == [OK]
    (first,) = await reader.feed()
    with closing(sqlite3.connect(path, isolation_level=None)) as late:
        late.execute("BEGIN IMMEDIATE")
        position = late.execute(_INSERT, (2, "late")).lastrowid
        with pytest.raises(StoreUnavailable):
            await engine.append([step(OTHER, 1)])
        assert await reader.feed(first.cursor) == []
        late.execute("COMMIT")
    assert await engine.append([step(OTHER, 1)]) == [OK]
    rest = await follow(reader, first.cursor)
    assert [(entry.aggregate, entry.seq) for entry in rest] == [(UE, 2), (OTHER, 1)]
    assert int.from_bytes(rest[0].cursor) == position
    for one in (engine, reader):
        await one.close()


async def test_a_transaction_that_comes_to_nothing_leaves_no_gap(tmp_path: Path) -> None:
    """No reader has seen the position, and the next step reuses it."""
    path = tmp_path / "store.db"
    engine = await SqliteEngine.open(path)
    reader = await SqliteEngine.open(path, read_only=True)
    assert await engine.append([step(UE, 1)]) == [OK]
    with closing(sqlite3.connect(path, isolation_level=None)) as undone:
        undone.execute("BEGIN IMMEDIATE")
        position = undone.execute(_INSERT, (2, "undone")).lastrowid
        undone.execute("ROLLBACK")
    (first,) = await reader.feed()
    assert await engine.append([step(OTHER, 1)]) == [OK]
    (second,) = await reader.feed(first.cursor)
    assert (second.aggregate, int.from_bytes(second.cursor)) == (OTHER, position)
    for one in (engine, reader):
        await one.close()
