"""The typed event log: folds aggregates from sealed steps, and prepares steps for append.

Every step and snapshot is sealed with authentication, so no flipped bit passes for a value. A
snapshot that cannot be read is passed over: the steps have everything. The next step of the
aggregate brings another snapshot.
"""

import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from schemas import document
from schemas.aggregates import Kind, kind_of
from schemas.code import Code
from schemas.document import DocumentError
from schemas.network import Network, version_of
from schemas.step import Step, encode
from schemas.ue.index import QUARANTINED
from statestore import damage
from statestore.contract import (
    AggregateDamaged,
    AggregateRemoved,
    Append,
    Engine,
    IndexKey,
    Loaded,
    Quarantined,
    Record,
    StoreDamaged,
    StoreError,
)
from statestore.vault import AggregateSealer, Vault, WrongKeyError

log = logging.getLogger(__name__)

D = TypeVar("D", bound=msgspec.Struct)

SNAPSHOT_EVERY = 64
"""Steps between snapshots. This bounds the replay of a cold read."""

_NETWORK = "network/"
_CODE = "code/"
_PAGE = 500
_DAMAGES = 1024
"""Maximum number of damages that a process records."""


class Aggregate:
    """The folded state of one aggregate. A worker keeps it between steps."""

    __slots__ = ("data_key", "kind", "name", "sealer", "seq", "snapshot_seq", "state", "tail")

    def __init__(self, name: str, sealer: AggregateSealer, data_key: bytes) -> None:
        self.name = name
        self.kind: Kind = kind_of(name)
        self.sealer = sealer
        self.data_key = data_key
        self.seq = 0
        self.snapshot_seq = 0
        self.state: Any = self.kind.new()
        self.tail: list[Step[Any]] = []
        """The steps after the snapshot that `EventLog.load` has read."""

    def apply(self, step: Step[Any]) -> None:
        """Apply one more step to the state."""
        evolve, state = self.kind.evolve, self.state
        for event in step.events:
            state = evolve(state, event)
        self.state = state
        self.seq = step.seq


