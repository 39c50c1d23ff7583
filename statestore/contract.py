"""The contract of event-log engines. Every engine implements it, and one test suite checks it.

An engine stores opaque, sealed octets. It knows aggregates by name (``"ue/imsi-..."``) and does not
interpret steps. Sequence numbers of an aggregate start at 1 and have no gaps.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

QUARANTINE: Final = 120_000
"""Milliseconds for which an entry that was given up with `Append.give_up` is in quarantine
(docs/decisions/0009)."""


class IndexKey(NamedTuple):
    """An entry of a secondary index. It has one owner at a time."""

    kind: str
    key: str


class Quarantined(NamedTuple):
    """An entry without an owner, and when its last owner gave it up."""

    entry: IndexKey
    since: int
    """The time of the step, in milliseconds since the Unix epoch."""


class Append(Struct, frozen=True):
    """One step to append, with all changes that commit in the same transaction."""

    aggregate: str
    seq: int
    """The sequence number of this step: one more than the aggregate's head."""
    trigger: str
    """The id of the event that caused this step. An aggregate processes each id only once."""
    body: bytes
    data_key: bytes = b""
    """The wrapped data key of the aggregate. A step whose aggregate has another one is a conflict:
    the aggregate was removed, and has begun again. Without a key, this is not checked."""
    put: tuple[IndexKey, ...] = ()
    drop: tuple[IndexKey, ...] = ()
    """Entries to remove. An entry that another aggregate owns is left alone."""
    take_from: str = ""
    """`put` may take over index entries of this aggregate."""
    snapshot: bytes = b""
    """The sealed state after this step. A reader loads it instead of all steps up to this one."""
    at: int = 0
    """The time of the step in milliseconds since the Unix epoch."""
    give_up: tuple[IndexKey, ...] = ()
    """Entries to remove like those of `drop`, and to put into quarantine. Until `QUARANTINE` is
    over, only the aggregate that had an entry may put it. An expired quarantine ends when the entry
    is put, or when later steps give up entries."""
    end_quarantines: tuple["Quarantined", ...] = ()
    """Quarantines that do not hinder `put`: no other key was left. Each counts as long as it began
    at the given time."""


class Correction(Struct, frozen=True):
    """A correction of the data of an aggregate that its steps determine: its index entries and its
    snapshot."""

    aggregate: str
    head: int
    """The last step that the correction takes into account."""
    put: tuple[IndexKey, ...] = ()
    drop: tuple[IndexKey, ...] = ()
    """Entries to remove. An entry that another aggregate owns is left alone."""
    snapshot: bytes = b""
    """The sealed state after step `head`."""


class Removal(Struct, frozen=True):
    """The removal of an aggregate with all its data."""

    aggregate: str
    head: int
    """The last step that the removal takes into account."""
    data_key: bytes
    """The wrapped data key of the aggregate as it was read."""
    drop: tuple[IndexKey, ...] = ()
    """Its index entries. An entry that another aggregate owns is left alone."""


class Appended(Struct, frozen=True):
    """The step is durable."""


class Conflict(Struct, frozen=True):
    """The head differs from the one the writer expected. The writer must reload and decide
    again."""

    head: int


class Duplicate(Struct, frozen=True):
    """The aggregate has already processed this trigger, in step `seq`."""

    seq: int


class IndexConflict(Struct, frozen=True):
    """Another aggregate owns an entry of `put`, or gave it up and it is in quarantine. The writer
    must decide again with other randomness."""

    entry: IndexKey
    owner: str


Outcome: TypeAlias = Appended | Conflict | Duplicate | IndexConflict


class Record(NamedTuple):
    """One stored step."""

    seq: int
    body: bytes


class Loaded(NamedTuple):
    """An aggregate as stored: the last snapshot, if any, and the steps after it."""

    head: int
    data_key: bytes
    snapshot_seq: int
    """0 if there is no snapshot. `head` if the snapshot is damaged: then `snapshot` is empty."""
    snapshot: bytes
    tail: tuple[Record, ...]


class FeedEntry(NamedTuple):
    """One step in the order of all steps. Reading resumes after `cursor`."""

    cursor: bytes
    aggregate: str
    seq: int
    body: bytes


