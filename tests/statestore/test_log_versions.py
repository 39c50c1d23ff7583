"""A log written by several versions: steps and snapshots of other versions."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from schemas.aggregates import kind_of
from schemas.event import Noted
from schemas.step import Step, encode
from schemas.version import VERSION
from statestore.contract import Append, Appended, StoreDamaged
from statestore.log import SNAPSHOT_EVERY, Aggregate, EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.vault import Vault
from tests.runtime.script import lives

UE = "ue/imsi-001010000000001"


@pytest.fixture
async def log(tmp_path: Path) -> AsyncGenerator[EventLog]:
    engine = await SqliteEngine.open(tmp_path / "store.db")
    yield EventLog(engine, Vault(bytes(32)))
    await engine.close()


def life() -> list[Step[Any]]:
    """Return more steps of a UE than there are between two snapshots."""
    steps: list[Step[Any]] = []
    while len(steps) < SNAPSHOT_EVERY + 10:
        for step in lives(1).steps[UE]:
            seq = len(steps) + 1
            trigger = replace(step.trigger, id=f"t-{seq}")
            steps.append(replace(step, seq=seq, trigger=trigger, outputs=()))
    return steps


async def append(log: EventLog, aggregate: Aggregate, step: Step[Any]) -> Append:
    before = aggregate.state
    aggregate.apply(step)
    entry = replace(log.entry(aggregate, step, before), put=(), drop=())
    assert await log.engine.append([entry]) == [Appended()]
    return entry


async def written(log: EventLog, steps: list[Step[Any]]) -> Aggregate:
    (aggregate,) = await log.load([UE])
    for step in steps:
        await append(log, aggregate, step)
    return aggregate


async def by_another(log: EventLog, aggregate: Aggregate, tree: dict[str, Any]) -> None:
    """Append a step with octets that another version has written."""
    seq = aggregate.seq + 1
    body = aggregate.sealer.seal("step", seq, encode({**tree, "seq": seq}))
    entry = Append(aggregate.name, seq, f"other-{seq}", body)
    assert await log.engine.append([entry]) == [Appended()]


def tree_of(step: Step[Any]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.msgpack.decode(encode(step))
    return found


async def test_a_snapshot_of_another_version_is_passed_over(log: EventLog) -> None:
    steps = life()
    aggregate = await written(log, steps)
    (loaded,) = await log.engine.load([UE])
    assert loaded is not None
    assert loaded.snapshot_seq == SNAPSHOT_EVERY
    await with_snapshot(
        log, aggregate, steps, (b"another.", {"supi": "of another shape", "later": 1})
    )
    (read,) = await log.load([UE])
    assert read.state == aggregate.state
    assert (read.seq, read.snapshot_seq) == (aggregate.seq, 0)
    assert (await log.at(UE, 40)).seq == 40


async def test_octets_that_are_no_snapshot(log: EventLog) -> None:
    steps = life()
    aggregate = await written(log, steps)
    await with_snapshot(log, aggregate, steps, {"supi": "a state alone"})
    (read,) = await log.load([UE])
    assert (read.state, read.seq) == (aggregate.state, aggregate.seq)
    assert read.snapshot_seq == 0, "the next step brings another snapshot"


async def with_snapshot(
    log: EventLog, aggregate: Aggregate, steps: list[Step[Any]], snapshot: object
) -> None:
    """Append one more step, with octets of another release as its snapshot."""
    strange = aggregate.sealer.seal("snapshot", len(steps) + 1, encode(snapshot))
    step = replace(steps[0], seq=len(steps) + 1, trigger=replace(steps[0].trigger, id="u"))
    entry = replace(log.entry(aggregate, step, aggregate.state), put=(), snapshot=strange)
    aggregate.apply(step)
    assert await log.engine.append([entry]) == [Appended()]


async def test_one_of_this_version_is_written_again_soon(log: EventLog) -> None:
    steps = life()
    aggregate = await written(log, steps[:-1])
    aggregate.snapshot_seq = 0  # as if a snapshot of another version had been skipped
    assert (await append(log, aggregate, steps[-1])).snapshot
    (read,) = await log.load([UE])
    assert read.snapshot_seq == len(steps)
    assert read.state == aggregate.state


async def test_a_snapshot_is_as_good_as_the_steps(log: EventLog) -> None:
    steps = life()
    await written(log, steps)
    kind = kind_of(UE)
    state = kind.new()
    for step in steps:
        for event in step.events:
            state = kind.evolve(state, event)
        at = await log.at(UE, step.seq)
        assert (at.seq, at.state) == (step.seq, state)
    assert (await log.at(UE, 0)).state == kind.new()
    with pytest.raises(StoreDamaged, match=f"has {len(steps)} steps"):
        await log.at(UE, len(steps) + 1)
    with pytest.raises(StoreDamaged, match="has no steps"):
        await log.at("ue/imsi-001019999999999", 0)


async def test_an_event_of_a_later_version_stops_the_fold_and_says_why(log: EventLog) -> None:
    aggregate = await written(log, life()[:3])
    tree = tree_of(life()[3])
    tree |= {"code": "0.9.0", "events": [{"event": "Teleported", "to": "Mars"}]}
    await by_another(log, aggregate, tree)
    with pytest.raises(StoreDamaged) as caught:
        await log.load([UE])
    assert str(caught.value) == (
        f"step 4 of {UE} cannot be read: code 0.9.0 wrote the event Teleported, "
        f"which version {VERSION} does not know"
    )
    assert (await log.at(UE, 3)).state == aggregate.state, "what was before can be read"


async def test_one_that_may_be_ignored_does_not(log: EventLog) -> None:
    aggregate = await written(log, life()[:3])
    tree = tree_of(life()[3])
    tree |= {"code": "0.9.0", "events": [{"event": "~Teleported", "to": "Mars"}], "more": 1}
    await by_another(log, aggregate, tree)
    (read,) = await log.load([UE])
    assert (read.seq, read.state) == (4, aggregate.state)
    step = await log.step(UE, 4)
    assert step is not None
    (noted,) = step.events
    assert isinstance(noted, Noted)
    assert noted.text.startswith("code 0.9.0 wrote the event Teleported, which")
    (record,) = await log.engine.read(UE, 3, 1)
    kept = msgspec.msgpack.decode(read.sealer.open("step", 4, record.body))
    assert kept["events"] == [{"event": "~Teleported", "to": "Mars"}]
