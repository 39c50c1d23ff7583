"""Append steps in FoundationDB transactions."""

import os
from collections.abc import Iterator, Sequence

from statestore.contract import (
    QUARANTINE,
    Append,
    Appended,
    Conflict,
    Correction,
    Duplicate,
    IndexConflict,
    IndexKey,
    Outcome,
    Quarantined,
)
from statestore.foundationdb.api import KeyValue, Transaction
from statestore.foundationdb.blob import check_size, put_blob
from statestore.foundationdb.client import Client, done, ready
from statestore.foundationdb.keys import SEQ_OCTETS, TOKEN_OCTETS, Keys, end_below

# FoundationDB accepts 10 MB and recommends less than 1 MB. A versionstamp numbers 65,536 keys.
_TRANSACTION_OCTETS = 900_000
_TRANSACTION_STEPS = 500
_APPENDED = Appended()


def transactions(batch: Sequence[Append]) -> Iterator[Sequence[Append]]:
    """Split a batch into pieces that each fit in a transaction. A step above the limit is sent
    alone.

    Raises:
        StoreError: a step is too large for any transaction.
    """
    start = octets = 0
    for end, step in enumerate(batch):
        cost = _cost(step)
        if end > start and (
            octets + cost > _TRANSACTION_OCTETS or end - start >= _TRANSACTION_STEPS
        ):
            yield batch[start:end]
            start, octets = end, 0
        octets += cost
    if start < len(batch):
        yield batch[start:]


def _cost(step: Append) -> int:
    """Estimate how many octets of keys, values and conflict ranges a step adds to a transaction."""
    check_size(f"step {step.seq} of {step.aggregate!r}", step.body + step.snapshot)
    names = 10 * len(step.aggregate) + 3 * len(step.trigger)
    # An entry in quarantine has two keys; a step removes two others for each that it gives up.
    changed = (*step.put, *step.put, *step.drop, *step.give_up * 6)
    entries = sum(len(e.kind) + len(e.key) for e in changed)
    payload = len(step.body) + len(step.snapshot) + len(step.data_key)
    return 600 + payload + names + 5 * entries + 100 * len(changed)


class _Seen:
    """The values that a transaction has read, updated by the preceding steps of its batch."""

    def __init__(self) -> None:
        self.heads: dict[str, int] = {}
        self.data_keys: dict[str, bytes] = {}
        self.triggers: dict[tuple[str, str], int] = {}
        self.tokens: set[bytes] = set()
        self.owners: dict[IndexKey, str | None] = {}
        self.quarantines: dict[IndexKey, tuple[int, str]] = {}
        """The time and the last owner of each entry in quarantine."""
        self.expired: list[KeyValue] = []
        """The rows of the quarantines that are over and are removed now."""


