"""Workers of two variants of a procedure: each decides in its own partitions.

An event that a canary cannot decide is kept for the other variant.
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import wire
from eventing.jetstream.streams import assignment_bucket
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment
from eventing.stats import StatsWatch
from functions.runtime import variants
from functions.runtime.code import this_code
from functions.runtime.variants import Variant, mark_of
from schemas.flags import DEFAULT_FLAGS
from schemas.identity import partition_of, slot_of
from schemas.procedures import MODULES, Procedure
from schemas.step import SendNgap
from tests.eventing.brokers import until
from tests.runtime import plant as plants
from tests.runtime.plant import ALL, IMPATIENT, Plant
from tests.runtime.test_poison import UE, leaving
from tests.variants import edited, folder, wrapped

DEREGISTRATION = Procedure.DEREGISTRATION
HERE = partition_of(slot_of(UE.removeprefix("ue/")), IMPATIENT.partitions)
MODULE = "gmm/deregistration/procedure"
COUNTING = """
TRIED = None
WRONG = []

def before(d, received):
    if TRIED is not None:
        TRIED.put_nowait(d.ue.supi)
    if WRONG:
        raise ZeroDivisionError("wrong on purpose")
"""


class Version:
    """A deregistration like the release's, that counts. If `wrong` is called, it raises."""

    def __init__(self, root: Path) -> None:
        self.variant = variants.load(folder(root, {MODULE: wrapped(MODULE, COUNTING)}))
        self.hosted = {DEREGISTRATION: self.variant}
        self.tried = asyncio.Queue[str]()
        vars(self.variant.modules[MODULES[DEREGISTRATION]])["TRIED"] = self.tried

    def wrong(self) -> None:
        vars(self.variant.modules[MODULES[DEREGISTRATION]])["WRONG"] = [True]

    def canary(self, *partitions: int) -> Assignment:
        return canary(self.variant, DEREGISTRATION, *partitions)


def canary(variant: Variant, procedure: Procedure, *partitions: int) -> Assignment:
    return Assignment(procedure, "canary", 0, canary=variant.id, partitions=partitions)


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncGenerator[Plant]:
    async with plants.running(tmp_path, leaving(), IMPATIENT) as plant:
        yield plant


@pytest.fixture
def version(tmp_path: Path) -> Version:
    return Version(tmp_path)


async def assign(plant: Plant, one: Assignment) -> None:
    """Write an assignment, and wait until all workers have adopted it."""
    kv = await assignment_bucket(plant.client)
    _, last = await assignments.read(kv, one.procedure)
    revision = await assignments.write(kv, one, last)

    async def adopted() -> bool:
        live = await leases.live(plant.client)
        return bool(live) and all(lease.assignments >= revision for lease in live)

    await until(adopted)


async def play(plant: Plant) -> None:
    """The whole script: each part of it comes to both UEs before the next."""
    lanes = plant.script.lanes
    await plant.play(lanes[0])
    for part in range(1, len(lanes), 2):
        await plant.play(*lanes[part : part + 2])
    await plant.idle()


async def decided_by(plant: Plant, procedure: Procedure = DEREGISTRATION) -> dict[str, set[str]]:
    """The codes that decided the steps of a procedure, by aggregate."""
    found: dict[str, set[str]] = {}
    for name in await plant.store.heads():
        steps = await plant.store.steps(name)
        codes = {step.code for step in steps if step.procedure == procedure}
        if codes:
            found[name] = codes
    return found


@pytest.mark.parametrize("partitions", [(0,), (1,), (0, 1), ()])
async def test_each_partition_is_decided_by_the_variant_that_is_assigned(
    plant: Plant, version: Version, partitions: tuple[int, ...]
) -> None:
    await plant.worker()
    await plant.worker((DEREGISTRATION,), variants=version.hosted)
    await assign(plant, version.canary(*partitions))
    await play(plant)
    assert await plant.store.heads() == plant.script.heads
    for name, found in (await decided_by(plant)).items():
        partition = partition_of(slot_of(name.removeprefix("ue/")), IMPATIENT.partitions)
        assert found == {version.variant.id if partition in partitions else this_code().id}


async def test_a_variant_that_is_finished_decides_all(plant: Plant, version: Version) -> None:
    await plant.worker()
    await plant.worker((DEREGISTRATION,), variants=version.hosted)
    variant = version.variant.id
    await assign(plant, Assignment(DEREGISTRATION, "finished", 0, stable=variant, canary=variant))
    await play(plant)
    assert set.union(*(await decided_by(plant)).values()) == {variant}


async def test_a_worker_that_hosts_all_decides_one_procedure_by_its_variant(
    plant: Plant, version: Version
) -> None:
    await plant.worker(ALL, variants=version.hosted)
    await assign(plant, Assignment(DEREGISTRATION, "finished", 0, stable=version.variant.id))
    await play(plant)
    assert set.union(*(await decided_by(plant)).values()) == {version.variant.id}
    registered = set.union(*(await decided_by(plant, Procedure.REGISTRATION)).values())
    assert registered == {this_code().id}


