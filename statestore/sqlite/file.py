"""Open an SQLite store: its schema, its settings, and the meaning of its errors."""

import os
import sqlite3
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from statestore.contract import StoreDamaged, StoreError, StoreUnavailable
from statestore.disk import why_not_writable

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x65764372  # "evCr": distinguishes a store from the databases of other programs

PATIENCE = 5.0
"""Longest wait for the lock of another process, in seconds."""
_CHECKPOINT_PAGES = 4096
"""16 MiB of log between checkpoints. A checkpoint delays one commit by about 10 ms. Fewer pages
make checkpoints shorter but add work: every checkpoint writes each page that changed since the last
one. A separate checkpoint thread was tried; under load the log then grows without end."""
_KEPT_LOG = 4 * _CHECKPOINT_PAGES * 4096
"""Octets of write-ahead log that stay on the disk after a checkpoint. A long read of another
process may make the log longer; without this limit the file would keep its length."""
_CACHE_KIB = 65536

# An aggregate's head is its highest sequence number. An index returns it as fast as a column would,
# and a step then changes one page less. `position` orders the feed: writers take turns, and the row
# with the highest one is never deleted, so it grows in the order of commits. Snapshots have their
# own table so that a lookup of a name does not read them.
_SCHEMA = """
CREATE TABLE aggregates (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    data_key BLOB NOT NULL
) STRICT;
CREATE TABLE log (
    position INTEGER PRIMARY KEY,
    aggregate INTEGER NOT NULL REFERENCES aggregates,
    seq INTEGER NOT NULL,
    trigger TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (aggregate, seq),
    UNIQUE (aggregate, trigger)
) STRICT;
CREATE TABLE snapshots (
    aggregate INTEGER PRIMARY KEY REFERENCES aggregates,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE entries (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    owner INTEGER NOT NULL REFERENCES aggregates,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE documents (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
"""

# Index entries that were given up. The steps that give up more remove those that have expired.
_QUARANTINE = """
CREATE TABLE IF NOT EXISTS quarantine (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    owner INTEGER NOT NULL REFERENCES aggregates,
    since INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS quarantine_since ON quarantine (since);
"""

_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}
_OF_THE_DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}
"""Errors of the disk or of the limit of open files. They may end without a restart."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}


class Errors:
    """A `with` block that converts SQLite's exceptions to a `StoreError` about `path`."""

    __slots__ = ("_path", "of_the_disk")

    def __init__(self, path: Path) -> None:
        self._path = path
        self.of_the_disk = False
        """Whether there was an error of the disk: open the file again (`SqliteEngine`)."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, sqlite3.Error):
            self.of_the_disk |= _code(error) in _OF_THE_DISK
            raise _translated(self._path, error) from None
        if isinstance(error, MemoryError):  # for SQLITE_NOMEM too
            raise StoreUnavailable(f"{self._path} cannot be used now: not enough memory") from None
        if isinstance(error, UnicodeError):
            raise StoreError(f"{self._path}: a name is not valid Unicode: {error}") from None
        if isinstance(error, OverflowError):
            raise StoreError(f"{self._path}: a number is too large for the store") from None


def _code(error: sqlite3.Error) -> int:
    """Return the primary code; 0 for an error that the Python module itself raises."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _translated(path: Path, error: sqlite3.Error) -> StoreError:
    code = _code(error)
    if code in _DAMAGED:
        return StoreDamaged(f"{path} is damaged or not an SQLite database: {error}")
    if code in _OF_THE_DISK:
        why = why_not_writable(path.parent) or str(error)
        return StoreUnavailable(f"{path} cannot be written now: {why}")
    if code in _UNAVAILABLE:
        return StoreUnavailable(f"{path} cannot be used now: {error}")
    if isinstance(error, sqlite3.IntegrityError):
        return StoreDamaged(f"{path} violates a constraint: {error}")
    return StoreError(f"{path}: {error}")


def connect(
    path: Path,
    *,
    read_only: bool,
    patience: float = PATIENCE,
    create: bool = True,
    at_rest: bool = False,
) -> sqlite3.Connection:
    """Return an open connection to the store at `path`.

    A connection that may write creates the store if it does not exist, unless `create` is false.
    Its caller holds the write lock. With `at_rest` no process writes the store, and no file is made
    beside it.

    Raises:
        StoreError: the file cannot be opened, or a newer evcore created it.
        StoreUnavailable: the disk is full, or cannot be written for another reason.
        StoreDamaged: the file is not an SQLite database, or not an evcore store.
    """
    if read_only and not path.exists():
        raise StoreError(f"there is no store at {path}")
    if create and not read_only:
        _create(path)
    mode = "ro" if read_only else "rwc" if create else "rw"
    uri = f"file:{quote(str(path))}?mode={mode}" + ("&immutable=1" if at_rest else "")
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=patience)
    except sqlite3.Error as err:
        why = "" if read_only else why_not_writable(path.parent)
        raise StoreError(f"{path} cannot be opened: {why or err}") from None
    try:
        with Errors(path):
            _prepare(db, path, read_only=read_only)
    except BaseException:
        db.close()
        raise
    return db


def connect_to_read(path: Path, patience: float = PATIENCE) -> tuple[sqlite3.Connection, bool]:
    """Return an open connection to read the store at `path`, and whether the store is at rest.

    SQLite needs a file beside the store, also to read. On a full or read-only disk that file cannot
    be made. If no process writes the store, it is read without; then open it again for each read.

    Raises:
        StoreError: as `connect`.
    """
    try:
        return connect(path, read_only=True, patience=patience), False
    except StoreUnavailable:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise  # a process writes, or died before the last steps were in the store itself
    return connect(path, read_only=True, patience=patience, at_rest=True), True


def _create(path: Path) -> None:
    """Create the file, if it does not exist, for its owner alone. SQLite gives the files beside it
    (``-wal``, ``-shm``) the same rights."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as err:
        raise StoreError(f"{path} cannot be opened: {err.strerror}") from None


def _prepare(db: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    _check_version(db, path, read_only=read_only)
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    if read_only:
        return
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(f"{path} is on a file system without the shared memory that SQLite needs")
    db.executescript(_QUARANTINE)  # a store of an earlier version lacks it
    # FULL: a commit is on the disk before the statement returns.
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {_KEPT_LOG}")


def _check_version(db: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not (version or application or tables) and not read_only:
        db.executescript(
            f"BEGIN IMMEDIATE;{_SCHEMA}"
            f"PRAGMA application_id = {_APPLICATION_ID};"
            f"PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"
        )
        return
    if application != _APPLICATION_ID:
        raise StoreDamaged(f"{path} is an SQLite database, but not an evcore store")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}, made by a newer evcore;"
            f" this one supports versions up to {SCHEMA_VERSION}"
        )
    if version < SCHEMA_VERSION:
        raise StoreDamaged(f"{path} has the unknown schema version {version}")