class Document(NamedTuple):
    """One version of a document; versions start at 1."""

    version: int
    body: bytes


class StoreError(Exception):
    """The store cannot do the requested operation. The message names the reason in one sentence."""


class StoreUnavailable(StoreError):
    """The store is unreachable or too busy. The same call may succeed later."""


class StoreDamaged(StoreError):
    """The stored data breaks the contract."""


class AggregateDamaged(StoreDamaged):
    """Steps of one aggregate are missing or were changed. Other aggregates are not affected."""

    def __init__(self, aggregate: str, problem: str) -> None:
        """`problem` is a sentence that names the aggregate and the steps."""
        super().__init__(problem)
        self.aggregate = aggregate


class AggregateRemoved(StoreDamaged):
    """An aggregate has no steps: it was removed, or never had any."""


class Engine(Protocol):
    """An event-log engine. Every method may raise `StoreUnavailable`."""

    async def append(self, batch: Sequence[Append]) -> list[Outcome]:
        """Append steps durably and in order, and return one outcome for each.

        A failed step leaves no trace. It does not stop the other steps, except later steps of the
        same aggregate. A duplicate trigger is reported before a conflict, and a conflict before
        an index conflict. If the result of a transaction is unknown, the engine resolves it before
        this method returns.
        """
        ...

    async def correct(self, correction: Correction) -> bool:
        """Correct index entries and the snapshot of an aggregate, without a step.

        Return False, with nothing written, if the aggregate has another head, or if another
        aggregate owns an entry of `put`.
        """
        ...

    async def remove(self, removals: Sequence[Removal]) -> list[bool]:
        """Remove aggregates: their steps, triggers, snapshots, data keys and index entries. Return
        for each whether the store does not have it any more.

        Nothing is removed of an aggregate with another head or data key. Neither is the aggregate
        with the last step of the feed, or the newest aggregate: what comes next must not get their
        places. A removed aggregate may begin again, with step 1 and another data key.
        """
        ...

    async def load(self, aggregates: Sequence[str]) -> list[Loaded | None]:
        """Return the snapshot and the steps of each aggregate; None for an aggregate without
        steps.

        Raises:
            AggregateDamaged: steps of one of them are missing.
        """
        ...

    async def read(self, aggregate: str, after: int = 0, limit: int = 1000) -> list[Record]:
        """Return up to `limit` steps of an aggregate with sequence numbers above `after`, in
        order."""
        ...

    async def data_key(self, aggregate: str) -> bytes | None:
        """Return the wrapped data key of an aggregate."""
        ...

    async def processed(self, aggregate: str, trigger: str) -> int | None:
        """Return the number of the step that a trigger caused; None if it caused no step."""
        ...

    async def owners(self, entries: Sequence[IndexKey]) -> list[str | None]:
        """Return the aggregate that owns each index entry."""
        ...

    async def scan(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        """Return up to `limit` keys of an index above `after` that start with `prefix`, with their
        owners, in order."""
        ...

    async def quarantined(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[Quarantined]:
        """Return up to `limit` entries of an index that are in quarantine, with keys above `after`
        that start with `prefix`, in the order of their keys. Some quarantines may be over."""
        ...

    async def aggregates(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return up to `limit` aggregates above `after` with names that start with `prefix`, with
        their heads, in the order of their names."""
        ...

    async def feed(self, after: bytes = b"", limit: int = 1000) -> list[FeedEntry]:
        """Return up to `limit` steps of all aggregates after a cursor. All readers share one order,
        and no later append changes it. Steps of one aggregate are in sequence. The steps of a
        removed aggregate are left out."""
        ...

    async def feed_end(self) -> bytes:
        """Return the cursor after the last step; empty if the store has no steps. It never goes
        back."""
        ...

    async def put_document(self, name: str, body: bytes) -> int:
        """Add a version to a document and return its number. A body equal to the last version adds
        no version."""
        ...

    async def get_document(self, name: str, version: int = 0) -> Document | None:
        """Return a version of a document; the last one for 0."""
        ...

    async def documents(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return up to `limit` document names above `after` that start with `prefix`, with their
        last versions, in order."""
        ...

    async def close(self) -> None:
        """Release the engine's resources. No data is lost."""
        ...
