"""The lookups of decisions: usable UPFs, free addresses, the associations and slices of gNBs."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from functions.decision.env import NotReadyError, usable_upfs
from functions.runtime.addresses import Addresses
from functions.runtime.overload import Overload
from functions.runtime.room import ENOUGH, Room
from schemas.aggregates import gnb_aggregate, slot_of_aggregate, upf_aggregate
from schemas.cloudevents import CloudEvent
from schemas.identity import SNssai, Tai, partition_of
from schemas.lookups import IpVersion, UsableUpf
from schemas.network import Network, TrackingArea
from schemas.ran import Gnb, tai_index_prefix
from schemas.upf import Upf
from statestore.contract import Engine, Quarantined
from statestore.log import Aggregate, EventLog

KEPT: Final = 1.0
"""Seconds before the states of the UPFs, and the gNBs of a tracking area, are read again. A gNB
that connects in between gets the next repetition of a PAGING, and can be the target of the next
handover."""
KEPT_LACKING: Final = 0.1
"""The same while a UPF is not usable, because it may become usable soon."""
ATTEMPTS: Final = 4
"""Number of reads of a result before the lookup returns no result."""
KEPT_SLICES: Final = 10.0
"""The same for the slices of a gNB, by its association. They change with a RAN CONFIGURATION UPDATE
only."""
AREAS: Final = 4096
"""Maximum number of cached tracking areas, and of cached gNBs."""

_T = TypeVar("_T")
_Key: TypeAlias = tuple[Any, ...]
Supported: TypeAlias = dict[Tai, frozenset[SNssai]]


class Upfs:
    """The usable UPFs of a network, with their loads."""

    def __init__(self, events: EventLog, network: Network) -> None:
        self._log = events
        self._names = [upf_aggregate(upf.node_id) for upf in network.upfs]
        self._until = 0.0
        self._usable: tuple[UsableUpf, ...] = ()
        self._features: dict[str, tuple[str, ...]] = {}

    def usable(self) -> tuple[UsableUpf, ...]:
        """Return the usable UPFs, in the order of the configuration.

        Raises:
            NotReadyError: the states were read too long ago: `load`, and decide again.
        """
        if self._names and time.monotonic() > self._until:
            raise NotReadyError("the states of the UPFs must be read")
        return self._usable

    def features(self, upf: str) -> tuple[str, ...]:
        """Return the UP Function Features of a usable UPF.

        Raises:
            NotReadyError: as `usable`.
        """
        self.usable()
        return self._features.get(upf, ())

    async def load(self) -> None:
        """Read the states of all UPFs. One with a damaged log is not usable."""
        states: list[Upf] = [found.state for found in await self._log.load_whole(self._names)]
        self._usable = usable_upfs(states, int(time.time() * 1000))
        nodes = {upf.node_id for upf in self._usable}
        self._features = {s.node_id: tuple(s.features) for s in states if s.node_id in nodes}
        kept = KEPT if len(self._usable) == len(self._names) else KEPT_LACKING
        self._until = time.monotonic() + kept


class Coverage:
    """The gNB associations of tracking areas for PAGING, cached for many UEs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[str, tuple[float, list[tuple[str, str]]]] = OrderedDict()

    async def of(self, tais: Sequence[Tai]) -> list[tuple[str, str]]:
        """Return the gNBs and associations that serve any of the tracking areas, each once."""
        found: dict[tuple[str, str], None] = {}
        for tai in tais:
            found.update(dict.fromkeys(await self.serving(tai_index_prefix(tai))))
        return list(found)

    async def serving(self, prefix: str) -> list[tuple[str, str]]:
        """Return those of one tracking area, given the prefix of its index entries."""
        now, after = time.monotonic(), ""
        until, kept = self._kept.get(prefix, (0.0, []))
        if until > now:
            return kept
        found: list[tuple[str, str]] = []
        while page := await self._engine.scan("tai", prefix, after):
            after = page[-1][0]
            for key, _ in page:
                gnb, _, association = key.removeprefix(prefix).partition("/")
                found.append((gnb, association))
        self._kept[prefix] = (now + KEPT, found)
        self._kept.move_to_end(prefix)
        if len(self._kept) > AREAS:
            self._kept.popitem(last=False)
        return found


