"""Read snapshots and steps of many aggregates in two round trips."""

from collections.abc import Sequence

from statestore.contract import Loaded, Record
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
            tail = [
                Record(
                    unpack_int(row.key, at),
                    await get_blob(self._client, reader, self._keys, row.key, row.value),
                )
                for row in future.wait()[0]
            ]
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
            seq, body = 0, b""
            if snapshot is not None:
                seq = int.from_bytes(snapshot[:SEQ_OCTETS])
                key = keys.snapshot(name)
                body = await get_blob(self._client, reader, keys, key, snapshot, SEQ_OCTETS)
            number = int.from_bytes(head[:SEQ_OCTETS])
            found[name] = Loaded(number, head[SEQ_OCTETS:], seq, body, ())
        return found
