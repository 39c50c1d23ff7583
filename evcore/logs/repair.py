"""Repair a store: write again what the steps determine, and name the damage of the steps.

The steps are the truth. Snapshots and index entries follow from them, so they can be written again;
a step, a data key or a document cannot. The core may run meanwhile: a correction is written only if
its aggregate has no later step.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from evcore.logs.access import Access
from schemas.aggregates import KINDS, Entries
from schemas.step import encode
from schemas.ue.state import Ue
from statestore import damage
from statestore.contract import (
    AggregateDamaged,
    AggregateRemoved,
    Correction,
    IndexKey,
    Loaded,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from statestore.log import Aggregate, index_keys, sealed_snapshot, snapshot_state
from statestore.vault import WrongKeyError

INDEXES: Final = (
    "address",
    "gnb",
    "ngap",
    "seid",
    "stranger",
    "tai",
    "teid",
    "tmsi",
    "upf",
    "wake",
)
ATTEMPTS: Final = 5
"""Attempts at an aggregate that gets steps meanwhile."""
PAGE: Final = 500
KEPT: Final = 1000
"""Maximum number of owners with their entries in memory."""


class Repair(Struct):
    """The result of a repair."""

    aggregates: int = 0
    steps: int = 0
    mended: list[str] = field(default_factory=list[str])
    """A line for each snapshot and index entry that was written again or removed."""
    damaged: list[str] = field(default_factory=list[str])
    """A line for each step, data key or document that cannot be read."""


class _Read(NamedTuple):
    """An aggregate with the state of its last step."""

    aggregate: Aggregate
    stored: Loaded
    is_fold: bool
    """Whether the state is the fold of all steps. Else it is read by the snapshot."""
    at_snapshot: Any
    """The state after the step of the stored snapshot."""


class _Owner(NamedTuple):
    """An aggregate as an owner of index entries."""

    head: int
    entries: Entries
    """The entries that it may have."""
    required: Entries
    """Those that it must have."""


async def repair(access: Access, names: Iterable[str]) -> Repair:
    """Repair aggregates, then remove the index entries that no aggregate has, and check documents.

    Raises:
        WrongKeyError: the master key opens no data key of the store.
        StoreUnavailable: the store cannot be reached. What was repaired stays so.
        StoreError: the store cannot be written.
    """
    repairing = _Repairing(access)
    for name in names:
        await repairing.aggregate(name)
    await repairing.keys()
    for index in INDEXES:
        await repairing.index(index)
    await repairing.documents()
    return repairing.result


class _Repairing:
    def __init__(self, access: Access) -> None:
        self._log = access.log
        self._engine = access.log.engine
        self._subscribers = access.subscribers
        self.result = Repair()
        self._opened = False
        """Whether the master key has opened a data key."""
        self._closed: list[WrongKeyError] = []
        """The errors of the data keys that it could not open."""
        self._without_key: list[str] = []
        """The aggregates of these data keys."""
        self._owners: OrderedDict[str, _Owner | None] = OrderedDict()
        """The last aggregates that were read as owners; None for one that cannot be read."""

    async def keys(self) -> None:
        """Name the damaged data keys.

        Raises:
            WrongKeyError: the master key has opened none.
        """
        if self._closed and not self._opened:
            raise self._closed[0]
        for name in self._without_key:
            problem = f"the data key of {name} is damaged"
            await self._is_damaged(AggregateDamaged(name, problem), name)

    # Aggregates

    async def aggregate(self, name: str) -> None:
        """Repair one aggregate, or name its damage."""
        self.result.aggregates += 1
        if name.partition("/")[0] not in KINDS:
            self.result.damaged.append(f"{name} is the name of no aggregate")
            return
        for _ in range(ATTEMPTS):
            self._owners.pop(name, None)
            read = await self._read(name)
            if read is None:
                return
            if await self._corrected(read):
                await damage.withdraw(self._engine, name)
                self.result.steps += read.aggregate.seq
                return
        # It has got steps five times meanwhile, so it is read and written as it must be.

    async def _read(self, name: str) -> _Read | None:
        """Read an aggregate from its first step; None if it has no state that can be read."""
        try:
            (stored,) = await self._engine.load([name])
            if stored is None:
                return None
            aggregate = await self._log.at(name, 0)
        except StoreUnavailable:
            raise
        except AggregateRemoved:
            return None
        except WrongKeyError as err:
            self._closed.append(err)
            self._without_key.append(name)
            return None
        except AggregateDamaged as err:
            await self._is_damaged(err, name)
            return None
        self._opened = True
        return await self._folded(aggregate, stored)

    async def _folded(self, aggregate: Aggregate, stored: Loaded) -> _Read | None:
        name, at_snapshot, seq, whole = aggregate.name, aggregate.state, 0, True
        while True:
            try:
                records = await self._engine.read(name, seq, PAGE)
            except StoreDamaged as err:
                problem = f"steps of {name} after step {seq} cannot be read: {err}"
                await self._is_damaged(AggregateDamaged(name, problem), name)
                whole = False
                break
            if not records:
                break
            for record in records:
                if record.seq != seq + 1:
                    problem = f"{record.seq - seq - 1} steps of {name} after step {seq} are missing"
                    await self._is_damaged(AggregateDamaged(name, problem), name)
                    whole = False
                seq = record.seq
                try:
                    step = self._log.opened(aggregate, seq, record.body)
                except StoreDamaged as err:
                    await self._is_damaged(err, name)
                    whole = False
                    continue
                if whole:
                    aggregate.apply(step)
                if seq == stored.snapshot_seq:
                    at_snapshot = aggregate.state
        if whole:
            return _Read(aggregate, stored, True, at_snapshot)
        loaded = await self._loaded(name)
        return None if loaded is None else _Read(loaded, stored, False, None)

    async def _is_damaged(self, err: StoreDamaged, name: str) -> None:
        self.result.damaged.append(str(err))
        # With a snapshot after the damaged step, its events can be decided.
        if isinstance(err, AggregateDamaged) and await self._loaded(name) is None:
            await damage.record(self._engine, err)

    async def _loaded(self, name: str) -> Aggregate | None:
        """Load an aggregate as a worker does; None if that is not possible."""
        try:
            (aggregate,) = await self._log.load([name])
        except StoreUnavailable:
            raise
        except StoreError:
            return None
        return aggregate

    async def _corrected(self, read: _Read) -> bool:
        """Write the derived data of an aggregate again where it differs.

        Return False if the aggregate has another step meanwhile.
        """
        aggregate = read.aggregate
        name, head = aggregate.name, aggregate.seq
        lines: list[str] = []
        snapshot = b""
        if _snapshot_differs(read):
            snapshot = sealed_snapshot(aggregate)
            lines.append(f"{name}: its snapshot is written again, after step {head}")
        missing, taken = await self._missing(aggregate)
        for entry, owner in taken:
            if not await self._taken_back(entry, owner):
                self.result.damaged.append(
                    f"the entry {entry.key} of the index {entry.kind} belongs to {owner} and {name}"
                )
                continue
            missing.append(entry)
        lines += [f"{name}: its entry {e.key} of the index {e.kind} is added" for e in missing]
        if not lines:
            return True
        correction = Correction(name, head, put=tuple(missing), snapshot=snapshot)
        if not await self._engine.correct(correction):
            return False
        self.result.mended += lines
        return True

    async def _missing(
        self, aggregate: Aggregate
    ) -> tuple[list[IndexKey], list[tuple[IndexKey, str]]]:
        """Return the entries that an aggregate must have and that no aggregate has, and those that
        another aggregate has."""
        required, wanted = _required(aggregate)
        keys = index_keys(wanted)
        pairs = list(zip(keys, await self._engine.owners(keys), strict=True))
        missing = [entry for entry, owner in pairs if owner is None]
        taken = [
            (entry, owner)
            for entry, owner in pairs
            if owner and owner != aggregate.name and tuple(entry) in required
        ]
        return missing, taken

    async def _taken_back(self, entry: IndexKey, owner: str) -> bool:
        """Take an entry from an aggregate that must not have it. Return False if it must."""
        found = await self._owner(owner)
        if found is None or tuple(entry) in found.required:
            return False
        return await self._engine.correct(Correction(owner, found.head, drop=(entry,)))

    # Indexes

    async def index(self, kind: str) -> None:
        """Remove the entries of an index that their owners do not have."""
        after = ""
        while page := await self._engine.scan(kind, "", after, PAGE):
            after = page[-1][0]
            for key, owner in page:
                await self._check_entry(IndexKey(kind, key), owner)

    async def _check_entry(self, entry: IndexKey, owner: str) -> None:
        for _ in range(ATTEMPTS):
            found = await self._owner(owner)
            if found is None or tuple(entry) in found.entries:
                return
            if await self._engine.owners([entry]) != [owner]:
                return  # the core has changed it meanwhile
            if await self._engine.correct(Correction(owner, found.head, drop=(entry,))):
                self.result.mended.append(
                    f"{owner}: the entry {entry.key} of the index {entry.kind} is removed"
                )
                return
            del self._owners[owner]

    async def _owner(self, name: str) -> _Owner | None:
        """Return an owner of entries; None if it cannot be read."""
        if name not in self._owners:
            aggregate = await self._loaded(name) if name.partition("/")[0] in KINDS else None
            self._owners[name] = aggregate and _Owner(
                aggregate.seq,
                aggregate.kind.indexes(aggregate.state),
                _required(aggregate)[0],
            )
            if len(self._owners) > KEPT:
                self._owners.popitem(last=False)
        return self._owners[name]

    # Documents

    async def documents(self) -> None:
        """Name the configurations, codes and subscriptions that cannot be read."""
        after = ""
        while page := await self._engine.documents("", after, PAGE):
            after = page[-1][0]
            for name, last in page:
                for version in range(1, last + 1):
                    await self._check_document(name, version)

    async def _check_document(self, name: str, version: int) -> None:
        kind, _, rest = name.partition("/")
        try:
            if kind == "subscriber":
                await self._subscribers.get(rest, version)
            elif kind == "network":
                await self._log.network(rest)
            elif kind == "code":
                await self._log.code(rest)
        except StoreUnavailable:
            raise
        except StoreError as err:
            self.result.damaged.append(f"the document {name}, version {version}: {err}")
        except Exception as err:  # damage may raise anything in a reader of documents
            self.result.damaged.append(
                f"the document {name}, version {version}: {type(err).__name__}: {err}"
            )


def _snapshot_differs(read: _Read) -> bool:
    """Whether the stored snapshot is damaged, or is not the fold of the steps."""
    if not read.is_fold:
        return False
    try:
        state = snapshot_state(read.aggregate, read.stored)
    except StoreDamaged:
        return True
    return state is not None and encode(state) != encode(read.at_snapshot)


def _required(aggregate: Aggregate) -> tuple[Entries, Entries]:
    """Return the entries that an aggregate must have, and those that it must have if no other
    aggregate has them.

    The entries of a connection that another aggregate takes over belong to either of them. So does
    the entry of a released connection.
    """
    state = aggregate.state
    if isinstance(state, Ue):
        state = replace(
            state,
            connection=None if state.successor else state.connection,
            parked=tuple(found for found in state.parked if not found.successor),
        )
        wanted = aggregate.kind.indexes(state)
        return aggregate.kind.indexes(replace(state, released=())), wanted
    wanted = aggregate.kind.indexes(state)
    return wanted, wanted
