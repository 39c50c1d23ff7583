"""Flipped bits: a snapshot is passed over, a step is named, and no wrong state is read."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from schemas.aggregates import kind_of
from schemas.step import Step, encode
from statestore import damage
from statestore.contract import AggregateDamaged, Engine, StoreError
from statestore.foundationdb.keys import Keys
from statestore.log import EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.vault import Vault
from tests.statestore import sqlite_rows
from tests.statestore.backends import Backend, DoubleBackend, SqliteBackend
from tests.statestore.sqlite_rows import flipped
from tests.statestore.test_log_versions import UE, append, life, written

OTHER = "ue/imsi-001010000000002"
STEPS = life()
Change = Callable[[bytes], bytes | None]


class Disk:
    """Changes the octets of a store behind its engines."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def snapshot(self, change: Change, seq: Callable[[int], int] = lambda seq: seq) -> None:
        """Change the snapshot of the UE, or the number of its step."""
        if isinstance(self._backend, SqliteBackend):
            path = self._backend.path
            query = "SELECT seq, body FROM snapshots JOIN aggregates ON id = aggregate"
            ((number, body),) = sqlite_rows.rows(path, f"{query} WHERE name = ?", UE)
            update = "UPDATE snapshots SET seq = ?, body = ?"
            sqlite_rows.change(path, update, seq(number), change(body))
            return
        key = Keys("evcore").snapshot(UE)
        value = self._value(key)
        number = seq(int.from_bytes(value[:8])) & (2**64 - 1)
        # After the number is the count of further parts.
        changed = change(value[9:]) or b""
        self._put(key, number.to_bytes(8) + value[8:9] + changed)

    def step(self, seq: int, change: Change) -> None:
        """Change a step of the UE; with None, remove it."""
        if isinstance(self._backend, SqliteBackend):
            path = self._backend.path
            sqlite_rows.put_step(path, UE, seq, change(sqlite_rows.step(path, UE, seq)))
            return
        key = Keys("evcore").step(UE, seq)
        value = self._value(key)
        changed = change(value[1:])
        self._put(key, None if changed is None else value[:1] + changed)

    def _value(self, key: bytes) -> bytes:
        assert isinstance(self._backend, DoubleBackend)
        future = self._backend.database.create_transaction().get(key)
        assert future.value is not None
        return future.value

    def _put(self, key: bytes, value: bytes | None) -> None:
        assert isinstance(self._backend, DoubleBackend)
        self._backend.put(key, value)


@pytest.fixture
async def disk(backend: Backend) -> Disk:
    if not isinstance(backend, SqliteBackend | DoubleBackend):
        pytest.skip("the files of a cluster cannot be changed from here")
    return Disk(backend)


@pytest.fixture
async def log(disk: Disk, engine: Engine) -> EventLog:  # noqa: ARG001 - skips other engines
    log = EventLog(engine, Vault(bytes(32)))
    await written(log, STEPS)
    return log


DAMAGED: dict[str, Callable[[Disk], None]] = {
    "its octets": lambda disk: disk.snapshot(flipped),
    "its number is lower": lambda disk: disk.snapshot(bytes, lambda seq: seq ^ 4),
    "its number is 0": lambda disk: disk.snapshot(bytes, lambda seq: seq ^ seq),
    "its number is higher": lambda disk: disk.snapshot(bytes, lambda seq: seq ^ 1),
    "its number is above the head": lambda disk: disk.snapshot(bytes, lambda seq: seq ^ 1 << 20),
    "its number is out of range": lambda disk: disk.snapshot(bytes, lambda seq: seq - (1 << 63)),
    "it is empty": lambda disk: disk.snapshot(lambda _: b""),
}


