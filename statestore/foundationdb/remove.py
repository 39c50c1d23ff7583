"""Remove aggregates in a FoundationDB transaction."""

from collections.abc import Sequence
from typing import Final

from statestore.contract import Removal
from statestore.foundationdb.api import Transaction
from statestore.foundationdb.client import Client, done, ready
from statestore.foundationdb.keys import SEQ_OCTETS, STAMP_OCTETS, Keys, end_below

REMOVALS: Final = 20
"""Aggregates of one transaction, which must not last five seconds."""
_PAGE: Final = 1000


class Removing:
    """Removes some aggregates in one transaction, with as many attempts as needed."""

    def __init__(self, client: Client, keys: Keys, removals: Sequence[Removal]) -> None:
        self._client = client
        self._keys = keys
        self._removals = removals

    async def attempt(self, transaction: Transaction) -> list[bool]:
        """See `Engine.remove`. After an unknown result, another attempt finds them removed."""
        keys, get = self._keys, transaction.get
        heads = [get(keys.head(one.aggregate)) for one in self._removals]
        owners = {entry: get(keys.entry(*entry)) for one in self._removals for entry in one.drop}
        # Without a conflict range: what is appended meanwhile comes later in the feed.
        last = self._client.start_page(
            transaction.snapshot, keys.feeds, end_below(keys.feeds), 1, reverse=True
        )
        await ready(*heads, *owners.values(), last)
        rows, _, _ = last.wait()
        end = rows[0].key[-STAMP_OCTETS:] if rows else b""
        outcomes: list[bool] = []
        cleared = False
        for one, future in zip(self._removals, heads, strict=True):
            if future.value is None:
                outcomes.append(True)
                continue
            found = future.value == one.head.to_bytes(SEQ_OCTETS) + one.data_key
            stamps = await self._stamps(transaction, one.aggregate) if found else set[bytes]()
            outcomes.append(found and end not in stamps)
            if outcomes[-1]:
                cleared = True
                self._clear(transaction, one.aggregate, stamps)
                own = one.aggregate.encode()
                for entry in one.drop:
                    if owners[entry].value == own:
                        transaction.clear(keys.entry(*entry))
        if cleared:
            await done(transaction.commit())
        return outcomes

    async def _stamps(self, transaction: Transaction, aggregate: str) -> set[bytes]:
        """Return the stamps of the steps of an aggregate in the feed. Its triggers change only with
        its head, so they are read without conflict ranges."""
        begin = self._keys.triggers(aggregate)
        end, stamps = end_below(begin), set[bytes]()
        while True:
            page, more = await self._client.page(transaction.snapshot, begin, end, _PAGE)
            stamps.update(self._keys.stamp_of_trigger(row.value) for row in page)
            if not page or (not more and len(page) < _PAGE):
                return stamps
            begin = page[-1].key + b"\0"

    def _clear(self, transaction: Transaction, aggregate: str, stamps: set[bytes]) -> None:
        keys = self._keys
        steps, snapshot = keys.steps(aggregate), keys.snapshot(aggregate)
        for stem in (steps, keys.parts(steps), keys.parts(snapshot), keys.triggers(aggregate)):
            transaction.clear_range(stem, end_below(stem))
        transaction.clear(snapshot)
        transaction.clear(keys.head(aggregate))
        for stamp in stamps:
            transaction.clear(keys.feed(stamp))
