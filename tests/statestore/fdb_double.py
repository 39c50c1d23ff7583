"""A double of the FoundationDB bindings: one cluster in memory, with real transaction semantics.

Reads see the database at the transaction's read version, and the transaction's own writes. A commit
fails if a later commit wrote a key that the transaction read without the snapshot. Errors, limits
and futures are those of the API. A separate thread completes the futures and runs their callbacks,
like the network thread of the native library. `Cluster.faults` makes commits end as they do in a
cluster with faults; `Cluster.clock` determines the age of a transaction.

Not implemented: watches, tenants, options, locality, and atomic operations other than
SET_VERSIONSTAMPED_KEY, SET_VERSIONSTAMPED_VALUE and COMPARE_AND_CLEAR.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from tests.statestore.fdb_double_cluster import (
    CLUSTER_CHANGED,
    NOT_COMMITTED,
    TOO_OLD,
    UNKNOWN_RESULT,
    Cluster,
    Commit,
    FDBError,
    Future,
)

KEY_LIMIT = 10_000
VALUE_LIMIT = 100_000
TRANSACTION_LIMIT = 10_000_000
LIFETIME = 5.0
PAGE_OCTETS = 80_000
STAMP_OCTETS = 10

NO_CLUSTER_FILE, UNREADABLE, USED_DURING_COMMIT = 1515, 1036, 2017
TRANSACTION_TOO_LARGE, KEY_TOO_LARGE, VALUE_TOO_LARGE = 2101, 2102, 2103
RETRYABLE = {TOO_OLD, 1009, NOT_COMMITTED, UNKNOWN_RESULT, 1037, 1038, CLUSTER_CHANGED, 1042, 1213}


class KeySelector:
    """Like `fdb.KeySelector`, with `first_greater_or_equal` only."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def first_greater_or_equal(cls, key: bytes) -> "KeySelector":
        return cls(key)


class KeyValue:
    """Like `fdb.KeyValue`."""

    def __init__(self, key: bytes, value: bytes) -> None:
        self.key = key
        self.value = value


class StreamingMode:
    """Like `fdb.StreamingMode`, with one page size."""

    want_all: ClassVar[int] = -2


class Snapshot:
    """Reads that cause no conflicts."""

    conflicts = False

    def __init__(self, transaction: "Transaction") -> None:
        self._transaction = transaction

    def get(self, key: bytes) -> Future:
        return self._transaction.start(lambda tr: tr.read(key, conflicts=self.conflicts))

    def _get_range(
        self,
        begin: KeySelector,
        end: KeySelector,
        limit: int,
        mode: int,  # noqa: ARG002 - an argument of the real client
        iteration: int,  # noqa: ARG002 - as above
        reverse: bool,
    ) -> Future:
        return self._transaction.start(
            lambda tr: tr.read_range(
                begin.key, end.key, limit, conflicts=self.conflicts, reverse=reverse
            )
        )