async def test_an_event_that_a_canary_cannot_decide_is_decided_by_the_stable_variant(
    plant: Plant, version: Version
) -> None:
    """The canary tries it more often than an event is delivered otherwise. It is no dead letter."""
    version.wrong()
    await plant.worker()
    await plant.worker((DEREGISTRATION,), variants=version.hosted)
    await assign(plant, version.canary(HERE))
    lanes = plant.script.lanes
    await plant.play(lanes[0])
    await plant.play(*lanes[1:3])
    (event,) = lanes[3][0].events
    await plant.publish([event])
    for _ in range(IMPATIENT.max_deliveries + 2):
        assert await version.tried.get() == UE.removeprefix("ue/")
    assert await plant.letters() == []
    await assign(plant, assignments.rolled_back(version.canary(HERE), "it fails", 1))
    await plant.idle()
    last = (await plant.store.steps(UE))[-1]
    assert (last.trigger.id, last.code, last.flags) == (
        event.id,
        this_code().id,
        DEFAULT_FLAGS,
    )
    assert await plant.letters() == []


async def test_a_worker_that_starts_late_adopts_the_earlier_assignment(
    plant: Plant, version: Version
) -> None:
    await plant.worker((DEREGISTRATION,), variants=version.hosted)
    await assign(plant, version.canary(0, 1))
    await plant.worker()
    await play(plant)
    assert set.union(*(await decided_by(plant)).values()) == {version.variant.id}


# Other modules of a variant than its procedure


async def notes(plant: Plant, text: str) -> set[tuple[str, str]]:
    """The procedures and codes of the steps with a note."""
    found: set[tuple[str, str]] = set()
    for name in await plant.store.heads():
        for step in await plant.store.steps(name):
            said: Any = [getattr(event, "text", "") for event in step.events]
            if text in said:
                found.add((step.procedure, step.code))
    return found


async def test_a_reconciler_of_a_variant_counts_for_its_own_decisions(
    plant: Plant, tmp_path: Path
) -> None:
    module = "ue/reconcile"
    text = edited(module) + (
        "\n_reconcile = reconcile\n\n"
        "def reconcile(d):\n    _reconcile(d)\n    d.note('reconciled by a variant')\n"
    )
    variant = variants.load(folder(tmp_path, {module: text}))
    await plant.worker(ALL, variants={DEREGISTRATION: variant})
    await assign(plant, Assignment(DEREGISTRATION, "finished", 0, stable=variant.id))
    await play(plant)
    assert await notes(plant, "reconciled by a variant") == {(DEREGISTRATION, variant.id)}
    assert len(await decided_by(plant, Procedure.REGISTRATION)) == 2


async def test_a_message_builder_of_a_variant_counts_for_its_own_decisions(
    plant: Plant, tmp_path: Path
) -> None:
    """All procedures build this message, and only one procedure's decisions by the variant."""
    module = "messages/ngap/__init__"
    text = edited(module) + (
        "\nSENT = []\n_build = downlink_nas_transport\n\n"
        "def downlink_nas_transport(connection, *nas, **more):\n"
        "    SENT.append(_build(connection, *nas, **more))\n    return SENT[-1]\n"
    )
    variant = variants.load(folder(tmp_path, {module: text}))
    await plant.worker(ALL, variants={DEREGISTRATION: variant})
    await assign(plant, Assignment(DEREGISTRATION, "finished", 0, stable=variant.id))
    await play(plant)
    built: set[bytes] = set(vars(variant.modules["functions.messages.ngap"])["SENT"])
    sent = {
        code: {
            output.pdu
            for name in await plant.store.heads()
            for step in await plant.store.steps(name)
            for output in step.outputs
            if step.code == code and isinstance(output, SendNgap)
            if wire.ngap_decode(output.pdu)["message"] == "DownlinkNASTransport"
        }
        for code in (variant.id, this_code().id)
    }
    assert sent[variant.id] == built
    assert len(built) == 2, "one DEREGISTRATION ACCEPT for each UE"
    assert len(sent[this_code().id]) > 2


# Whole releases, and identification


async def test_a_worker_hosts_its_release_as_a_variant(plant: Plant) -> None:
    """It decides nothing until a partition is assigned to it."""
    watch = StatsWatch()
    await watch.start(plant.client)
    await plant.worker()
    other = await plant.worker(as_variant=True)
    await assign(plant, Assignment(DEREGISTRATION, "aborted", 0))
    own = this_code().id
    plain, lease = sorted(await leases.live(plant.client), key=lambda one: len(one.variants))
    assert (plain.variants, plain.code) == ({}, own)
    assert lease.variants == dict.fromkeys(map(str, ALL), own)
    assert lease.names == {own: this_code().release}
    assert lease.version.startswith(f"test an-release={own} ")
    assert plain.hosts(DEREGISTRATION, own), "under both names"
    assert not lease.hosts(DEREGISTRATION, "")
    await play(plant)
    assert await plant.store.heads() == plant.script.heads
    await other.stop()
    assert [key for key in watch.totals(mark_of(DEREGISTRATION, own)) if key[1]] == []


async def test_identification_is_swapped_as_well(plant: Plant, tmp_path: Path) -> None:
    module = "gmm/identification"
    text = edited(module, ("def decide(", "SEEN = []\n\n\ndef _decide("))
    text += "\n\ndef decide(trigger, keys):\n    SEEN.append(trigger)\n"
    text += "    return _decide(trigger, keys)\n"
    variant = variants.load(folder(tmp_path, {module: text}))
    identification = Procedure.IDENTIFICATION
    await plant.worker()
    await plant.worker((identification,), variants={identification: variant})
    await assign(plant, canary(variant, identification, 0, 1))
    await play(plant)
    assert await plant.store.heads() == plant.script.heads
    seen = vars(variant.modules[MODULES[identification]])["SEEN"]
    assert {event.procedure for event in seen} <= {identification}
