"""A repair finds no fault in the stores of scenarios, and makes their indexes from nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evcore.local.data import DataDirectory
from evcore.logs.access import Access
from evcore.logs.repair import INDEXES, Repair, repair
from evcore.swap.kept import Kept
from schemas.cloudevents import EventType
from statestore.contract import Append, Appended, Engine
from statestore.log import Aggregate, EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault
from tests.functions.world import World
from tests.histories.scenarios import SCENARIOS


async def stored(engine: Engine, world: World) -> Access:
    """Append the steps of a world in their order."""
    vault = Vault(bytes(32))
    log = EventLog(engine, vault)
    aggregates: dict[str, Aggregate] = {}
    for name, step in world.order:
        if name not in aggregates:
            (aggregates[name],) = await log.load([name])
        before = aggregates[name].state
        aggregates[name].apply(step)
        append = log.entry(aggregates[name], step, before)
        if step.trigger.type == EventType.IDENTIFIED:
            append = log.entry(aggregates[name], step, before, await owner(engine, append))
        assert await engine.append([append]) == [Appended()]
    return Access(log, SubscriberStore(engine, vault), Kept(DataDirectory(Path("none"))))


async def owner(engine: Engine, append: Append) -> str:
    """Return the aggregate that has an entry which a step takes over."""
    owners = {one for one in await engine.owners(append.put) if one not in (None, append.aggregate)}
    return next(iter(owners), "") or ""


async def entries(engine: Engine) -> dict[tuple[str, str], str]:
    return {(kind, key): name for kind in INDEXES for key, name in await engine.scan(kind, "")}


@pytest.mark.parametrize("name", list(SCENARIOS))
async def test_nothing_is_repaired_and_everything_can_be(name: str, tmp_path: Path) -> None:
    world = SCENARIOS[name]()
    path = tmp_path / "store.db"
    engine = await SqliteEngine.open(path)
    access = await stored(engine, world)
    before = await entries(engine)
    assert before == world.owners
    names = list(world.steps)
    assert await repair(access, names) == Repair(len(names), len(world.order))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM entries")
    found = await repair(access, names)
    assert found.damaged == []
    now = await entries(engine)
    assert now.items() <= before.items()
    assert len(found.mended) >= len(now)
    # Those of connections that were released, or handed over to one of two aggregates.
    assert {kind for kind, key in before if (kind, key) not in now} <= {"ngap", "gnb", "wake"}
    await engine.close()
