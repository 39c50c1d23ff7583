"""Random batches against a model of the contract, on the engines that need no server."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from statestore.contract import (
    QUARANTINE,
    Append,
    Appended,
    Conflict,
    Duplicate,
    IndexConflict,
    IndexKey,
    Outcome,
    Quarantined,
)
from tests.statestore import backends
from tests.statestore.backends import DoubleBackend
from tests.statestore.fdb_double_cluster import Fault
from tests.statestore.steps import follow


class Model:
    """The contract of `append` in its simplest form."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Append]] = {}
        self.owners: dict[IndexKey, str] = {}
        self.quarantines: dict[IndexKey, tuple[str, int]] = {}
        self.now = 0
        self.order: list[tuple[str, int]] = []

    def append(self, batch: Sequence[Append]) -> list[Outcome]:
        stopped: set[str] = set()
        return [self._one(step, stopped) for step in batch]

    def _one(self, step: Append, stopped: set[str]) -> Outcome:
        log = self.logs.get(step.aggregate, [])
        failure = self._failure(step, log, stopped)
        if failure is not None:
            stopped.add(step.aggregate)
            return failure
        self.logs.setdefault(step.aggregate, []).append(step)
        self.order.append((step.aggregate, step.seq))
        for entry in step.drop:
            if self.owners.get(entry) == step.aggregate:
                del self.owners[entry]
        for entry in step.give_up:
            if self.owners.get(entry) == step.aggregate:
                del self.owners[entry]
                self.quarantines[entry] = step.aggregate, step.at
        for entry in step.put:
            self.owners[entry] = step.aggregate
            self.quarantines.pop(entry, None)
        return Appended()

    def _failure(self, step: Append, log: list[Append], stopped: set[str]) -> Outcome | None:
        for seq, before in enumerate(log, 1):
            if before.trigger == step.trigger:
                return Duplicate(seq)
        if step.seq != len(log) + 1 or step.aggregate in stopped:
            return Conflict(len(log))
        for entry in step.put:
            owner = self.owners.get(entry)
            if owner not in {None, step.aggregate, step.take_from}:
                assert owner is not None
                return IndexConflict(entry, owner)
            last, since = self.quarantines.get(entry, (step.aggregate, 0))
            over = (
                since <= step.at - QUARANTINE or Quarantined(entry, since) in step.end_quarantines
            )
            if last != step.aggregate and not over:
                return IndexConflict(entry, last)
        return None


NAMES = ["ue/a", "ue/b", "ue/ü\0"]
ENTRIES = [IndexKey("tmsi", "1"), IndexKey("tmsi", "2"), IndexKey("ngap", "1")]
entries = st.lists(st.sampled_from(ENTRIES), max_size=2, unique=True).map(tuple)
# `_numbered` adds the right sequence number to the number of a step, and the time of the step
# before to its time.
TIMES = st.sampled_from([0, 0, 0, 1, 2, QUARANTINE // 2, QUARANTINE])
steps = st.builds(
    Append,
    aggregate=st.sampled_from(NAMES),
    seq=st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1]),
    trigger=st.integers(1, 60).map(str),
    body=st.binary(max_size=4),
    data_key=st.just(b"key"),
    put=entries,
    drop=entries,
    take_from=st.sampled_from(["", *NAMES]),
    snapshot=st.sampled_from([b"", b"", b"state"]),
    at=TIMES,
    give_up=entries,
    end_quarantines=st.lists(
        st.builds(Quarantined, st.sampled_from(ENTRIES), TIMES), max_size=2
    ).map(tuple),
)
batches = st.lists(st.lists(steps, max_size=8), max_size=8)
TROUBLE = [f for f in Fault if f not in {Fault.REFUSED, Fault.SILENT, Fault.FAILING_DISK}]
faults = st.lists(st.sampled_from([None, *TROUBLE]))


def _numbered(batch: list[Append], model: Model) -> list[Append]:
    heads = {name: len(log) for name, log in model.logs.items()}
    numbered: list[Append] = []
    for step in batch:
        heads[step.aggregate] = heads.get(step.aggregate, 0) + 1
        model.now += step.at
        numbered.append(replace(step, seq=heads[step.aggregate] + step.seq, at=model.now))
    return numbered


async def _compare(name: str, told: list[list[Append]], trouble: list[Fault | None]) -> None:
    model = Model()
    with TemporaryDirectory() as directory:
        backend = backends.make(name, Path(directory))
        engine = await backend.open()
        if isinstance(backend, DoubleBackend):
            backend.cluster.faults = iter(trouble)
        for wanted in told:
            batch = _numbered(wanted, model)
            assert await engine.append(batch) == model.append(batch)
        feed = [(e.aggregate, e.seq) for e in await follow(engine)]
        assert feed == model.order
        for loaded, aggregate in zip(await engine.load(NAMES), NAMES, strict=True):
            log = model.logs.get(aggregate, [])
            assert (loaded.head if loaded else 0) == len(log)
            snapshots = [s.seq for s in log if s.snapshot]
            assert (loaded.snapshot_seq if loaded else 0) == max(snapshots, default=0)
            assert [r.body for r in await engine.read(aggregate)] == [s.body for s in log]
        assert await engine.owners(ENTRIES) == [model.owners.get(e) for e in ENTRIES]
        found = [*await engine.quarantined("ngap", ""), *await engine.quarantined("tmsi", "")]
        wanted = {Quarantined(e, since) for e, (_, since) in model.quarantines.items()}
        assert set(found) <= wanted
        assert {one for one in wanted if one.since > model.now - QUARANTINE} <= set(found)
        await engine.close()
        await backend.close()


@pytest.mark.parametrize("name", ["sqlite", "fdb-double"])
@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(told=batches, trouble=faults)
def test_any_batches_end_as_in_the_model(
    name: str, told: list[list[Append]], trouble: list[Fault | None]
):
    """On the double, with random faults of commits."""
    asyncio.run(_compare(name, told, trouble))
