"""A store that cannot be reached or has one damaged step: no event is lost."""

import asyncio
import random
from pathlib import Path

import pytest

from eventing.stats import StatsWatch
from statestore.contract import StoreUnavailable
from tests.eventing.brokers import until
from tests.runtime.plant import Plant
from tests.runtime.store import Fault
from tests.runtime.test_worker import holds
from tests.statestore.sqlite_rows import change

UE = "ue/imsi-001010000000001"
DAMAGE = """
UPDATE log SET body = zeroblob(100) WHERE aggregate = (SELECT id FROM aggregates WHERE name = ?)
"""


def fails(method: str) -> Fault:
    """Make one call in four of a store method fail."""
    rng = random.Random(method)

    async def fault(name: str) -> None:
        if name == method and rng.random() < 1 / 4:
            raise StoreUnavailable("on purpose")

    return fault


@pytest.mark.parametrize(
    ("method", "done"), [("append", False), ("append", True), ("load", False), ("owners", False)]
)
async def test_a_store_that_fails_now_and_then(plant: Plant, method: str, done: bool) -> None:
    """Before a transaction, or after it, when the result is unknown."""
    worker = await plant.worker()
    if done:
        worker.store.after = fails(method)
    else:
        worker.store.before = fails(method)
    await plant.play_all()
    await holds(plant)


async def test_events_wait_in_the_worker_while_there_is_no_store(plant: Plant) -> None:
    worker = await plant.worker()
    there, tries = asyncio.Event(), 0

    async def unavailable(_: str) -> None:
        nonlocal tries
        tries += 1
        if not there.is_set():
            raise StoreUnavailable("on purpose")

    worker.store.before = unavailable
    playing = asyncio.ensure_future(plant.play_all())
    await until(lambda: tries >= 3)
    assert await plant.store.heads() == {}
    there.set()
    await playing
    await holds(plant)


async def test_why_no_step_is_stored_is_reported_as_long_as_it_lasts(plant: Plant) -> None:
    worker = await plant.worker()
    there = asyncio.Event()
    watch = StatsWatch()
    await watch.start(plant.client)

    async def unavailable(_: str) -> None:
        if not there.is_set():
            raise StoreUnavailable("the disk is full")

    def reasons() -> set[str]:
        return {stats.load.stalled for stats in watch.workers.values()}

    worker.store.before = unavailable
    playing = asyncio.ensure_future(plant.play_all())
    await until(lambda: reasons() == {"the disk is full"})
    there.set()
    await playing
    await until(lambda: reasons() == {""})
    await holds(plant)


async def test_a_damaged_log_is_one_ues_loss(plant: Plant, tmp_path: Path) -> None:
    lanes = plant.script.lanes
    worker = await plant.worker()
    await plant.play(*([lane[0]] for lane in lanes))
    await worker.stop()
    change(tmp_path / "evcore.db", DAMAGE, UE)
    await plant.worker()
    event = lanes[1][1].events[0]
    await plant.publish([event])
    await plant.play(*(lane[1:] for lane in lanes[2:]))
    await plant.idle()
    (letter,) = await plant.letters()
    assert letter.headers["ce-id"] == event.id
    assert letter.data == event.data
    assert UE in letter.headers["evcore-reason"] or "step" in letter.headers["evcore-reason"]
    heads = await plant.store.heads()
    assert {**heads, UE: 12} == plant.script.heads