class BatchAppender:
    """Appends one piece of a batch in one transaction, with as many attempts as needed.

    `stopped` holds the aggregates with a step that failed before. This class adds to it.
    """

    def __init__(
        self, client: Client, keys: Keys, batch: Sequence[Append], stopped: set[str]
    ) -> None:
        self._client = client
        self._keys = keys
        self._batch = batch
        self._stopped = stopped
        self._attempts: dict[bytes, tuple[list[Outcome], set[str]]] = {}
        """The result of each attempt if it commits, by the token that its triggers carry."""

    async def run(self) -> list[Outcome]:
        """Append the piece and return one outcome for each step."""
        outcomes, stopped = await self._client.run(self._attempt)
        self._stopped |= stopped
        return outcomes

    async def _attempt(self, transaction: Transaction) -> tuple[list[Outcome], set[str]]:
        seen = await self._read(transaction)
        # The commit of an earlier attempt may have succeeded even if an error was reported. Each
        # attempt writes its own token with all of its triggers, so one token found shows that all
        # of the attempt was committed. If no token is found, the writes below prevent a late
        # commit: the heads of the two attempts conflict, so only one of them can succeed.
        for token in seen.tokens & self._attempts.keys():
            return self._attempts[token]
        token = os.urandom(TOKEN_OCTETS)
        decided = self._decide(transaction, seen, token)
        if any(outcome is _APPENDED for outcome in decided[0]):
            self._attempts[token] = decided
            await done(transaction.commit())
        return decided

    async def _read(self, transaction: Transaction) -> _Seen:
        keys, get = self._keys, transaction.get
        names = dict.fromkeys(step.aggregate for step in self._batch)
        entries = dict.fromkeys(
            e for step in self._batch for e in (*step.drop, *step.give_up, *step.put)
        )
        puts = dict.fromkeys(entry for step in self._batch for entry in step.put)
        heads = {name: get(keys.head(name)) for name in names}
        # A trigger is only written together with its aggregate's head, and the head is read with a
        # conflict range.
        triggers = [
            transaction.snapshot.get(keys.trigger(s.aggregate, s.trigger)) for s in self._batch
        ]
        owners = {entry: get(keys.entry(*entry)) for entry in entries}
        quarantines = {entry: get(keys.quarantine(*entry)) for entry in puts}
        await ready(*heads.values(), *triggers, *owners.values(), *quarantines.values())
        seen = _Seen()
        seen.expired = await self._expired(transaction)
        for aggregate, future in heads.items():
            value = future.value or bytes(SEQ_OCTETS)
            seen.heads[aggregate] = int.from_bytes(value[:SEQ_OCTETS])
            seen.data_keys[aggregate] = value[SEQ_OCTETS:]
        for step, future in zip(self._batch, triggers, strict=True):
            value = future.value
            if value is not None:
                seq = int.from_bytes(value[:SEQ_OCTETS])
                seen.triggers[step.aggregate, step.trigger] = seq
                seen.tokens.add(value[SEQ_OCTETS : SEQ_OCTETS + TOKEN_OCTETS])
        for entry, future in owners.items():
            value = future.value
            seen.owners[entry] = None if value is None else value.decode()
        for entry, future in quarantines.items():
            value = future.value
            if value is not None:
                since = int.from_bytes(value[:SEQ_OCTETS])
                seen.quarantines[entry] = since, value[SEQ_OCTETS:].decode()
        return seen

    async def _expired(self, transaction: Transaction) -> list[KeyValue]:
        """Return twice as many expired quarantines as the batch adds, so that their number stays
        bounded."""
        given_up = sum(len(step.give_up) for step in self._batch)
        if not given_up:
            return []
        over = max(step.at for step in self._batch) - QUARANTINE
        begin, end = self._keys.given_up_until(over)
        rows, _ = await self._client.page(transaction.snapshot, begin, end, 2 * given_up)
        return rows

    def _decide(
        self, transaction: Transaction, seen: _Seen, token: bytes
    ) -> tuple[list[Outcome], set[str]]:
        stopped = set(self._stopped)
        outcomes: list[Outcome] = []
        changed: set[str] = set()
        for row in seen.expired:
            # Without a read: the entry may be put, and given up again, before this commits.
            entry, since = self._keys.unpack_given_up(row.key)
            began = since.to_bytes(SEQ_OCTETS)
            transaction.compare_and_clear(self._keys.quarantine(*entry), began + row.value)
            transaction.clear(row.key)
        for step in self._batch:
            failure = self._failure(seen, step, stopped)
            if failure is not None:
                stopped.add(step.aggregate)
                outcomes.append(failure)
                continue
            self._add(transaction, seen, step, token, len(outcomes))
            changed.add(step.aggregate)
            outcomes.append(_APPENDED)
        for aggregate in changed:
            head = seen.heads[aggregate].to_bytes(SEQ_OCTETS)
            transaction.set(self._keys.head(aggregate), head + seen.data_keys[aggregate])
        return outcomes, stopped

    @staticmethod
    def _failure(seen: _Seen, step: Append, stopped: set[str]) -> Outcome | None:
        """Return why a step may not be appended. The order of the checks is part of the
        contract."""
        processed = seen.triggers.get((step.aggregate, step.trigger))
        if processed is not None:
            return Duplicate(processed)
        head = seen.heads[step.aggregate]
        other = head and step.data_key not in (b"", seen.data_keys[step.aggregate])
        if step.seq != head + 1 or step.aggregate in stopped or other:
            return Conflict(head)
        for entry in step.put:
            owner = seen.owners[entry]
            if owner is not None and owner not in {step.aggregate, step.take_from}:
                return IndexConflict(entry, owner)
            since, last = seen.quarantines.get(entry, (0, step.aggregate))
            recent = last != step.aggregate and since > step.at - QUARANTINE
            if recent and Quarantined(entry, since) not in step.end_quarantines:
                return IndexConflict(entry, last)
        return None

    def _add(
        self, transaction: Transaction, seen: _Seen, step: Append, token: bytes, number: int
    ) -> None:
        keys, aggregate = self._keys, step.aggregate
        seq = step.seq.to_bytes(SEQ_OCTETS)
        seen.heads[aggregate] = step.seq
        if step.seq == 1:
            seen.data_keys[aggregate] = step.data_key
        seen.triggers[aggregate, step.trigger] = step.seq
        transaction.set_versionstamped_value(
            keys.trigger(aggregate, step.trigger), keys.new_trigger(seq, token, number)
        )
        put_blob(transaction, keys, keys.step(aggregate, step.seq), b"", step.body)
        transaction.set_versionstamped_key(keys.new_feed(number), seq + aggregate.encode())
        for entry in step.drop:
            if seen.owners[entry] == aggregate:
                seen.owners[entry] = None
                transaction.clear(keys.entry(*entry))
        for entry in step.give_up:
            if seen.owners[entry] == aggregate:
                seen.owners[entry], seen.quarantines[entry] = None, (step.at, aggregate)
                transaction.clear(keys.entry(*entry))
                owner = aggregate.encode()
                transaction.set(keys.quarantine(*entry), step.at.to_bytes(SEQ_OCTETS) + owner)
                transaction.set(keys.given_up(step.at, *entry), owner)
        for entry in step.put:
            quarantine = seen.quarantines.pop(entry, None)
            if quarantine is not None:
                transaction.clear(keys.quarantine(*entry))
                transaction.clear(keys.given_up(quarantine[0], *entry))
            seen.owners[entry] = aggregate
            transaction.set(keys.entry(*entry), aggregate.encode())
        if step.snapshot:
            _put_snapshot(transaction, keys, aggregate, seq, step.snapshot)