class _Attempt:
    """A transaction between two resets. Its reads and its commit run on the network thread."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.committing = False
        self.error: int | None = None
        """The error of an operation without a future. The next future reports it."""
        self.writes: dict[bytes, bytes | None] = {}
        self.clears: list[tuple[bytes, bytes]] = []
        self.mutations: list[Callable[[int], None]] = []
        self.stamped: list[tuple[bytes, bytes]] = []
        """The ranges of keys with an incomplete versionstamp."""
        self.read_ranges: set[tuple[bytes, bytes]] = set()
        self.size = 0
        self._version = 0
        self._began = 0.0

    def check(self) -> None:
        if self.error is not None:
            raise FDBError(self.error)
        if not self._version:
            self.cluster.begun += 1
            self._version = self.cluster.version
            self._began = self.cluster.clock()
        elif self.cluster.clock() - self._began > LIFETIME:
            raise FDBError(TOO_OLD)

    def read(self, key: bytes, *, conflicts: bool) -> bytes | None:
        self.check()
        if key not in self.writes:
            self._look(key, key + b"\0", conflicts=conflicts)
        return self._value(key)

    def _value(self, key: bytes) -> bytes | None:
        if key in self.writes:
            return self.writes[key]
        if any(b <= key < e for b, e in self.clears):
            return None
        return self.cluster.value_at(key, self._version)

    def read_range(
        self, begin: bytes, end: bytes, limit: int, *, conflicts: bool, reverse: bool = False
    ) -> tuple[list[KeyValue], int, int]:
        self.check()
        keys = {k for k in self.writes if begin <= k < end} | set(self.cluster.keys_in(begin, end))
        rows: list[KeyValue] = []
        octets = more = 0
        for key in sorted(keys, reverse=reverse):
            value = self._value(key)
            if value is None:
                continue
            if (limit and len(rows) == limit) or octets >= PAGE_OCTETS:
                more = 1
                break
            rows.append(KeyValue(key, value))
            octets += len(key) + len(value)
        if more and reverse:
            begin = rows[-1].key
        elif more:
            end = rows[-1].key + b"\0"
        self._look(begin, end, conflicts=conflicts)
        return rows, len(rows), more

    def _look(self, begin: bytes, end: bytes, *, conflicts: bool) -> None:
        if any(b < end and begin < e for b, e in self.stamped):
            raise FDBError(UNREADABLE)
        if conflicts and (begin, end) not in self.read_ranges:
            self.read_ranges.add((begin, end))
            self.size += len(begin) + len(end)

    def commit(self) -> None:
        self.check()
        if not self.mutations:
            return
        if self.size > TRANSACTION_LIMIT:
            raise FDBError(TRANSACTION_TOO_LARGE)

        def check() -> None:
            for begin, end in self.read_ranges:
                if self.cluster.written_since(begin, end, self._version):
                    raise FDBError(NOT_COMMITTED)

        def apply(version: int) -> None:
            for mutate in self.mutations:
                mutate(version)

        self.cluster.largest = max(self.cluster.largest, self.size)
        self.cluster.commit(Commit(check, apply))


class Transaction(Snapshot):
    """Like `fdb.Transaction`."""

    conflicts = True

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(self)
        self._cluster = cluster
        self._attempt = _Attempt(cluster)
        self.snapshot = Snapshot(self)

    def start(self, read: Callable[[_Attempt], Any]) -> Future:
        future = Future(self._cluster)
        attempt = self._usable()
        self._cluster.submit(future, lambda: read(attempt))
        return future

    def _usable(self) -> _Attempt:
        if self._attempt.committing:
            raise FDBError(USED_DURING_COMMIT)
        return self._attempt

    def _check(self, key: bytes, value: bytes) -> bool:
        attempt = self._usable()
        if len(key) > KEY_LIMIT:
            attempt.error = attempt.error or KEY_TOO_LARGE
        elif len(value) > VALUE_LIMIT:
            attempt.error = attempt.error or VALUE_TOO_LARGE
        # A mutation, and the conflict range from the key to its successor.
        attempt.size += 3 * len(key) + 1 + len(value)
        return attempt.error is None

    def set(self, key: bytes, value: bytes) -> None:
        if self._check(key, value):
            self._attempt.writes[key] = value
            self._attempt.mutations.append(lambda v: self._cluster.write(key, value, v))

    def clear(self, key: bytes) -> None:
        if self._check(key, b""):
            self._attempt.writes[key] = None
            self._attempt.mutations.append(lambda v: self._cluster.write(key, None, v))

    def compare_and_clear(self, key: bytes, param: bytes) -> None:
        if not self._check(key, param):
            return
        attempt, cluster = self._attempt, self._cluster
        if key in attempt.writes:
            raise NotImplementedError("after a write of the same transaction")

        def apply(version: int) -> None:
            if cluster.value_at(key, version) == param:
                cluster.write(key, None, version)

        attempt.mutations.append(apply)

    def clear_range(self, begin: bytes, end: bytes) -> None:
        attempt = self._usable()
        attempt.size += 2 * (len(begin) + len(end))
        for key in [k for k in attempt.writes if begin <= k < end]:
            del attempt.writes[key]
        attempt.clears.append((begin, end))
        attempt.mutations.append(lambda v: self._cluster.clear(begin, end, v))

    def set_versionstamped_key(self, key: bytes, param: bytes) -> None:
        at = int.from_bytes(key[-4:], "little")
        key = key[:-4]
        if at + STAMP_OCTETS > len(key):
            self._usable().error = 2000
            return
        if self._check(key, param):
            before, after = key[:at], key[at + STAMP_OCTETS :]
            self._attempt.stamped.append((before, before + b"\xff" * STAMP_OCTETS + b"\xff"))
            self._attempt.mutations.append(
                lambda v: self._cluster.write(before + v.to_bytes(8) + bytes(2) + after, param, v)
            )

    def set_versionstamped_value(self, key: bytes, param: bytes) -> None:
        at = int.from_bytes(param[-4:], "little")
        value = param[:-4]
        if at + STAMP_OCTETS > len(value):
            self._usable().error = 2000
            return
        if self._check(key, value):
            before, after = value[:at], value[at + STAMP_OCTETS :]
            self._attempt.stamped.append((key, key + b"\0"))
            self._attempt.mutations.append(
                lambda v: self._cluster.write(key, before + v.to_bytes(8) + bytes(2) + after, v)
            )

    def commit(self) -> Future:
        attempt = self._usable()
        attempt.committing = True
        future = Future(self._cluster)

        def commit() -> None:
            try:
                attempt.commit()
            finally:
                attempt.committing = False

        self._cluster.submit(future, commit)
        return future

    def on_error(self, error: int) -> Future:
        future = Future(self._cluster)
        if error in RETRYABLE:
            self._attempt = _Attempt(self._cluster)
            self._cluster.submit(future, lambda: None)
        else:
            future.fulfil(error=FDBError(error))
        return future


class Database:
    """Like `fdb.Database`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def create_transaction(self) -> Transaction:
        return Transaction(self._cluster)


class FdbDouble:
    """Like the module `fdb` after `fdb.api_version`."""

    FDBError = FDBError
    KeySelector = KeySelector
    StreamingMode = StreamingMode

    def __init__(self, clusters: dict[str | None, Cluster] | None = None) -> None:
        self._databases = {name: Database(c) for name, c in (clusters or {}).items()}

    def open(self, cluster_file: str | None = None) -> Database:
        try:
            return self._databases[cluster_file]
        except KeyError:
            raise FDBError(NO_CLUSTER_FILE) from None