@pytest.mark.parametrize("how", list(DAMAGED))
async def test_a_damaged_snapshot_is_passed_over_and_written_again(
    log: EventLog, disk: Disk, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    (before,) = await log.load([UE])
    DAMAGED[how](disk)
    with caplog.at_level(logging.WARNING, "statestore.log"):
        (read,) = await log.load([UE])
    assert encode(read.state) == encode(before.state)
    assert (read.seq, read.snapshot_seq) == (len(STEPS), 0)
    if "is 0" not in how:  # which stands for no snapshot in FoundationDB
        assert f"the snapshot of {UE} is damaged" in caplog.text
    assert await damage.recorded(log.engine) == [], "its events are decided"
    last = replace(STEPS[0], seq=read.seq + 1, trigger=replace(STEPS[0].trigger, id="last"))
    assert (await append(log, read, last)).snapshot
    caplog.clear()
    (after,) = await log.load([UE])
    assert (after.snapshot_seq, encode(after.state)) == (last.seq, encode(read.state))
    assert caplog.text == ""


async def test_a_damaged_step_is_named_and_recorded(
    log: EventLog, disk: Disk, engine: Engine
) -> None:
    disk.step(len(STEPS) - 2, flipped)
    (other,) = await log.load([OTHER])
    await append(log, other, STEPS[0])
    for _ in range(2):
        with pytest.raises(AggregateDamaged, match=f"^step {len(STEPS) - 2} of {UE} is damaged: "):
            await log.load([OTHER, UE])
    (found,) = await damage.recorded(engine)
    assert found.aggregate == UE
    assert found.problem.startswith(f"step {len(STEPS) - 2} of {UE} is damaged: ")
    assert (await log.load([OTHER]))[0].seq == 1, "others are not affected"
    await damage.withdraw(engine, UE)
    assert await damage.recorded(engine) == []
    await damage.withdraw(engine, OTHER)


async def test_the_others_can_be_loaded_without_it(
    log: EventLog, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.step(len(STEPS), flipped)
    found = await log.load_whole([OTHER, UE, "ue/imsi-001010000000003"])
    assert [one.name for one in found] == [OTHER, "ue/imsi-001010000000003"]
    assert f"step {len(STEPS)} of {UE} is damaged" in caplog.text
    assert await log.load_whole([UE]) == []


async def test_a_missing_step_is_named_and_recorded(log: EventLog, disk: Disk) -> None:
    disk.step(len(STEPS) - 2, lambda _: None)
    with pytest.raises(AggregateDamaged, match=f"of '{UE}'"):
        await log.load([UE])
    ((name, problem),) = await damage.recorded(log.engine)
    assert (name, "missing" in problem) == (UE, True)


async def test_a_damaged_step_before_the_snapshot_is_not_needed(log: EventLog, disk: Disk) -> None:
    (before,) = await log.load([UE])
    disk.step(3, flipped)
    (read,) = await log.load([UE])
    assert encode(read.state) == encode(before.state)
    disk.snapshot(flipped)
    with pytest.raises(AggregateDamaged, match=f"^step 3 of {UE} is damaged: "):
        await log.load([UE])


async def test_the_record_names_some_of_many(engine: Engine) -> None:
    for number in range(30):
        name = f"ue/{number:02d}"
        await damage.record(engine, AggregateDamaged(name, f"{name} is damaged"))
        if number % 2:
            await damage.withdraw(engine, name)
    assert [found.aggregate for found in await damage.recorded(engine)] == [
        f"ue/{number:02d}" for number in range(0, 20, 2)
    ]
    assert len(await damage.recorded(engine, 100)) == 15


async def test_a_bit_of_the_file_never_makes_another_state(tmp_path: Path) -> None:
    """Any bit of the file: the state is as before, or the damage is an error of the store."""
    path = tmp_path / "store.db"
    engine = await SqliteEngine.open(path)
    await written(EventLog(engine, Vault(bytes(32))), STEPS)
    await engine.close()
    whole = path.read_bytes()
    seen = {encode(state) for state in states(STEPS)}
    dice, outcomes = random.Random(1), Counter[str]()
    for number in range(400):
        changed = bytearray(whole)
        changed[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(changed)
        outcomes[await read_from(copy, seen)] += 1
    assert outcomes["as before"] > 10
    assert outcomes["an error"] > 10


async def read_from(path: Path, seen: set[bytes]) -> str:
    """Read the UE from a damaged file."""
    engine = None
    try:
        engine = await SqliteEngine.open(path)
        ((read),) = await EventLog(engine, Vault(bytes(32))).load([UE])
    except StoreError:
        return "an error"
    finally:
        if engine is not None:
            await engine.close()
    # A file that has lost the name of the UE, or its last steps, is as one without them.
    assert encode(read.state) in seen
    return "as before" if read.seq == len(STEPS) else "steps are lost"


def states(steps: list[Step[Any]]) -> Iterator[Any]:
    """Yield the state before each step and after the last one."""
    kind = kind_of(UE)
    state = kind.new()
    yield state
    for step in steps:
        for event in step.events:
            state = kind.evolve(state, event)
        yield state