class RanSlices:
    """The slices that gNBs support in their tracking areas, cached for many UEs."""

    def __init__(self, events: EventLog) -> None:
        self._log = events
        self._kept: OrderedDict[tuple[str, str], tuple[float, Supported]] = OrderedDict()

    def of(self, tai: Tai, gnb: str, association: str) -> frozenset[SNssai] | None:
        """Return the slices that a gNB supports in a tracking area; None if it has not said so.

        Raises:
            NotReadyError: the state of the gNB was read too long ago: `load`, and decide again.
        """
        until, supported = self._kept.get((gnb, association), (0.0, {}))
        if time.monotonic() > until:
            raise NotReadyError(f"the slices of {gnb} must be read")
        return supported.get(tai)

    async def load(self, gnb: str, association: str) -> None:
        """Read the state of a gNB. A damaged one supports all slices, and so does one that has
        another association."""
        states: list[Gnb] = [
            found.state for found in await self._log.load_whole([gnb_aggregate(gnb)])
        ]
        supported: Supported = {
            Tai(broadcast.plmn, ta.tac): frozenset(broadcast.slices)
            for state in states
            if state.association == association
            for ta in state.supported
            for broadcast in ta.broadcast
        }
        kept = KEPT_SLICES if supported else KEPT
        self._kept[gnb, association] = (time.monotonic() + kept, supported)
        self._kept.move_to_end((gnb, association))
        if len(self._kept) > AREAS:
            self._kept.popitem(last=False)


class WorkerLookups:
    """The lookups of a worker, shared by its decisions."""

    def __init__(
        self, events: EventLog, network: Network, partitions: int, room: Room = ENOUGH
    ) -> None:
        self.room = room
        self.upfs = Upfs(events, network)
        self.addresses = Addresses(events.engine, network, partitions)
        self.coverage = Coverage(events.engine)
        self.ran_slices = RanSlices(events)
        self.overload = Overload(network.congestion, weights=network.weights)
        self._partitions = partitions

    def for_decision(
        self, aggregate: Aggregate, event: CloudEvent, now: int = 0
    ) -> "DecisionLookups":
        """Return the lookups of one decision at a time in milliseconds."""
        slot = slot_of_aggregate(aggregate.name, event.slot or 0)
        return DecisionLookups(self, aggregate, partition_of(slot, self._partitions), event, now)


