"""The rows of a SQLite store, changed behind its engine, as a failing disk changes them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_PUT_STEP = """
UPDATE log SET body = ? WHERE aggregate = (SELECT id FROM aggregates WHERE name = ?) AND seq = ?
"""
_REMOVE_STEP = """
DELETE FROM log WHERE aggregate = (SELECT id FROM aggregates WHERE name = ?) AND seq = ?
"""


def flipped(value: bytes) -> bytes:
    """Return the octets with one bit flipped."""
    changed = bytearray(value)
    changed[len(changed) // 2] ^= 4
    return bytes(changed)


def rows(path: Path, sql: str, *values: object) -> list[Any]:
    """Return the result of a query."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql, values).fetchall()


def change(path: Path, sql: str, *values: object) -> None:
    """Change at least one row. The statement may use the SQL function `flipped`."""
    with closing(sqlite3.connect(path)) as db, db:
        db.create_function("flipped", 1, flipped)
        assert db.execute(sql, values).rowcount


def step(path: Path, name: str, seq: int) -> bytes:
    """Return the sealed step of an aggregate."""
    query = "SELECT body FROM log JOIN aggregates ON id = aggregate WHERE name = ? AND seq = ?"
    ((body,),) = rows(path, query, name, seq)
    return bytes(body)


def put_step(path: Path, name: str, seq: int, sealed: bytes | None) -> None:
    """Replace a step of an aggregate; with None, remove it."""
    if sealed is None:
        change(path, _REMOVE_STEP, name, seq)
    else:
        change(path, _PUT_STEP, sealed, name, seq)


def flip_step(path: Path, name: str, seq: int) -> None:
    """Flip a bit of a step of an aggregate."""
    put_step(path, name, seq, flipped(step(path, name, seq)))
