"""Append steps in one SQLite transaction."""

import sqlite3
from collections.abc import Sequence

from statestore.contract import (
    QUARANTINE,
    Append,
    Appended,
    Conflict,
    Correction,
    Duplicate,
    IndexConflict,
    IndexKey,
    Outcome,
    Quarantined,
)

_AGGREGATE = """
SELECT id, coalesce((SELECT max(seq) FROM log WHERE aggregate = id), 0), data_key
FROM aggregates WHERE name = ?
"""
_ADD_AGGREGATE = "INSERT INTO aggregates (name, data_key) VALUES (?, ?)"
# Only a trigger that was already processed may skip this insert. The caller has checked that the
# sequence number is new.
_ADD_STEP = """
INSERT INTO log (aggregate, seq, trigger, body) VALUES (?, ?, ?, ?)
ON CONFLICT (aggregate, trigger) DO NOTHING
"""
_TRIGGER = "SELECT seq FROM log WHERE aggregate = ? AND trigger = ?"
_OWNER = """
SELECT id, name FROM entries JOIN aggregates ON id = owner WHERE kind = ? AND key = ?
"""
_PUT = """
INSERT INTO entries (kind, key, owner) VALUES (?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner
"""
_DROP = "DELETE FROM entries WHERE kind = ? AND key = ? AND owner = ?"
_IN_QUARANTINE = """
SELECT owner, since, name FROM quarantine JOIN aggregates ON id = owner WHERE kind = ? AND key = ?
"""
_GIVE_UP = """
INSERT INTO quarantine (kind, key, owner, since) VALUES (?, ?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner, since = excluded.since
"""
_END_QUARANTINE = "DELETE FROM quarantine WHERE kind = ? AND key = ?"
_EXPIRE = """
DELETE FROM quarantine WHERE (kind, key) IN
(SELECT kind, key FROM quarantine WHERE since <= ? ORDER BY since LIMIT ?)
"""
_SNAPSHOT = """
INSERT INTO snapshots (aggregate, seq, body) VALUES (?, ?, ?)
ON CONFLICT (aggregate) DO UPDATE SET seq = excluded.seq, body = excluded.body
"""
_APPENDED = Appended()


class _Aggregate:
    """The state of an aggregate within the transaction."""

    __slots__ = ("data_key", "head", "id", "stopped")

    def __init__(self, row: tuple[int, int, bytes] | None) -> None:
        self.id, self.head, self.data_key = row or (0, 0, b"")
        self.stopped = False
        """A step of this batch failed. The later steps were decided on a state that does not
        exist."""

    def precedes(self, step: Append) -> bool:
        """Whether a step is the next one of this aggregate, and not of one that was removed."""
        own = not self.id or step.data_key in (b"", self.data_key)
        return step.seq == self.head + 1 and own and not self.stopped


def append_batch(cursor: sqlite3.Cursor, batch: Sequence[Append]) -> list[Outcome]:
    """Append every step that passes the checks. The caller owns the transaction and ends it.

    All checks come before the first row of a step is written, so a failed step needs no rollback.
    """
    execute = cursor.execute
    aggregates: dict[str, _Aggregate] = {}
    outcomes: list[Outcome] = []
    for step in batch:
        aggregate = aggregates.get(step.aggregate)
        if aggregate is None:
            row = execute(_AGGREGATE, (step.aggregate,)).fetchone()
            aggregate = aggregates[step.aggregate] = _Aggregate(row)
        follows = aggregate.precedes(step)
        conflict = _index_conflict(cursor, aggregate, step) if follows and step.put else None
        if follows and conflict is None and _add(cursor, aggregate, step):
            outcomes.append(_APPENDED)
            continue
        aggregate.stopped = True
        row = execute(_TRIGGER, (aggregate.id, step.trigger)).fetchone()
        if row is not None:
            outcomes.append(Duplicate(row[0]))
        else:
            outcomes.append(conflict or Conflict(aggregate.head))
    given_up = sum(len(step.give_up) for step in batch)
    if given_up:
        # Twice as many as are added, so that the table does not grow without bound.
        over = max(step.at for step in batch) - QUARANTINE
        execute(_EXPIRE, (over, 2 * given_up))
    return outcomes


def correct(cursor: sqlite3.Cursor, correction: Correction) -> bool:
    """See `Engine.correct`. The caller owns the transaction and ends it."""
    execute = cursor.execute
    aggregate = _Aggregate(execute(_AGGREGATE, (correction.aggregate,)).fetchone())
    if not aggregate.id or aggregate.head != correction.head:
        return False
    for entry in correction.put:
        row = execute(_OWNER, entry).fetchone()
        if row is not None and row[0] != aggregate.id:
            return False
    for kind, key in correction.drop:
        execute(_DROP, (kind, key, aggregate.id))
    for kind, key in correction.put:
        execute(_PUT, (kind, key, aggregate.id))
    if correction.snapshot:
        execute(_SNAPSHOT, (aggregate.id, correction.head, correction.snapshot))
    return True


def _index_conflict(
    cursor: sqlite3.Cursor, aggregate: _Aggregate, step: Append
) -> IndexConflict | None:
    for kind, key in step.put:
        row = cursor.execute(_OWNER, (kind, key)).fetchone()
        if row is not None and row[0] != aggregate.id and row[1] != step.take_from:
            return IndexConflict(IndexKey(kind, key), row[1])
        row = cursor.execute(_IN_QUARANTINE, (kind, key)).fetchone()
        if row is not None and row[0] != aggregate.id and row[1] > step.at - QUARANTINE:
            entry = IndexKey(kind, key)
            if Quarantined(entry, row[1]) not in step.end_quarantines:
                return IndexConflict(entry, row[2])
    return None


def _add(cursor: sqlite3.Cursor, aggregate: _Aggregate, step: Append) -> bool:
    """Write a step that passed the checks. Return False, with nothing written, if its trigger was
    already processed."""
    execute = cursor.execute
    if not aggregate.id:
        execute(_ADD_AGGREGATE, (step.aggregate, step.data_key))
        aggregate.id, aggregate.data_key = cursor.lastrowid or 0, step.data_key
    execute(_ADD_STEP, (aggregate.id, step.seq, step.trigger, step.body))
    if not cursor.rowcount:
        return False
    aggregate.head = step.seq
    for kind, key in step.drop:
        execute(_DROP, (kind, key, aggregate.id))
    for kind, key in step.give_up:
        execute(_DROP, (kind, key, aggregate.id))
        if cursor.rowcount:
            execute(_GIVE_UP, (kind, key, aggregate.id, step.at))
    for kind, key in step.put:
        execute(_PUT, (kind, key, aggregate.id))
        execute(_END_QUARANTINE, (kind, key))
    if step.snapshot:
        execute(_SNAPSHOT, (aggregate.id, step.seq, step.snapshot))
    return True
