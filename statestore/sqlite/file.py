"""Opening an SQLite store: its schema, its settings, and what its errors mean."""

import sqlite3
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from statestore.contract import StoreDamaged, StoreError, StoreUnavailable

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x65764372  # "evCr", so that another program's database is told apart

PATIENCE = 5.0
"""How long to wait for what another process has locked, in seconds."""
_CHECKPOINT_PAGES = 4096
"""16 MiB of log between checkpoints, each of which makes one commit take some 10 ms longer. Fewer
pages make shorter checkpoints and more work: a page is written once in each that it changed
before. A thread for them was tried; under load the log then grows without end."""
_CACHE_KIB = 65536

# An aggregate's head is the highest of its sequence numbers: an index answers that as fast as
# a column would, and a step then changes one page fewer. `position` orders the feed: writers
# take turns and nothing is ever deleted, so it grows in the order of commits. Snapshots stand
# apart so that a lookup of a name does not drag them in.
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

_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}


class Errors:
    """A `with` block in which what SQLite raises becomes a `StoreError` about `path`."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise _translated(self._path, error) from None
        if isinstance(error, UnicodeError):
            raise StoreError(f"{self._path}: a name is not valid Unicode: {error}") from None
        if isinstance(error, OverflowError):
            raise StoreError(f"{self._path}: a number is too large for the store") from None


def _translated(path: Path, error: sqlite3.Error) -> StoreError:
    # An error that the Python module raises by itself has no code.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return StoreDamaged(f"{path} is not a sound SQLite database: {error}")
    if code in _UNAVAILABLE:
        return StoreUnavailable(f"{path} cannot be used now: {error}")
    if code == sqlite3.SQLITE_READONLY:
        return StoreError(f"{path} cannot be written: {error}")
    if isinstance(error, sqlite3.IntegrityError):
        return StoreDamaged(f"{path} breaks a rule of its own: {error}")
    return StoreError(f"{path}: {error}")


def connect(path: Path, *, read_only: bool, patience: float = PATIENCE) -> sqlite3.Connection:
    """A connection to the store at `path` that is ready for use; whoever may write makes a
    new store where there is none. The caller holds the write lock, if it may write.

    Raises:
        StoreError: it cannot be opened, or a newer evcore made it.
        StoreDamaged: it is no SQLite database, or not one of evcore.
    """
    if read_only and not path.exists():
        raise StoreError(f"there is no store at {path}")
    uri = f"file:{quote(str(path))}?mode={'ro' if read_only else 'rwc'}"
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=patience)
    except sqlite3.Error as err:
        raise StoreError(f"{path} cannot be opened: {err}") from None
    try:
        with Errors(path):
            _prepare(db, path, read_only=read_only)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    _check_version(db, path, read_only=read_only)
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    if read_only:
        return
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(f"{path} is on a file system without the shared memory that SQLite needs")
    # FULL: a commit is on the disk before it is answered.
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")


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
        raise StoreDamaged(f"{path} is an SQLite database, but not a store of evcore")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}, made by a newer evcore;"
            f" this one knows versions up to {SCHEMA_VERSION}"
        )
    if version < SCHEMA_VERSION:
        raise StoreDamaged(f"{path} has schema version {version}, which there never was")