class EventLog:
    """Reads and writes steps through an engine, sealed by a vault."""

    def __init__(self, engine: Engine, vault: Vault) -> None:
        self.engine = engine
        self._vault = vault
        self._networks: dict[str, Network] = {}
        self._damages: set[str] = set()
        """The damage that this process has recorded."""

    async def load(self, names: Sequence[str]) -> list[Aggregate]:
        """Fold each aggregate from its snapshot and the steps after it.

        Raises:
            AggregateDamaged: one of them has a step that is missing or was changed. It is added to
                the store's record of damage.
            WrongKeyError: the master key is another.
            StoreDamaged: this version cannot read a step.
        """
        try:
            loaded = await self.engine.load(names)
            pairs = zip(names, loaded, strict=True)
            return [await self._fold(name, found) for name, found in pairs]
        except AggregateDamaged as err:
            await self._note(err)
            raise

    async def _note(self, err: AggregateDamaged) -> None:
        """Record damage in the store, once in this process."""
        if str(err) in self._damages or len(self._damages) >= _DAMAGES:
            return
        self._damages.add(str(err))
        log.warning("%s", err)
        with suppress(StoreError):  # a tool may have opened the store read only
            await damage.record(self.engine, err)

    async def load_whole(self, names: Sequence[str]) -> list[Aggregate]:
        """Fold the aggregates that are not damaged, in order.

        Raises:
            WrongKeyError, StoreDamaged: see `load`.
        """
        left = list(names)
        while True:
            try:
                return await self.load(left)
            except AggregateDamaged as err:
                left.remove(err.aggregate)

    async def check_snapshot(self, name: str) -> None:
        """Check that the snapshot of an aggregate can be read, if there is one.

        Raises:
            StoreDamaged: it was changed, or steps are missing.
        """
        (loaded,) = await self.engine.load([name])
        if loaded is not None:
            snapshot_state(Aggregate(name, self._vault.sealer(loaded.data_key, name), b""), loaded)

    async def at(self, name: str, seq: int) -> Aggregate:
        """Return an aggregate as it was after its step `seq`; 0 for its state before the first
        step.

        Raises:
            AggregateRemoved: the aggregate has no steps.
            StoreDamaged: the aggregate has fewer steps.
        """
        (loaded,) = await self.engine.load([name]) if seq else (None,)
        key = await self.engine.data_key(name) if loaded is None else loaded.data_key
        if key is None:
            raise AggregateRemoved(f"{name} has no steps")
        aggregate = Aggregate(name, self._vault.sealer(key, name), key)
        if loaded is not None and loaded.snapshot_seq <= seq:
            self._resume(aggregate, loaded)
        await self._advance(aggregate, seq)
        if aggregate.seq != seq:
            raise StoreDamaged(f"{name} has {aggregate.seq} steps, and {seq} were expected")
        return aggregate

    async def _fold(self, name: str, loaded: Loaded | None) -> Aggregate:
        key = self._vault.new_data_key() if loaded is None else loaded.data_key
        aggregate = Aggregate(name, self._vault.sealer(key, name), key)
        if loaded is None:
            return aggregate
        if not self._resume(aggregate, loaded):
            await self._advance(aggregate, loaded.snapshot_seq)
        aggregate.tail = [self.opened(aggregate, seq, body) for seq, body in loaded.tail]
        for step in aggregate.tail:
            aggregate.apply(step)
        if aggregate.seq != loaded.head:
            problem = f"{name}: {aggregate.seq} steps read, the head is {loaded.head}"
            raise AggregateDamaged(name, problem)
        return aggregate

    async def _advance(self, aggregate: Aggregate, seq: int) -> None:
        """Apply the steps up to `seq`. Steps after it are not opened."""
        left = seq - aggregate.seq
        if left > 0:
            async for step in self.steps(aggregate.name, aggregate.seq, min(left, _PAGE)):
                aggregate.apply(step)
                if step.seq >= seq:
                    return

    @staticmethod
    def _resume(aggregate: Aggregate, loaded: Loaded) -> bool:
        """Start from the snapshot if there is one that can be read."""
        try:
            state = snapshot_state(aggregate, loaded)
        except StoreDamaged as err:
            log.warning("%s; its state is read from its steps", err)
            return False
        if state is None:
            return False
        aggregate.state = state
        aggregate.seq = aggregate.snapshot_seq = loaded.snapshot_seq
        return True

    def opened(self, aggregate: Aggregate, seq: int, body: bytes) -> Step[Any]:
        """Open and decode a step that the engine has read.

        Raises:
            AggregateDamaged: the step was changed.
            StoreDamaged: this version cannot read the step.
        """
        return _opened(aggregate.name, aggregate.kind, aggregate.sealer, Record(seq, body))

    @staticmethod
    def entry(
        aggregate: Aggregate,
        step: Step[Any],
        before: Any,
        take_from: str = "",
        end_quarantines: tuple[Quarantined, ...] = (),
    ) -> Append:
        """Return the append of `step`, which has already been applied to `aggregate`.

        `before` is the state before the step. The index entries to put and to drop are the
        difference. A snapshot is added when one is due. `end_quarantines` are those of addresses of
        an exhausted pool.
        """
        put, drop = aggregate.kind.index_changes(before, aggregate.state)
        given_up = [entry for entry in drop if entry[0] in QUARANTINED]
        snapshot = b""
        if step.seq - aggregate.snapshot_seq >= SNAPSHOT_EVERY:
            aggregate.snapshot_seq = step.seq
            snapshot = sealed_snapshot(aggregate)
        return Append(
            aggregate=aggregate.name,
            seq=step.seq,
            trigger=step.trigger.id,
            body=aggregate.sealer.seal("step", step.seq, encode(step)),
            data_key=aggregate.data_key,
            put=index_keys(put),
            drop=index_keys(drop.difference(given_up)),
            take_from=take_from,
            snapshot=snapshot,
            at=step.at,
            give_up=index_keys(given_up),
            end_quarantines=end_quarantines,
        )

    async def steps(self, name: str, after: int = 0, page: int = _PAGE) -> AsyncIterator[Step[Any]]:
        """Yield every step of an aggregate with a sequence number above `after`, in order."""
        key = await self.engine.data_key(name)
        if key is None:
            return
        kind, sealer = kind_of(name), self._vault.sealer(key, name)
        while records := await self.engine.read(name, after, page):
            for record in records:
                yield _opened(name, kind, sealer, record)
            after = records[-1].seq

    async def step(self, name: str, seq: int) -> Step[Any] | None:
        """Return one step of an aggregate."""
        async for step in self.steps(name, seq - 1, 1):
            return step
        return None

    async def publish_network(self, network: Network) -> str:
        """Store a network configuration, so that decisions made with it can be replayed."""
        version = version_of(network)
        if version not in self._networks:
            name = _NETWORK + version
            if await self.engine.get_document(name) is None:
                wrapped = self._vault.new_data_key()
                sealed = self._vault.sealer(wrapped, name).seal(
                    "network", 1, document.encode(network)
                )
                await self.engine.put_document(name, msgspec.msgpack.encode([wrapped, sealed]))
            self._networks[version] = network
        return version

    async def network(self, version: str) -> Network:
        """Return the network configuration of a published version.

        Raises:
            StoreDamaged: the version is not stored.
        """
        if version not in self._networks:
            name = _NETWORK + version
            stored = await self.engine.get_document(name)
            if stored is None:
                raise StoreDamaged(f"the network configuration {version!r} is not in the store")
            wrapped, sealed = msgspec.msgpack.decode(stored.body, type=tuple[bytes, bytes])
            plain = self._vault.sealer(wrapped, name).open("network", 1, sealed)
            self._networks[version] = _read(plain, Network, f"network configuration {version!r}")
        return self._networks[version]

    async def publish_code(self, code: Code) -> str:
        """Store which code decides, once, and return the id for its steps."""
        name = _CODE + code.id
        if await self.engine.get_document(name) is None:
            await self.engine.put_document(name, document.encode(code))
        return code.id

    async def code(self, identifier: str) -> Code | None:
        """Return the code of an id; None if the store does not have it."""
        stored = await self.engine.get_document(_CODE + identifier)
        return None if stored is None else _read(stored.body, Code, f"code {identifier!r}")


