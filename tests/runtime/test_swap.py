"""Workers of two versions of a procedure: who decides, and what a canary cannot decide is kept."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eventing.jetstream.streams import assignment_bucket
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment
from functions.gmm.deregistration import procedure
from functions.runtime.code import this_code
from schemas.flags import DEFAULT_FLAGS
from schemas.identity import partition_of, slot_of
from schemas.procedures import Procedure
from tests.eventing.brokers import until
from tests.runtime import plant as plants
from tests.runtime.plant import ALL, IMPATIENT, Plant
from tests.runtime.test_poison import UE, leaving

DEREGISTRATION = Procedure.DEREGISTRATION
VARIANT = "2+test"
HERE = partition_of(slot_of(UE.removeprefix("ue/")), IMPATIENT.partitions)


class Version(ModuleType):
    """A deregistration like the other, that counts; told to be wrong, it raises."""

    def __init__(self) -> None:
        super().__init__("version")
        self.VERSION = VARIANT
        self.tried = asyncio.Queue[str]()
        self.wrong = False

    def decide(self, d: Any, given: Any) -> None:
        self.tried.put_nowait(d.ue.supi)
        if self.wrong:
            raise ZeroDivisionError("wrong on purpose")
        procedure.decide(d, given)


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncGenerator[Plant]:
    async with plants.running(tmp_path, leaving(), IMPATIENT) as plant:
        yield plant


async def assign(plant: Plant, one: Assignment) -> None:
    """Write an assignment, and wait until all workers go by it."""
    kv = await assignment_bucket(plant.client)
    _, last = await assignments.read(kv, one.procedure)
    revision = await assignments.write(kv, one, last)

    async def taken_over() -> bool:
        live = await leases.live(plant.client)
        return bool(live) and all(lease.assignments >= revision for lease in live)

    await until(taken_over)


async def play(plant: Plant) -> None:
    """The whole script: each part of it comes to both UEs before the next."""
    lanes = plant.script.lanes
    await plant.play(lanes[0])
    for part in range(1, len(lanes), 2):
        await plant.play(*lanes[part : part + 2])
    await plant.idle()


def canary(*partitions: int) -> Assignment:
    return Assignment(DEREGISTRATION, "canary", 0, canary=VARIANT, partitions=partitions)


async def decided_by(plant: Plant) -> dict[str, set[str]]:
    """The versions that decided deregistrations, by aggregate."""
    found: dict[str, set[str]] = {}
    for name in await plant.store.heads():
        steps = await plant.store.steps(name)
        versions = {step.code for step in steps if step.procedure == DEREGISTRATION}
        if versions:
            found[name] = versions
    return found


@pytest.mark.parametrize("partitions", [(0,), (1,), (0, 1), ()])
async def test_each_partition_is_decided_by_the_version_that_is_assigned(
    plant: Plant, partitions: tuple[int, ...]
) -> None:
    version = Version()
    await plant.worker()
    await plant.worker((DEREGISTRATION,), variants={DEREGISTRATION: version})
    await assign(plant, canary(*partitions))
    await play(plant)
    assert await plant.store.heads() == plant.script.heads
    for name, found in (await decided_by(plant)).items():
        partition = partition_of(slot_of(name.removeprefix("ue/")), IMPATIENT.partitions)
        assert found == {VARIANT if partition in partitions else this_code().id}


async def test_a_version_that_is_finished_decides_all(plant: Plant) -> None:
    version = Version()
    await plant.worker()
    await plant.worker((DEREGISTRATION,), variants={DEREGISTRATION: version})
    finished = Assignment(DEREGISTRATION, "finished", 0, stable=VARIANT, canary=VARIANT)
    await assign(plant, finished)
    await play(plant)
    assert set.union(*(await decided_by(plant)).values()) == {VARIANT}


async def test_one_worker_that_hosts_all_of_it_keeps_to_its_version(plant: Plant) -> None:
    await plant.worker(ALL, variants={DEREGISTRATION: Version()})
    await assign(plant, Assignment(DEREGISTRATION, "finished", 0, stable=VARIANT))
    await play(plant)
    assert set.union(*(await decided_by(plant)).values()) == {VARIANT}


async def test_what_a_canary_cannot_decide_is_no_dead_letter_and_the_other_decides_it(
    plant: Plant,
) -> None:
    """However often it is tried: more than the deliveries that an event otherwise has."""
    version = Version()
    version.wrong = True
    await plant.worker()
    await plant.worker((DEREGISTRATION,), variants={DEREGISTRATION: version})
    await assign(plant, canary(HERE))
    lanes = plant.script.lanes
    await plant.play(lanes[0])
    await plant.play(*lanes[1:3])
    (event,) = lanes[3][0].events
    await plant.publish([event])
    for _ in range(IMPATIENT.max_deliveries + 2):
        assert await version.tried.get() == UE.removeprefix("ue/")
    assert await plant.letters() == []
    await assign(plant, assignments.rolled_back(canary(HERE), "it fails", 1))
    await plant.idle()
    last = (await plant.store.steps(UE))[-1]
    assert (last.trigger.id, last.code, last.flags) == (
        event.id,
        this_code().id,
        DEFAULT_FLAGS,
    )
    assert await plant.letters() == []


async def test_a_worker_that_starts_late_goes_by_what_was_assigned_before(plant: Plant) -> None:
    version = Version()
    await plant.worker((DEREGISTRATION,), variants={DEREGISTRATION: version})
    await assign(plant, canary(0, 1))
    await plant.worker()
    await play(plant)
    assert set.union(*(await decided_by(plant)).values()) == {VARIANT}
