"""Read snapshots and steps of many aggregates in two round trips."""

from collections.abc import Sequence

from statestore.contract import AggregateDamaged, Loaded, Record, StoreDamaged
from statestore.foundationdb.api import Reader, Transaction
from statestore.foundationdb.blob import get_blob
from statestore.foundationdb.client import Client, ready
from statestore.foundationdb.keys import SEQ_OCTETS, Keys, end_below, pack_int, unpack_int


class Loading:
    """Reads the heads, the snapshots, and the first page of each tail."""

    def __init__(self, client: Client, keys: Keys, names: Sequence[str]) -> None:
        self._client = client
        self._keys = keys
        self._names = names

    async def read(self, transaction: Transaction) -> list[Loaded | None]:
        """Return the aggregates in the order of their names, all at one moment. Tails may be
        incomplete."""
        reader = transaction.snapshot
        found = await self._heads(reader)
        known = {name: one for name, one in found.items() if one is not None}
        pages = {
            name: self._client.start_page(
                reader,
                self._keys.steps(name) + pack_int(one.snapshot_seq + 1),
                end_below(self._keys.steps(name)),
                one.head - one.snapshot_seq,
            )
            for name, one in known.items()
            if one.head > one.snapshot_seq
        }
        await ready(*pages.values())
        for name, future in pages.items():
            at = len(self._keys.steps(name))
            tail: list[Record] = []
            for row in future.wait()[0]:
                seq = unpack_int(row.key, at)
                try:
                    body = await get_blob(self._client, reader, self._keys, row.key, row.value)
                except StoreDamaged as err:
                    raise AggregateDamaged(name, f"step {seq} of {name!r}: {err}") from None
                tail.append(Record(seq, body))
            found[name] = known[name]._replace(tail=tuple(tail))
        return [found[name] for name in self._names]

    async def _heads(self, reader: Reader) -> dict[str, Loaded | None]:
        keys = self._keys
        names = list(dict.fromkeys(self._names))
        heads = [reader.get(keys.head(name)) for name in names]
        snapshots = [reader.get(keys.snapshot(name)) for name in names]
        await ready(*heads, *snapshots)
        found: dict[str, Loaded | None] = {}
        for name, head_future, snapshot_future in zip(names, heads, snapshots, strict=True):
            head, snapshot = head_future.value, snapshot_future.value
            if head is None:
                found[name] = None
                continue
            number = int.from_bytes(head[:SEQ_OCTETS])
            seq, body = await self._snapshot(reader, name, snapshot, number)
            found[name] = Loaded(number, head[SEQ_OCTETS:], seq, body, ())
        return found

    async def _snapshot(
        self, reader: Reader, name: str, value: bytes | None, head: int
    ) -> tuple[int, bytes]:
        """Return a snapshot with its step; if it is damaged, nothing with the head."""
        if value is None:
            return 0, b""
        seq = int.from_bytes(value[:SEQ_OCTETS])
        if not 0 < seq <= head or len(value) <= SEQ_OCTETS:
            return head, b""
        key = self._keys.snapshot(name)
        try:
            body = await get_blob(self._client, reader, self._keys, key, value, SEQ_OCTETS)
        except StoreDamaged:
            return head, b""
        return seq, body
