"""The cluster behind the double of the FoundationDB bindings: versions, conflicts and faults."""

import queue
import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum, auto
from typing import Any

from statestore.foundationdb.api import FdbError

TOO_OLD, NOT_COMMITTED, UNKNOWN_RESULT, CLUSTER_CHANGED = 1007, 1020, 1021, 1039
CANCELLED, BLOCKED = 1101, 2025


class FDBError(FdbError):
    """Like `fdb.FDBError`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        return f"error {self.code}"


class Silence(Exception):
    """The cluster sends no answer."""


class Fault(Enum):
    """The possible ends of a commit."""

    CONFLICT = auto()
    """As if another transaction had written a key that this one read."""
    UNKNOWN_APPLIED = auto()
    UNKNOWN_LOST = auto()
    LATE = auto()
    """The client is told that the cluster changed. The commit is applied after the reads of the
    client's next attempt and before the next commit."""
    VERY_LATE = auto()
    """Like LATE, but applied after the next commit."""
    SILENT = auto()
    """The commit is applied, and the client gets no answer."""
    REFUSED = auto()
    """An error that a retry cannot resolve."""
    FAILING_DISK = auto()
    """An error of a disk (io_error)."""


class Future:
    """Like `fdb.Future`; the network thread completes it."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._callbacks: list[Callable[[Any], None]] = []
        self._answer: Any = None
        self._error: FDBError | None = None

    def fulfil(self, answer: Any = None, error: FDBError | None = None) -> None:
        with self._lock:
            if self._set.is_set():
                return
            self._answer, self._error = answer, error
            self._set.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def is_ready(self) -> bool:
        return self._set.is_set()

    def on_ready(self, callback: Callable[[Any], None]) -> None:
        with self._lock:
            if not self._set.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def cancel(self) -> None:
        self.fulfil(error=FDBError(CANCELLED))

    def wait(self) -> Any:
        if self._cluster.on_network_thread() and not self._set.is_set():
            raise FDBError(BLOCKED)
        self._set.wait()
        if self._error is not None:
            raise self._error
        return self._answer

    @property
    def value(self) -> Any:
        return self.wait()


class Commit:
    """A running commit: the keys that must be unchanged, and its writes."""

    def __init__(self, check: Callable[[], None], apply: Callable[[int], None]) -> None:
        self.check = check
        self.apply = apply


class Cluster:
    """A cluster with its network thread, which runs everything below `submit`.

    `faults` determines the end of the next commits. The network thread calls `after_commit` after a
    commit and before it tells the client. `commits` counts the attempted commits, `conflicts` the
    commits rejected because of their reads, `largest` is the size of the largest, and `begun`
    counts the transactions that took a read version.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.faults: Iterator[Fault | None] = iter(())
        self.after_commit: Callable[[], None] = lambda: None
        self.commits = self.conflicts = self.largest = self.begun = 0
        self.version = 1_000_000
        self._rows: dict[bytes, list[tuple[int, bytes | None]]] = {}
        self._sorted: list[bytes] = []
        self._cleared: list[tuple[bytes, bytes, int]] = []
        self._late: tuple[Fault, Commit] | None = None
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._network = threading.Thread(target=self._run, name="fdb-double", daemon=True)
        self._network.start()

    def close(self) -> None:
        """Stop the network thread."""
        self._jobs.put(None)
        self._network.join()

    def submit(self, future: Future, job: Callable[[], Any]) -> None:
        """Run a job on the network thread and complete the future with its result."""

        def run() -> None:
            try:
                answer = job()
            except FDBError as err:
                future.fulfil(error=err)
            except Silence:
                pass
            else:
                future.fulfil(answer)

        self._jobs.put(run)

    def submit_idle(self, job: Callable[[], Any]) -> None:
        """Run a job without a future on the network thread."""
        self._jobs.put(lambda: job() and None)

    def on_network_thread(self) -> bool:
        return threading.current_thread() is self._network

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def value_at(self, key: bytes, version: int) -> bytes | None:
        for written, value in reversed(self._rows.get(key, ())):
            if written <= version:
                return value
        return None

    def keys_in(self, begin: bytes, end: bytes) -> list[bytes]:
        return self._sorted[bisect_left(self._sorted, begin) : bisect_left(self._sorted, end)]

    def written_since(self, begin: bytes, end: bytes, version: int) -> bool:
        """Whether a key of a range was written after a version."""
        if any(b < end and begin < e and v > version for b, e, v in self._cleared):
            return True
        if end == begin + b"\0":  # A single key, the usual case.
            history = self._rows.get(begin)
            return bool(history) and history[-1][0] > version
        return any(self._rows[key][-1][0] > version for key in self.keys_in(begin, end))

    def write(self, key: bytes, value: bytes | None, version: int) -> None:
        history = self._rows.get(key)
        if history is None:
            history = self._rows[key] = []
            insort(self._sorted, key)
        history.append((version, value))

    def clear(self, begin: bytes, end: bytes, version: int) -> None:
        self._cleared.append((begin, end, version))
        for key in self.keys_in(begin, end):
            self.write(key, None, version)

    def commit(self, commit: Commit) -> None:
        """Serialise one commit, with the fault that is due, and any delayed commit."""
        self.commits += 1
        fault = next(self.faults, None)
        late, self._late = self._late, None
        if late is not None and late[0] is Fault.LATE:
            self._arrive(late[1])
        try:
            self._commit(fault, commit)
        finally:
            if late is not None and late[0] is Fault.VERY_LATE:
                self._arrive(late[1])

    def _commit(self, fault: Fault | None, commit: Commit) -> None:
        if fault is Fault.REFUSED:
            raise FDBError(2000)
        if fault is Fault.FAILING_DISK:
            raise FDBError(1510)
        if fault is Fault.CONFLICT:
            self.conflicts += 1
            raise FDBError(NOT_COMMITTED)
        if fault is Fault.UNKNOWN_LOST:
            raise FDBError(UNKNOWN_RESULT)
        if fault in {Fault.LATE, Fault.VERY_LATE}:
            self._late = (fault, commit)
            raise FDBError(CLUSTER_CHANGED)
        self._settle(commit)
        self.after_commit()
        if fault is Fault.UNKNOWN_APPLIED:
            raise FDBError(UNKNOWN_RESULT)
        if fault is Fault.SILENT:
            raise Silence

    def _settle(self, commit: Commit) -> None:
        try:
            commit.check()
        except FDBError:
            self.conflicts += 1
            raise
        self.version += 10
        commit.apply(self.version)

    def _arrive(self, commit: Commit) -> None:
        with suppress(FDBError):
            self._settle(commit)
