"""Open a store by its URL."""

from importlib import import_module
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl, unquote, urlsplit

from statestore.contract import Engine, StoreError
from statestore.foundationdb.api import API_VERSION, Api
from statestore.sqlite.engine import SqliteEngine

FORMS = "sqlite:///PATH or fdb:///PATH-OF-CLUSTER-FILE?prefix=NAME"


async def open_store(url: str, *, read_only: bool = False) -> Engine:
    """Return the engine of a URL: ``sqlite:///var/lib/evcore/store.db``, ``sqlite:store.db`` for a
    relative path, or ``fdb:///etc/foundationdb/fdb.cluster?prefix=evcore``.

    With `read_only` an SQLite store must exist and is not changed.

    Raises:
        StoreError: the URL has another form, a package that the engine needs is not installed, or
            the store cannot be opened.
        StoreUnavailable: the store cannot be reached now.
    """
    try:
        parts = urlsplit(url)
    except ValueError as err:
        raise StoreError(f"{url}: {err}; use {FORMS}") from None
    if parts.netloc:
        raise StoreError(f"{url}: a store URL has no host name; use {FORMS}")
    path = unquote(parts.path)
    if parts.scheme == "sqlite":
        _options(url, parts.query, ())
        if not path:
            raise StoreError(f"{url}: the path of the file is missing; use {FORMS}")
        return await SqliteEngine.open(path, read_only=read_only)
    if parts.scheme == "fdb":
        from statestore.foundationdb.engine import FoundationDbEngine  # noqa: PLC0415 - not needed for SQLite

        options = _options(url, parts.query, ("prefix",))
        api = foundationdb_bindings()
        try:
            database = api.open(path or None)
        except api.FDBError as err:
            raise StoreError(f"{url}: the cluster file cannot be used: {err}") from None
        return await FoundationDbEngine.open(api, database, options.get("prefix", "evcore"))
    raise StoreError(f"{url}: {parts.scheme or 'no scheme'!r} is not a kind of store; use {FORMS}")


def directory_of(url: str) -> Path | None:
    """Return the directory of an SQLite store; None for FoundationDB, which has disks of its own.

    A cluster that lacks room on its disks stops its transactions: the store is unavailable then.
    """
    if not url.startswith("sqlite:"):
        return None
    return Path(unquote(urlsplit(url).path)).parent


def foundationdb_bindings() -> Api:
    """Return the official bindings with their API version selected.

    Raises:
        StoreError: the bindings or the native client library are not installed.
    """
    try:
        module = import_module("fdb")
    except ImportError:
        raise StoreError(
            "the FoundationDB bindings are not installed: pip install foundationdb"
        ) from None
    try:
        module.api_version(API_VERSION)
    except Exception as err:
        # The bindings raise a bare Exception if libfdb_c is missing. They raise a RuntimeError if
        # it is too old, or if this process has already selected another API version.
        raise StoreError(
            f"the FoundationDB client library cannot be used: {err}"
            " (it comes with the package foundationdb-clients)"
        ) from None
    return cast("Api", module)


def _options(url: str, query: str, known: tuple[str, ...]) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in known:
            raise StoreError(f"{url}: this kind of store has no option {name!r}")
    return options