def _put_snapshot(
    transaction: Transaction, keys: Keys, aggregate: str, seq: bytes, body: bytes
) -> None:
    key = keys.snapshot(aggregate)
    parts = keys.parts(key)
    transaction.clear_range(parts, end_below(parts))
    put_blob(transaction, keys, key, seq, body)


async def correct(transaction: Transaction, keys: Keys, correction: Correction) -> bool:
    """See `Engine.correct`. A second attempt after an unknown result writes the same."""
    aggregate = correction.aggregate
    head = transaction.get(keys.head(aggregate))
    entries = (*correction.drop, *correction.put)
    owners = {entry: transaction.get(keys.entry(*entry)) for entry in entries}
    await ready(head, *owners.values())
    if int.from_bytes((head.value or b"")[:SEQ_OCTETS]) != correction.head or not correction.head:
        return False
    own = aggregate.encode()
    if any(owners[entry].value not in (None, own) for entry in correction.put):
        return False
    for entry in correction.drop:
        if owners[entry].value == own:
            transaction.clear(keys.entry(*entry))
    for entry in correction.put:
        transaction.set(keys.entry(*entry), own)
    if correction.snapshot:
        seq = correction.head.to_bytes(SEQ_OCTETS)
        _put_snapshot(transaction, keys, aggregate, seq, correction.snapshot)
    await done(transaction.commit())
    return True
