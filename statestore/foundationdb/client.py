"""FoundationDB transactions on an asyncio loop: futures, retries and ranges.

The asyncio event model of the bindings is broken on Python 3.11, and their own waiting blocks the
thread. Therefore a future wakes the loop itself, from the network thread of the client library.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from statestore.contract import StoreError, StoreUnavailable
from statestore.foundationdb.api import (
    Api,
    Database,
    FdbError,
    Future,
    KeyValue,
    Page,
    Reader,
    Transaction,
)

T = TypeVar("T")

_TOO_LARGE = {
    2101: "a transaction is larger than the 10 MB that FoundationDB accepts",
    2102: "a key is longer than the 10 kB that FoundationDB accepts",
    2103: "a value is larger than the 100 kB that FoundationDB accepts",
}
_TOO_SLOW = {1004, 1031}
_OF_THE_CLUSTER = {1000, 1501, 1510, 1514, 1521}
"""Errors that no retry of the client mends, but an operator: operation_failed, large_alloc_failed,
io_error, file_not_writable, io_timeout."""


async def ready(*futures: Future) -> None:
    """Wait until all futures have results or errors."""
    for future in futures:
        # Most are ready when the first one is. Checking costs less than a callback.
        if not future.is_ready():
            await _woken(future)


async def _woken(future: Future) -> None:
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def on_network_thread(_: object) -> None:
        with suppress(RuntimeError):  # The loop is closed, so no coroutine waits.
            loop.call_soon_threadsafe(wake)

    future.on_ready(on_network_thread)
    try:
        await waiter
    except asyncio.CancelledError:
        future.cancel()
        raise


async def done(future: Future) -> None:
    """Wait for a future without a value and raise its error."""
    await ready(future)
    future.wait()


class Client:
    """Runs transactions on one cluster, each for at most `patience` seconds."""

    def __init__(self, api: Api, database: Database, patience: float) -> None:
        self._api = api
        self._database = database
        self._patience = patience

    async def run(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Return the result of `work` after an attempt succeeds. `work` reads, writes and commits.

        A retry calls `work` again with the transaction reset. If the commit of an earlier attempt
        has an unknown result, `work` must find out whether it succeeded.

        Raises:
            StoreUnavailable: the time ran out. A running commit may or may not succeed.
            StoreError: FoundationDB rejects the transaction permanently.
        """
        last: FdbError | None = None
        try:
            async with asyncio.timeout(self._patience):
                transaction = self._database.create_transaction()
                while True:
                    try:
                        return await work(transaction)
                    except self._api.FDBError as err:
                        last = err
                    await done(transaction.on_error(last.code))
        except TimeoutError:
            why = f": {last}" if last else ""
            raise StoreUnavailable(
                f"FoundationDB did not answer within {self._patience:g} s{why}"
            ) from None
        except self._api.FDBError as err:
            if err.code in _TOO_SLOW:
                raise StoreUnavailable(f"FoundationDB is too slow: {err}") from None
            if err.code in _OF_THE_CLUSTER:
                raise StoreUnavailable(f"FoundationDB cannot be used now: {err}") from None
            raise StoreError(
                _TOO_LARGE.get(err.code, f"FoundationDB rejects the transaction: {err}")
            ) from None

    def start_page(
        self, reader: Reader, begin: bytes, end: bytes, limit: int, *, reverse: bool = False
    ) -> Page:
        """Start to read up to `limit` rows, or about 80 kB, from `begin` to just below `end`. With
        `reverse` read the last rows, in descending order."""
        # The public iterator blocks the thread between the pieces of a range. This function, which
        # the iterator uses, does not.
        select = self._api.KeySelector.first_greater_or_equal
        return reader._get_range(  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            select(begin), select(end), limit, self._api.StreamingMode.want_all, 1, reverse
        )

    async def page(
        self, reader: Reader, begin: bytes, end: bytes, limit: int
    ) -> tuple[list[KeyValue], bool]:
        """Return rows as `start_page` does, and whether more rows may follow below the limit."""
        future = self.start_page(reader, begin, end, limit)
        await ready(future)
        rows, count, more = future.wait()
        return rows, bool(more) and count < limit

    async def scan(self, begin: bytes, end: bytes, limit: int) -> list[KeyValue]:
        """Return up to `limit` rows of a range. A read that outlives its transaction continues in
        another one, so the rows may be from different moments."""
        rows: list[KeyValue] = []

        async def read_on(transaction: Transaction) -> None:
            more = True
            while more and len(rows) < limit:
                start = rows[-1].key + b"\0" if rows else begin
                page, more = await self.page(transaction.snapshot, start, end, limit - len(rows))
                rows.extend(page)

        if limit > 0:
            await self.run(read_on)
        return rows

    async def last(self, begin: bytes, end: bytes) -> KeyValue | None:
        """Return the last row of a range."""

        async def read(transaction: Transaction) -> KeyValue | None:
            future = self.start_page(transaction.snapshot, begin, end, 1, reverse=True)
            await ready(future)
            rows, _, _ = future.wait()
            return rows[0] if rows else None

        return await self.run(read)

    async def values(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the values of keys, all at one moment."""
        keys = list(keys)

        async def read(transaction: Transaction) -> list[bytes | None]:
            futures = [transaction.snapshot.get(key) for key in keys]
            await ready(*futures)
            return [future.value for future in futures]

        return await self.run(read)