class DecisionLookups:
    """The lookups of one decision (`functions.decision.env.Lookups`).

    A method raises `NotReadyError` if its result must be read first. Then await `ready`, and decide
    again.
    """

    __slots__ = (
        "_aggregate",
        "_allocated",
        "_areas",
        "_attempts",
        "_back_off",
        "_event",
        "_held",
        "_lack_of_room",
        "_missing",
        "_now",
        "_partition",
        "_upfs",
        "_worker",
    )

    def __init__(
        self,
        worker: WorkerLookups,
        aggregate: Aggregate,
        partition: int,
        event: CloudEvent,
        now: int = 0,
    ) -> None:
        self._worker = worker
        self._event = event
        self._now = now
        self._back_off: int | None = None
        self._lack_of_room: int | None = None
        self._aggregate = aggregate
        self._partition = partition
        self._attempts: Counter[_Key] = Counter()
        self._missing: _Key = ()
        self._upfs: tuple[UsableUpf, ...] = ()
        self._areas: dict[Tai, list[tuple[str, str]]] = {}
        self._held: Collection[str] | None = None
        self._allocated: list[tuple[str, str]] = []
        """The DNN and the text of each allocated address."""

    def usable_upfs(self) -> tuple[UsableUpf, ...]:
        """See `Lookups.usable_upfs`. One decision always gets the same result."""
        self._upfs = self._upfs or self._read((_UPFS,), self._worker.upfs.usable, ())
        return self._upfs

    def upf_features(self, upf: str) -> tuple[str, ...]:
        """See `Lookups.upf_features`."""
        return self._read((_UPFS,), lambda: self._worker.upfs.features(upf), ())

    def free_address(self, dnn: str, upf: str, ip_version: IpVersion) -> str:
        """See `Lookups.free_address`."""
        allocate, key = self._worker.addresses.allocate, (_ADDRESS, dnn, upf, ip_version)
        found = self._read(
            key, lambda: allocate(dnn, upf, ip_version, self._partition, self._addresses()), ""
        )
        if found:
            self._allocated.append((dnn, found))
        return found

    def association(self, tai: Tai, gnb: str) -> str:
        """See `Lookups.association`. If a gNB has several associations, the last one is
        returned."""

        def serving() -> str:
            if tai not in self._areas:
                raise NotReadyError(f"the gNBs of {tai.plmn} {tai.tac} must be read")
            found = [association for name, association in self._areas[tai] if name == gnb]
            return found[-1] if found else ""

        return self._read((_AREA, tai), serving, "")

    def lacking_slices(self, area: TrackingArea, gnb: str, association: str) -> tuple[SNssai, ...]:
        """See `Lookups.lacking_slices`."""
        read = partial(self._worker.ran_slices.of, area.tai, gnb, association)
        found = self._read((_SLICES, gnb, association), read, None)
        return () if found is None else tuple(one for one in area.slices if one not in found)

    def back_off(self) -> int:
        """See `Lookups.back_off`. One decision always gets the same answer."""
        if self._back_off is None:
            self._back_off = self._worker.overload.back_off(self._event)
        return self._back_off

    def lack_of_room(self) -> int:
        """See `Lookups.lack_of_room`. One decision always gets the same answer."""
        if self._lack_of_room is None:
            self._lack_of_room = self._worker.room.put_off()
        return self._lack_of_room

    def _read(self, key: _Key, read: Callable[[], _T], no_result: _T) -> _T:
        try:
            return read()
        except NotReadyError:
            if self._attempts[key] >= ATTEMPTS:
                return no_result
            self._missing = key
            raise

    def _addresses(self) -> Collection[str]:
        """Return the index keys of the aggregate's addresses."""
        if self._held is None:
            entries: Any = self._aggregate.kind.indexes(self._aggregate.state)
            self._held = frozenset(key for kind, key in entries if kind == "address")
        return self._held

    async def ready(self) -> None:
        """Read the missing result. Allocated addresses are allocated again."""
        self.withdraw()
        self._attempts[self._missing] += 1
        match self._missing:
            case (kind, Tai() as tai) if kind == _AREA:
                prefix = tai_index_prefix(tai)
                self._areas[tai] = await self._worker.coverage.serving(prefix)
            case (kind, gnb, association) if kind == _SLICES:
                await self._worker.ran_slices.load(gnb, association)
            case (kind, dnn, upf, ip_version) if kind == _ADDRESS:
                addresses = self._worker.addresses
                if not await addresses.load(dnn, upf, ip_version, self._partition, self._now):
                    self._attempts[self._missing] = ATTEMPTS
            case _:
                await self._worker.upfs.load()

    def end_quarantines(self) -> tuple[Quarantined, ...]:
        """Return the quarantines that the allocated addresses end early."""
        return self._worker.addresses.end_quarantines(self._allocated)

    def withdraw(self) -> None:
        """Return the allocated addresses, because the decision is not used."""
        for dnn, text in self._allocated:
            self._worker.addresses.withdraw(dnn, text)
        self._allocated.clear()


_UPFS: Final = "upfs"
_ADDRESS: Final = "address"
_AREA: Final = "area"
_SLICES: Final = "slices"
