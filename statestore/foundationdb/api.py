"""Types for the part of the official FoundationDB bindings that the engine uses.

The bindings have no types, and cannot be imported without the native client library.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

API_VERSION: Final = 730
"""API version of the client library: 7.3."""


class FdbError(Exception):
    """The interface of `fdb.FDBError`."""

    code: int


class Future(Protocol):
    """The result of a call. The network thread of the client library completes it."""

    def is_ready(self) -> bool:
        """Whether `wait` returns without blocking."""
        ...

    def on_ready(self, callback: Callable[[Any], None]) -> None:
        """Call back from the network thread, or at once from this one if the future is ready."""
        ...

    def cancel(self) -> None:
        """Make the future fail with operation_cancelled."""
        ...

    def wait(self) -> Any:
        """Return the result or raise the `FdbError`. Blocks the thread until it is ready."""
        ...


class Value(Future, Protocol):
    """The future of a key's value."""

    @property
    def value(self) -> bytes | None:
        """The value; None if the key does not exist. Blocks like `wait`."""
        ...


class KeyValue(Protocol):
    """A row of a range."""

    @property
    def key(self) -> bytes:
        """The key of the row."""
        ...

    @property
    def value(self) -> bytes:
        """The value of the row."""
        ...


class Page(Future, Protocol):
    """The future of a page of a range."""

    def wait(self) -> tuple[list[KeyValue], int, int]:
        """Return the rows, their number, and whether more rows follow."""
        ...


class KeySelectors(Protocol):
    """The class `fdb.KeySelector`."""

    def first_greater_or_equal(self, key: bytes) -> Any:
        """Select the first key that is equal to `key` or above it."""
        ...


class StreamingModes(Protocol):
    """The object `fdb.StreamingMode`."""

    @property
    def want_all(self) -> int:
        """Fetch the whole range as soon as possible, in pieces of about 80 kB."""
        ...


class Reader(Protocol):
    """An object with read methods: a transaction, or its snapshot."""

    def get(self, key: bytes) -> Value:
        """Start to read a key."""
        ...

    def _get_range(
        self, begin: Any, end: Any, limit: int, mode: int, iteration: int, reverse: bool
    ) -> Page: ...


class Transaction(Reader, Protocol):
    """A transaction. It may be reused after `on_error` succeeds."""

    @property
    def snapshot(self) -> Reader:
        """Reads at the same version that cause no conflicts."""
        ...

    def set(self, key: bytes, value: bytes) -> None:
        """Write a key."""
        ...

    def clear(self, key: bytes) -> None:
        """Remove a key."""
        ...

    def clear_range(self, begin: bytes, end: bytes) -> None:
        """Remove the keys from `begin` to just below `end`."""
        ...

    def compare_and_clear(self, key: bytes, param: bytes) -> None:
        """Remove a key if the value to commit over is `param`; no read, so no conflict."""
        ...

    def set_versionstamped_key(self, key: bytes, param: bytes) -> None:
        """Write a key with ten octets that become the commit's versionstamp. The last four octets
        of `key`, least significant first, give their position."""
        ...

    def set_versionstamped_value(self, key: bytes, param: bytes) -> None:
        """Write a value with ten octets that become the commit's versionstamp. The last four octets
        of `param`, least significant first, give their position."""
        ...

    def commit(self) -> Future:
        """Start to commit."""
        ...

    def on_error(self, error: int) -> Future:
        """Wait as long as advised before another attempt, or fail with the error if it is
        permanent."""
        ...


class Database(Protocol):
    """A cluster."""

    def create_transaction(self) -> Transaction:
        """Return a new transaction. Its first read sets its read version."""
        ...


class Api(Protocol):
    """The module `fdb` once `api_version` has been called."""

    @property
    def FDBError(self) -> type[FdbError]:  # noqa: N802
        """The exception class of the bindings."""
        ...

    def open(self, cluster_file: str | None = None) -> Database:
        """Return the database of a cluster file; None means the default file. One object per
        process."""
        ...

    @property
    def KeySelector(self) -> KeySelectors:  # noqa: N802
        """The class of key selectors."""
        ...

    @property
    def StreamingMode(self) -> StreamingModes:  # noqa: N802
        """The streaming modes of range reads."""
        ...
