"""What an event-log engine does: the contract that every engine keeps and one suite tests.

An engine stores opaque, sealed octets. It knows aggregates by name (``"ue/imsi-..."``) and
nothing of what a step means. Sequence numbers of an aggregate start at 1 and have no gaps.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct


class IndexKey(NamedTuple):
    """An entry of a secondary index: one owner at a time."""

    kind: str
    key: str


class Append(Struct, frozen=True):
    """One step to append, with all that must become true in the same transaction."""

    aggregate: str
    seq: int
    """The sequence number of this step: one more than the aggregate's head."""
    trigger: str
    """The id of the event that caused it; an aggregate takes each id once, for ever."""
    body: bytes
    data_key: bytes = b""
    """The wrapped data key of the aggregate, given with its first step."""
    put: tuple[IndexKey, ...] = ()
    drop: tuple[IndexKey, ...] = ()
    """Entries to remove; one that another aggregate owns is left alone."""
    take_from: str = ""
    """An aggregate whose index entries `put` may take over."""
    snapshot: bytes = b""
    """The sealed state after this step, to read in place of all steps up to it."""


class Appended(Struct, frozen=True):
    """The step is durable."""


class Conflict(Struct, frozen=True):
    """The head is not what the writer thought: reload and decide again."""

    head: int


class Duplicate(Struct, frozen=True):
    """The trigger was taken before, by this step."""

    seq: int


class IndexTaken(Struct, frozen=True):
    """Another aggregate owns an entry of `put`: decide again with other randomness."""

    entry: IndexKey
    owner: str


Outcome: TypeAlias = Appended | Conflict | Duplicate | IndexTaken


class Record(NamedTuple):
    """One stored step."""

    seq: int
    body: bytes


class Loaded(NamedTuple):
    """An aggregate as it is read to be folded: a snapshot, if there is one, and the steps after."""

    head: int
    data_key: bytes
    snapshot_seq: int
    """0 for no snapshot."""
    snapshot: bytes
    tail: tuple[Record, ...]


class FeedEntry(NamedTuple):
    """One step in the order of all steps; `cursor` resumes after it."""

    cursor: bytes
    aggregate: str
    seq: int
    body: bytes


class Document(NamedTuple):
    """One version of a document; versions start at 1."""

    version: int
    body: bytes


class StoreError(Exception):
    """The store cannot do what it was asked. It says what and why in one sentence."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or is too busy: the same call may succeed later."""


class StoreDamaged(StoreError):
    """What is stored is not what the contract allows."""


class Engine(Protocol):
    """An event-log engine. Every method may raise `StoreUnavailable`."""

    async def append(self, batch: Sequence[Append]) -> list[Outcome]:
        """Append steps, in order, durably, one outcome each.

        A step that fails leaves no trace and does not stop the others, except those after it
        on the same aggregate. A duplicate trigger is found before a conflict, a conflict before
        a taken index entry. A transaction whose fate is unknown is resolved before this returns.
        """
        ...

    async def load(self, aggregates: Sequence[str]) -> list[Loaded | None]:
        """What is needed to fold each aggregate; None for one that has no steps."""
        ...

    async def read(self, aggregate: str, after: int = 0, limit: int = 1000) -> list[Record]:
        """Up to `limit` steps of an aggregate with sequence numbers above `after`, in order."""
        ...

    async def data_key(self, aggregate: str) -> bytes | None:
        """The wrapped data key of an aggregate."""
        ...

    async def taken(self, aggregate: str, trigger: str) -> int | None:
        """The step that a trigger caused, None for a trigger that was never taken."""
        ...

    async def owners(self, entries: Sequence[IndexKey]) -> list[str | None]:
        """The aggregate that owns each index entry."""
        ...

    async def scan(
        self, kind: str, prefix: str, after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        """Up to `limit` keys of an index above `after` that start with `prefix`, with their
        owners, in order."""
        ...

    async def aggregates(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Up to `limit` aggregates above `after` whose names start with `prefix`, with their
        heads, in the order of their names."""
        ...

    async def feed(self, after: bytes = b"", limit: int = 1000) -> list[FeedEntry]:
        """Up to `limit` steps of all aggregates after a cursor, in an order that all readers
        share and that no later append changes. Steps of one aggregate are in its order."""
        ...

    async def feed_end(self) -> bytes:
        """The cursor behind the last step that there is; empty where there is none."""
        ...

    async def put_document(self, name: str, body: bytes) -> int:
        """Add a version to a document; its number. The same body as the last adds none."""
        ...

    async def get_document(self, name: str, version: int = 0) -> Document | None:
        """A version of a document, the last one for 0."""
        ...

    async def documents(
        self, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Up to `limit` document names above `after` that start with `prefix`, with their last
        versions, in order."""
        ...

    async def close(self) -> None:
        """Release what the engine holds. Nothing is lost."""
        ...
