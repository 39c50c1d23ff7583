"""The event-log engine on an SQLite file, for the processes of one machine."""

import sqlite3
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from statestore.contract import (
    AggregateDamaged,
    Append,
    Correction,
    Document,
    FeedEntry,
    IndexKey,
    Loaded,
    Outcome,
    Quarantined,
    Record,
    Removal,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from statestore.filelock import WriteLock
from statestore.sqlite.append import append_batch, correct
from statestore.sqlite.file import PATIENCE, Errors, connect, connect_to_read
from statestore.sqlite.remove import remove

_CURSOR_OCTETS = 8

_LOAD = """
SELECT a.id, (SELECT max(seq) FROM log WHERE aggregate = a.id), a.data_key, s.seq, s.body
FROM aggregates a LEFT JOIN snapshots s ON s.aggregate = a.id WHERE a.name = ?
"""
_TAIL = "SELECT seq, body FROM log WHERE aggregate = ? AND seq > ? ORDER BY seq"
_READ = """
SELECT seq, body FROM log WHERE aggregate = (SELECT id FROM aggregates WHERE name = ?)
AND seq > ? ORDER BY seq LIMIT ?
"""
_DATA_KEY = "SELECT data_key FROM aggregates WHERE name = ?"
_TAKEN = """
SELECT seq FROM log
WHERE aggregate = (SELECT id FROM aggregates WHERE name = ?) AND trigger = ?
"""
_OWNER = "SELECT name FROM entries JOIN aggregates ON id = owner WHERE kind = ? AND key = ?"
_SCAN = """
SELECT e.key, a.name FROM entries e JOIN aggregates a ON a.id = e.owner
WHERE e.kind = ? AND {range} ORDER BY e.key LIMIT ?
"""
_QUARANTINED = """
SELECT key, since FROM quarantine WHERE kind = ? AND {range} ORDER BY key LIMIT ?
"""
_AGGREGATES = """
SELECT name, (SELECT max(seq) FROM log WHERE aggregate = id) FROM aggregates
WHERE {range} ORDER BY name LIMIT ?
"""
_FEED = """
SELECT position, name, seq, body FROM log JOIN aggregates ON id = aggregate
WHERE position > ? ORDER BY position LIMIT ?
"""
_FEED_END = "SELECT max(position) FROM log"
_LAST_DOCUMENT = """
SELECT version, body FROM documents WHERE name = ? ORDER BY version DESC LIMIT 1
"""
_DOCUMENT = "SELECT version, body FROM documents WHERE name = ? AND version = ?"
_ADD_DOCUMENT = "INSERT INTO documents (name, version, body) VALUES (?, ?, ?)"
_DOCUMENTS = """
SELECT name, max(version) FROM documents WHERE {range} GROUP BY name ORDER BY name LIMIT ?
"""


class SqliteEngine:
    """The `Engine` on one SQLite file. Several processes may use the file at once.

    Calls run in the thread of the event loop and do not yield to it. A call takes as long as its
    rows and, for a write, one flush of the disk. For most calls this is shorter than a hop to a
    thread and back. Only a write that must wait for the write of another process yields to the
    loop. A commit is on the disk before the call returns (WAL, synchronous=FULL), and the steps of
    one `append` share one commit. An object belongs to the thread that opened it.

    After an error of the disk, such as a failed fsync(2), the next call opens the file again: the
    connection may keep the error, or descriptors of a file system that was read-only.
    """

    def __init__(
        self, path: Path, db: sqlite3.Connection, lock: WriteLock | None, patience: float
    ) -> None:
        """Use `open`."""
        self._path = path
        self._patience = patience
        self._db = db
        self._cursor = db.cursor()
        self._lock = lock
        self._errors = Errors(path)

    @classmethod
    async def open(
        cls, path: str | Path, *, read_only: bool = False, patience: float = PATIENCE
    ) -> "SqliteEngine":
        """Open the store at `path`. Create it if it does not exist.

        With `read_only` the store is neither created nor changed, and other processes may write at
        the same time. `patience` is the longest wait for the lock of another process, in seconds.

        Raises:
            StoreError: the directory or the file cannot be used, or a newer evcore created the
                file.
            StoreDamaged: the file is not a store.
            StoreUnavailable: another process keeps the file locked.
        """
        path = Path(path)
        if read_only:
            db, at_rest = connect_to_read(path, patience)
            made = cls(path, db, None, patience)
            made._errors.of_the_disk = at_rest
            return made
        if not path.parent.is_dir():
            raise StoreError(f"the directory {path.parent} of the store does not exist")
        lock = WriteLock(path, patience)
        try:
            await lock.acquire()
            try:
                db = connect(path, read_only=False, patience=patience)
            finally:
                lock.release()
        except BaseException:
            lock.close()
            raise
        return cls(path, db, lock, patience)

    async def append(self, batch: Sequence[Append]) -> list[Outcome]:
        """See `Engine.append`. The whole batch is one transaction."""
        async with self._writing() as cursor:
            return append_batch(cursor, batch)

    async def correct(self, correction: Correction) -> bool:
        """See `Engine.correct`."""
        async with self._writing() as cursor:
            return correct(cursor, correction)

    async def remove(self, removals: Sequence[Removal]) -> list[bool]:
        """See `Engine.remove`. All are one transaction."""
        async with self._writing() as cursor:
            return remove(cursor, removals)

    async def load(self, aggregates: Sequence[str]) -> list[Loaded | None]:
        """See `Engine.load`. All are read at one moment."""
        with self._reading() as cursor:
            return [self._load(cursor, name) for name in aggregates]

    @staticmethod
    def _load(cursor: sqlite3.Cursor, name: str) -> Loaded | None:
        row = cursor.execute(_LOAD, (name,)).fetchone()
        if row is None:
            return None
        number, head, data_key, snapshot_seq, snapshot = row
        if head is None:
            raise AggregateDamaged(name, f"the aggregate {name!r} has no steps")
        if snapshot_seq is not None and not (
            isinstance(snapshot_seq, int)
            and 0 < snapshot_seq <= head
            and isinstance(snapshot, bytes)
        ):
            return Loaded(head, data_key, head, b"", ())
        after = snapshot_seq or 0
        tail = tuple(map(Record._make, cursor.execute(_TAIL, (number, after))))
        if after + len(tail) != head:
            raise AggregateDamaged(
                name, f"{head - after - len(tail)} steps of {name!r} are missing"
            )
        return Loaded(head, data_key, after, snapshot or b"", tail)

    async def read(self, aggregate: str, after: int = 0, limit: int = 1000) -> list[Record]:
        """See `Engine.read`."""
        return list(map(Record._make, self._rows(_READ, (aggregate, after, max(limit, 0)))))

    async def data_key(self, aggregate: str) -> bytes | None:
        """See `Engine.data_key`."""
        return self._value(_DATA_KEY, (aggregate,))

    async def processed(self, aggregate: str, trigger: str) -> int | None:
        """See `Engine.processed`."""
        return self._value(_TAKEN, (aggregate, trigger))

    async def owners(self, entries: Sequence[IndexKey]) -> list[str | None]:
        """See `Engine.owners`. All are read at one moment."""
        with self._reading() as cursor:
            rows = [cursor.execute(_OWNER, entry).fetchone() for entry in entries]
        return [row[0] if row else None for row in rows]

    async def scan(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        """See `Engine.scan`."""
        return self._range(_SCAN, "e.key", (kind,), prefix, after, limit=limit)

    async def quarantined(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[Quarantined]:
        """See `Engine.quarantined`."""
        rows = self._range(_QUARANTINED, "key", (kind,), prefix, after, limit=limit)
        return [Quarantined(IndexKey(kind, key), since) for key, since in rows]

    async def aggregates(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """See `Engine.aggregates`."""
        return self._range(_AGGREGATES, "name", (), prefix, after, limit=limit)

    async def feed(self, after: bytes = b"", limit: int = 1000) -> list[FeedEntry]:
        """See `Engine.feed`. A cursor is the position of a step, in eight octets."""
        if len(after) not in {0, _CURSOR_OCTETS}:
            raise StoreError(f"{after.hex()} is not a cursor of {self._path}")
        rows = self._rows(_FEED, (int.from_bytes(after), max(limit, 0)))
        return [
            FeedEntry(position.to_bytes(_CURSOR_OCTETS), name, seq, body)
            for position, name, seq, body in rows
        ]

    async def feed_end(self) -> bytes:
        """See `Engine.feed_end`."""
        position = self._value(_FEED_END, ())
        return b"" if position is None else position.to_bytes(_CURSOR_OCTETS)

    async def put_document(self, name: str, body: bytes) -> int:
        """See `Engine.put_document`."""
        async with self._writing() as cursor:
            last = cursor.execute(_LAST_DOCUMENT, (name,)).fetchone()
            version, before = last or (0, None)
            if before == body:
                return version
            cursor.execute(_ADD_DOCUMENT, (name, version + 1, body))
            return version + 1

    async def get_document(self, name: str, version: int = 0) -> Document | None:
        """See `Engine.get_document`."""
        if version:
            rows = self._rows(_DOCUMENT, (name, version))
        else:
            rows = self._rows(_LAST_DOCUMENT, (name,))
        return Document._make(rows[0]) if rows else None

    async def documents(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """See `Engine.documents`."""
        return self._range(_DOCUMENTS, "name", (), prefix, after, limit=limit)

    async def close(self) -> None:
        """See `Engine.close`."""
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        self._reopen()
        with self._errors:
            return self._cursor.execute(sql, values).fetchall()

    def _value(self, sql: str, values: Sequence[Any]) -> Any:
        rows = self._rows(sql, values)
        return rows[0][0] if rows else None

    def _range(
        self, sql: str, column: str, before: tuple[str, ...], prefix: str, after: str, *, limit: int
    ) -> list[Any]:
        """Return the rows of a statement with a `column` that is above `after` and starts with
        `prefix`. `before` holds the parameters that precede the range."""
        least = f"{column} > ?" if after >= prefix else f"{column} >= ?"
        values = [*before, max(after, prefix)]
        end = prefix_end(prefix)
        if end is not None:
            least += f" AND {column} < ?"
            values.append(end)
        return self._rows(sql.format(range=least), (*values, max(limit, 0)))

    def _reopen(self) -> None:
        """Open the file again after an error of the disk. The store exists, so nothing is made.

        Raises:
            StoreUnavailable: the file cannot be opened; the next call tries again.
        """
        if not self._errors.of_the_disk:
            return
        path, patience, again = self._path, self._patience, False
        try:
            if self._lock is None:
                db, again = connect_to_read(path, patience)
            else:
                db = connect(path, read_only=False, patience=patience, create=False)
        except StoreDamaged:
            raise
        except StoreError as err:
            raise StoreUnavailable(str(err)) from None
        # Close the old connection last: the last one of a file removes its write-ahead log.
        before, self._db, self._cursor = self._db, db, db.cursor()
        before.close()
        self._errors.of_the_disk = again

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Cursor]:
        """A read transaction. All of its statements see the same commits."""
        self._reopen()
        with self._errors:
            self._cursor.execute("BEGIN")
            try:
                yield self._cursor
            finally:
                self._cursor.execute("COMMIT")

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[sqlite3.Cursor]:
        """A write transaction. The end of the block commits it; an exception rolls it back."""
        if self._lock is None:
            raise StoreError(f"{self._path} was opened read only")
        await self._lock.acquire()
        try:
            self._reopen()
            with self._errors:
                self._cursor.execute("BEGIN IMMEDIATE")
                try:
                    yield self._cursor
                    self._cursor.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:
                        self._cursor.execute("ROLLBACK")
                    raise
        finally:
            self._lock.release()


_LAST = chr(0x10FFFF)


def prefix_end(prefix: str) -> str | None:
    """Return the least name above all names that start with `prefix`; None if there is no such
    name."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    last = ord(stem[-1]) + 1
    # Surrogates are between U+D7FF and U+E000. No valid name contains them.
    return stem[:-1] + chr(0xE000 if last == 0xD800 else last)
