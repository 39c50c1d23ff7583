"""The repair of a store and the search for wake-ups, on every engine."""

from pathlib import Path

import pytest

from evcore.local.data import DataDirectory
from evcore.logs.access import Access
from evcore.logs.repair import INDEXES, repair
from evcore.swap.kept import Kept
from functions.runtime import timer_check
from functions.runtime.timer_check import wake_ups
from functions.runtime.wakes import SharedWake
from schemas.identity import partition_of, slot_of
from schemas.ue.waking import WAKE, wake_key
from statestore import damage
from statestore.contract import Append, Appended, Correction, Engine, IndexKey
from statestore.log import EventLog
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault
from tests.functions.site import Site
from tests.statestore.test_damage import Disk, disk, flipped
from tests.statestore.test_log_versions import UE, append, life, written

__all__ = ["disk"]

VAULT = Vault(bytes(32))


@pytest.fixture
def access(engine: Engine, tmp_path: Path) -> Access:
    kept = Kept(DataDirectory(tmp_path / "data"))
    return Access(EventLog(engine, VAULT), SubscriberStore(engine, VAULT), kept)


async def all_entries(engine: Engine) -> dict[tuple[str, str], str]:
    return {(kind, key): owner for kind in INDEXES for key, owner in await engine.scan(kind, "")}


async def test_indexes_are_repaired(access: Access, engine: Engine) -> None:
    site = Site()
    site.ask()
    world = site.world
    for name, steps in world.steps.items():
        (aggregate,) = await access.log.load([name])
        for step in steps:
            before = aggregate.state
            aggregate.apply(step)
            entry = access.log.entry(aggregate, step, before)
            assert await engine.append([entry]) == [Appended()]
    before = await all_entries(engine)
    assert len({kind for kind, _ in before}) > 5
    (mine, *_) = (name for name in world.steps if name.startswith("ue/"))
    lost = tuple(IndexKey(*entry) for entry, owner in before.items() if owner == mine)
    wrong = IndexKey("tmsi", "tmsi-0badcafe")
    head = len(world.steps[mine])
    assert await engine.correct(Correction(mine, head, put=(wrong,), drop=lost))
    found = await repair(access, list(world.steps))
    assert (len(found.mended), found.damaged) == (len(lost) + 1, [])
    assert await all_entries(engine) == before
    assert (await repair(access, list(world.steps))).mended == []


async def test_a_snapshot_is_repaired_and_a_step_is_named(
    access: Access, disk: Disk, engine: Engine
) -> None:
    steps = life()
    aggregate = await written(access.log, steps)
    await repair(access, [UE])  # `written` leaves out the index entries
    disk.snapshot(flipped)
    found = await repair(access, [UE])
    assert found.mended == [f"{UE}: its snapshot is written again, after step {len(steps)}"]
    (read,) = await access.log.load([UE])
    assert (read.snapshot_seq, read.state) == (len(steps), aggregate.state)
    disk.step(5, flipped)
    found = await repair(access, [UE])
    problem = f"step 5 of {UE} is damaged: it was changed after it was sealed"
    assert (found.mended, found.damaged) == ([], [problem])
    assert await damage.recorded(engine) == [], "the snapshot has it"
    disk.snapshot(flipped)
    found = await repair(access, [UE])
    assert (found.mended, found.damaged) == ([], [problem])
    assert [one.problem for one in await damage.recorded(engine)] == [problem]


async def test_a_core_that_runs_is_not_disturbed(
    access: Access, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that is appended between the reading and the correction wins."""
    steps = life()
    aggregate = await written(access.log, steps[:-1])
    corrects = engine.correct
    late = [steps[-1]]

    async def after_a_step(correction: Correction) -> bool:
        if late:
            await append(access.log, aggregate, late.pop())
        return await corrects(correction)

    monkeypatch.setattr(engine, "correct", after_a_step)
    found = await repair(access, [UE])
    assert found.damaged == []
    assert found.mended, "the entries that `written` leaves out"
    entries = await all_entries(engine)
    assert set(entries) == aggregate.kind.indexes(aggregate.state)


async def test_wake_ups_are_read_page_by_page(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timer_check, "PAGE", 3)
    wanted: set[SharedWake] = set()
    for number in range(20):
        supi = f"imsi-00101{number:010d}"
        at = 1_790_000_000_000 + 512 * (number // 8)
        key = IndexKey(WAKE, wake_key(at, "n4", supi))
        made = Append(f"ue/{supi}", 1, "t", b"x", data_key=b"k", put=(key,))
        assert await engine.append([made]) == [Appended()]
        at = int(key.key.partition("/")[0])
        wanted.add(SharedWake(at, "session", partition_of(slot_of(supi), 2)))
    pages = [page async for page in wake_ups(engine, 2)]
    found = [wake for page in pages for wake, _ in page]
    assert set(found) == wanted
    assert len(found) == len(wanted), "each once"
    assert [wake.at for wake in found] == sorted(wake.at for wake in found)
    assert all(len(page) <= 3 for page in pages)