def _read(octets: bytes, kind: type[D], what: str) -> D:
    try:
        return document.decode(octets, kind)
    except DocumentError as err:
        raise StoreDamaged(f"the {what} cannot be read: {err}") from None


def _opened(name: str, kind: Kind, sealer: AggregateSealer, record: Record) -> Step[Any]:
    try:
        plain = sealer.open("step", record.seq, record.body)
    except WrongKeyError:
        problem = f"step {record.seq} of {name} is damaged: it was changed after it was sealed"
        raise AggregateDamaged(name, problem) from None
    try:
        return kind.decode_step(plain)
    except msgspec.DecodeError as err:
        raise StoreDamaged(f"step {record.seq} of {name} cannot be read: {err}") from None


def snapshot_state(aggregate: Aggregate, loaded: Loaded) -> Any | None:
    """Return the state in the snapshot of an aggregate; None if there is no snapshot, or if another
    version folded it.

    Raises:
        StoreDamaged: the snapshot was changed.
    """
    seq = loaded.snapshot_seq
    if not seq:
        return None
    try:
        plain = aggregate.sealer.open("snapshot", seq, loaded.snapshot)
        return aggregate.kind.snapshots.decode(plain)
    except WrongKeyError:
        problem = "it was changed after it was sealed"
    except msgspec.DecodeError as err:
        problem = str(err)
    raise StoreDamaged(f"the snapshot of {aggregate.name} is damaged: {problem}")


def sealed_snapshot(aggregate: Aggregate) -> bytes:
    """Return the snapshot of an aggregate after its last step."""
    plain = aggregate.kind.snapshots.encode(aggregate.state)
    return aggregate.sealer.seal("snapshot", aggregate.seq, plain)


def index_keys(entries: Collection[tuple[str, str]]) -> tuple[IndexKey, ...]:
    """Return index entries in order."""
    return tuple([IndexKey(*entry) for entry in sorted(entries)]) if entries else ()
