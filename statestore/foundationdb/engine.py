"""The event-log engine on a FoundationDB cluster."""

from collections.abc import Sequence

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
)
from statestore.foundationdb.api import Api, Database, KeyValue, Transaction
from statestore.foundationdb.append import BatchAppender, correct, transactions
from statestore.foundationdb.blob import check_size, get_blob
from statestore.foundationdb.client import Client, done, ready
from statestore.foundationdb.documents import Putting, read_document
from statestore.foundationdb.keys import (
    SEQ_OCTETS,
    STAMP_OCTETS,
    Keys,
    end_below,
    names_from,
    pack_int,
    unpack_int,
    unpack_str,
)
from statestore.foundationdb.load import Loading
from statestore.foundationdb.remove import REMOVALS, Removing

FORMAT = 1
_PATIENCE = 10.0
_SLICE = 100
"""Aggregates or bodies read in one transaction. A transaction must not last five seconds."""


class FoundationDbEngine:
    """The `Engine` on a FoundationDB cluster, below its own prefix in the key space.

    A call waits at most `patience` seconds for each transaction, then raises `StoreUnavailable`. A
    running append may still succeed after that, once; the same call again returns its result. Every
    client of a cluster can read all of its data, so bodies are sealed before they get here.
    """

    def __init__(
        self, api: Api, database: Database, prefix: str = "evcore", patience: float = _PATIENCE
    ) -> None:
        """Use `open`. This takes the module of the bindings and one of its databases."""
        self._client = Client(api, database, patience)
        self._keys = Keys(prefix)
        self._prefix = prefix

    @classmethod
    async def open(
        cls, api: Api, database: Database, prefix: str = "evcore", patience: float = _PATIENCE
    ) -> "FoundationDbEngine":
        """Open the store below `prefix`. Create it if it does not exist.

        Raises:
            StoreError: a newer evcore created the store.
            StoreUnavailable: the cluster cannot be reached.
        """
        engine = cls(api, database, prefix, patience)
        await engine._client.run(engine._check_format)
        return engine

    async def _check_format(self, transaction: Transaction) -> None:
        future = transaction.get(self._keys.format)
        await ready(future)
        if future.value is None:
            transaction.set(self._keys.format, b"%d" % FORMAT)
            await done(transaction.commit())
        elif not future.value.isdigit() or not int(future.value):
            raise StoreDamaged(f"the prefix {self._prefix!r} does not hold an evcore store")
        elif int(future.value) > FORMAT:
            raise StoreError(
                f"the store {self._prefix!r} has format {int(future.value)}, made by a newer"
                f" evcore; this one supports formats up to {FORMAT}"
            )

    async def append(self, batch: Sequence[Append]) -> list[Outcome]:
        """See `Engine.append`. A large batch takes several transactions, in order.

        Raises:
            StoreError: a step is too large. No step is appended.
            StoreUnavailable: the time ran out. The first steps of the batch may be appended.
        """
        stopped: set[str] = set()
        outcomes: list[Outcome] = []
        for piece in list(transactions(batch)):
            outcomes += await BatchAppender(self._client, self._keys, piece, stopped).run()
        return outcomes

    async def correct(self, correction: Correction) -> bool:
        """See `Engine.correct`.

        Raises:
            StoreError: the snapshot is too large.
        """
        check_size(f"the snapshot of {correction.aggregate!r}", correction.snapshot)
        keys = self._keys
        return await self._client.run(lambda transaction: correct(transaction, keys, correction))

    async def remove(self, removals: Sequence[Removal]) -> list[bool]:
        """See `Engine.remove`. Many of them take several transactions."""
        outcomes: list[bool] = []
        for start in range(0, len(removals), REMOVALS):
            some = removals[start : start + REMOVALS]
            outcomes += await self._client.run(Removing(self._client, self._keys, some).attempt)
        return outcomes

    async def load(self, aggregates: Sequence[str]) -> list[Loaded | None]:
        """See `Engine.load`."""
        loaded: list[Loaded | None] = []
        for start in range(0, len(aggregates), _SLICE):
            names = aggregates[start : start + _SLICE]
            found = await self._client.run(Loading(self._client, self._keys, names).read)
            for name, one in zip(names, found, strict=True):
                loaded.append(one and await self._completed(name, one))
        return loaded

    async def _completed(self, name: str, loaded: Loaded) -> Loaded:
        """Read the rest of a tail that is longer than its first page. Steps never change, so steps
        up to a head may be read after it."""
        tail = list(loaded.tail)
        while loaded.snapshot_seq + len(tail) < loaded.head:
            after = loaded.snapshot_seq + len(tail)
            more = await self.read(name, after, min(_SLICE, loaded.head - after))
            if not more:
                break
            tail += more
        for seq, record in enumerate(tail, loaded.snapshot_seq + 1):
            if record.seq != seq:
                raise AggregateDamaged(name, f"step {seq} of {name!r} is missing")
        if loaded.snapshot_seq + len(tail) != loaded.head:
            raise AggregateDamaged(name, f"the last step of {name!r}, {loaded.head}, is missing")
        return loaded._replace(tail=tuple(tail))

    async def read(self, aggregate: str, after: int = 0, limit: int = 1000) -> list[Record]:
        """See `Engine.read`."""
        stem = self._keys.steps(aggregate)
        begin = stem + pack_int(max(after, 0) + 1)
        rows = await self._client.scan(begin, end_below(stem), limit)
        bodies = await self._bodies([(row.key, row.value) for row in rows])
        return [
            Record(unpack_int(row.key, len(stem)), body)
            for row, body in zip(rows, bodies, strict=True)
        ]

    async def _bodies(self, rows: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
        """Return the bodies of steps, given their first values."""
        bodies: list[bytes] = []

        async def read_on(transaction: Transaction) -> None:
            reader = transaction.snapshot
            for key, value in rows[len(bodies) :]:
                bodies.append(await get_blob(self._client, reader, self._keys, key, value))

        await self._client.run(read_on)
        return bodies

    async def data_key(self, aggregate: str) -> bytes | None:
        """See `Engine.data_key`."""
        (value,) = await self._client.values([self._keys.head(aggregate)])
        return None if value is None else value[SEQ_OCTETS:]

    async def processed(self, aggregate: str, trigger: str) -> int | None:
        """See `Engine.processed`."""
        (value,) = await self._client.values([self._keys.trigger(aggregate, trigger)])
        return None if value is None else int.from_bytes(value[:SEQ_OCTETS])

    async def owners(self, entries: Sequence[IndexKey]) -> list[str | None]:
        """See `Engine.owners`."""
        values = await self._client.values(self._keys.entry(*entry) for entry in entries)
        return [None if value is None else value.decode() for value in values]

    async def scan(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        """See `Engine.scan`."""
        rows = await self._named(self._keys.entries(kind), prefix, after, limit)
        return [(name, value.decode()) for name, value in rows]

    async def quarantined(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[Quarantined]:
        """See `Engine.quarantined`."""
        rows = await self._named(self._keys.quarantines(kind), prefix, after, limit)
        return [
            Quarantined(IndexKey(kind, name), int.from_bytes(value[:SEQ_OCTETS]))
            for name, value in rows
        ]

    async def aggregates(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """See `Engine.aggregates`."""
        rows = await self._named(self._keys.heads, prefix, after, limit)
        return [(name, int.from_bytes(value[:SEQ_OCTETS])) for name, value in rows]

    async def _named(
        self, stem: bytes, prefix: str, after: str, limit: int
    ) -> list[tuple[str, bytes]]:
        begin, end = names_from(stem, prefix, after)
        rows = await self._client.scan(begin, end, limit)
        return [(unpack_str(row.key, len(stem))[0], row.value) for row in rows]

    async def feed(self, after: bytes = b"", limit: int = 1000) -> list[FeedEntry]:
        """See `Engine.feed`. A cursor is the versionstamp of a step."""
        if len(after) not in {0, STAMP_OCTETS}:
            raise StoreError(f"{after.hex()} is not a cursor of the store {self._prefix!r}")
        keys = self._keys
        rows = await self._client.scan(keys.feed_after(after), end_below(keys.feeds), limit)
        entries: list[FeedEntry] = []
        for start in range(0, len(rows), _SLICE):
            entries += await self._entries(rows[start : start + _SLICE])
        return entries

    async def feed_end(self) -> bytes:
        """See `Engine.feed_end`."""
        row = await self._client.last(self._keys.feeds, end_below(self._keys.feeds))
        return b"" if row is None else row.key[-STAMP_OCTETS:]

    async def _entries(self, rows: Sequence[KeyValue]) -> list[FeedEntry]:
        told = [(r.value[SEQ_OCTETS:].decode(), int.from_bytes(r.value[:SEQ_OCTETS])) for r in rows]
        steps = [self._keys.step(*one) for one in told]
        found: list[tuple[KeyValue, tuple[str, int]]] = []
        firsts: list[tuple[bytes, bytes]] = []
        values = await self._client.values(steps)
        for key, value, row, one in zip(steps, values, rows, told, strict=True):
            if value is not None:
                firsts.append((key, value))
                found.append((row, one))
            elif (await self._client.values([row.key]))[0] is not None:
                raise StoreDamaged("the feed refers to a step that does not exist")
            # Else its aggregate was removed after the row was read.
        bodies = await self._bodies(firsts)
        return [
            FeedEntry(row.key[-STAMP_OCTETS:], aggregate, seq, body)
            for (row, (aggregate, seq)), body in zip(found, bodies, strict=True)
        ]

    async def put_document(self, name: str, body: bytes) -> int:
        """See `Engine.put_document`.

        Raises:
            StoreError: the body is too large.
        """
        check_size(f"the document {name!r}", body)
        return await self._client.run(Putting(self._client, self._keys, name, body).attempt)

    async def get_document(self, name: str, version: int = 0) -> Document | None:
        """See `Engine.get_document`."""
        return await self._client.run(
            lambda transaction: read_document(
                self._client, transaction.snapshot, self._keys, name, version
            )
        )

    async def documents(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """See `Engine.documents`."""
        rows = await self._named(self._keys.docs, prefix, after, limit)
        return [(name, int.from_bytes(value)) for name, value in rows]

    async def close(self) -> None:
        """See `Engine.close`. The database object is shared by all users of its cluster file."""
