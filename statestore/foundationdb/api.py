"""The part of the official FoundationDB bindings that the engine uses, as types.

The bindings have none, and their module cannot be imported without the native client library.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

API_VERSION: Final = 730
"""Of the client library: 7.3."""


class FdbError(Exception):
    """The shape of `fdb.FDBError`."""

    code: int


class Future(Protocol):
    """What a call will answer. The network thread of the client library fulfils it."""

    def is_ready(self) -> bool:
        """Whether `wait` will not block."""
        ...

    def on_ready(self, callback: Callable[[Any], None]) -> None:
        """Call back from the network thread, or at once from this one if it is ready."""
        ...

    def cancel(self) -> None:
        """Let it fail with operation_cancelled."""
        ...

    def wait(self) -> Any:
        """The answer, or the `FdbError`; blocks the thread until there is one."""
        ...


class Value(Future, Protocol):
    """The future of a key's value."""

    @property
    def value(self) -> bytes | None:
        """The value, None for a key that is not there; blocks like `wait`."""
        ...


class KeyValue(Protocol):
    """A row of a range."""

    @property
    def key(self) -> bytes:
        """Its key."""
        ...

    @property
    def value(self) -> bytes:
        """Its value."""
        ...


class Page(Future, Protocol):
    """The future of a piece of a range."""

    def wait(self) -> tuple[list[KeyValue], int, int]:
        """The rows, their number, and whether there are more."""
        ...


class KeySelectors(Protocol):
    """The class `fdb.KeySelector`."""

    def first_greater_or_equal(self, key: bytes) -> Any:
        """The first key that is `key` or above."""
        ...


class StreamingModes(Protocol):
    """The object `fdb.StreamingMode`."""

    @property
    def want_all(self) -> int:
        """The whole range is wanted as soon as possible, in pieces of some 80 kB."""
        ...


class Reader(Protocol):
    """What reads: a transaction, or its snapshot."""

    def get(self, key: bytes) -> Value:
        """Start to read a key."""
        ...

    def _get_range(
        self, begin: Any, end: Any, limit: int, mode: int, iteration: int, reverse: bool
    ) -> Page: ...


class Transaction(Reader, Protocol):
    """A transaction. It may be used again after `on_error` has let it."""

    @property
    def snapshot(self) -> Reader:
        """Reads at the same version that conflict with nothing."""
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

    def set_versionstamped_key(self, key: bytes, param: bytes) -> None:
        """Write a key ten octets of which become the commit's versionstamp; where they stand
        is told by four octets, least significant first, at the end of `key`."""
        ...

    def commit(self) -> Future:
        """Start to commit."""
        ...

    def on_error(self, error: int) -> Future:
        """Wait as long as is wise before another attempt, or fail with the error for good."""
        ...


class Database(Protocol):
    """A cluster."""

    def create_transaction(self) -> Transaction:
        """A transaction; its read version is taken at its first read."""
        ...


class Api(Protocol):
    """The module `fdb` once `api_version` has been called."""

    @property
    def FDBError(self) -> type[FdbError]:  # noqa: N802
        """What its calls raise."""
        ...

    def open(self, cluster_file: str | None = None) -> Database:
        """The database of a cluster file, the default one for None; one object a process."""
        ...

    @property
    def KeySelector(self) -> KeySelectors:  # noqa: N802
        """See there."""
        ...

    @property
    def StreamingMode(self) -> StreamingModes:  # noqa: N802
        """See there."""
        ...
