"""Remove aggregates in one SQLite transaction."""

import sqlite3
from collections.abc import Sequence

from statestore.contract import Removal

_LAST_POSITION = "SELECT max(position) FROM log"
_NEWEST = "SELECT max(id) FROM aggregates"
_AGGREGATE = """
SELECT id, data_key, coalesce((SELECT max(seq) FROM log WHERE aggregate = id), 0)
FROM aggregates WHERE name = ?
"""
_POSITION = "SELECT position FROM log WHERE aggregate = ? AND seq = ?"
_STEPS = "DELETE FROM log WHERE aggregate = ?"
_SNAPSHOT = "DELETE FROM snapshots WHERE aggregate = ?"
_ENTRY = "DELETE FROM entries WHERE kind = ? AND key = ? AND owner = ?"
_NAME = "DELETE FROM aggregates WHERE id = ?"


def remove(cursor: sqlite3.Cursor, removals: Sequence[Removal]) -> list[bool]:
    """See `Engine.remove`. The caller owns the transaction and ends it.

    SQLite gives the number after the highest one to a new row. So the rows with the highest numbers
    stay: no cursor of the feed stands for two steps, and no entry gets another owner.
    """
    (last,) = cursor.execute(_LAST_POSITION).fetchone()
    (newest,) = cursor.execute(_NEWEST).fetchone()
    return [_remove(cursor, removal, last, newest) for removal in removals]


def _remove(cursor: sqlite3.Cursor, removal: Removal, last: int, newest: int) -> bool:
    execute = cursor.execute
    row = execute(_AGGREGATE, (removal.aggregate,)).fetchone()
    if row is None:
        return True
    number, data_key, head = row
    if head != removal.head or data_key != removal.data_key or number == newest:
        return False
    found = execute(_POSITION, (number, head)).fetchone()
    if found is not None and found[0] == last:
        return False
    execute(_STEPS, (number,))
    execute(_SNAPSHOT, (number,))
    for kind, key in removal.drop:
        execute(_ENTRY, (kind, key, number))
    execute(_NAME, (number,))
    return True
