"""Events of a UE with a damaged log: it is served if a snapshot is damaged, and else named."""

import logging

import pytest
from msgspec.structs import replace

from functions.runtime.lookups import Upfs
from schemas.aggregates import ue_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import slot_of
from schemas.procedures import Procedure
from schemas.step import encode
from statestore import damage
from statestore.contract import Appended
from statestore.log import SNAPSHOT_EVERY, EventLog
from tests.eventing.brokers import until
from tests.functions.world import N4_NETWORK, OTHER_UPF, UPF, World
from tests.runtime.plant import Plant
from tests.runtime.script import Script, registrations
from tests.statestore.sqlite_rows import change, flip_step

SUPI, OTHER_SUPI = "imsi-001010000000001", "imsi-001010000000002"
UE, OTHER = ue_aggregate(SUPI), ue_aggregate(OTHER_SUPI)


@pytest.fixture
def script() -> Script:
    """Two UEs that are registered, and another one that sends nothing."""
    return registrations(2)


def deregistration(supi: str, number: int) -> CloudEvent:
    """Return the deregistration of a UE by an operator."""
    name = ue_aggregate(supi)
    return CloudEvent(
        f"deregister-{number}-{name}",
        f"/{name}",
        EventType.DEREGISTER,
        name,
        encode(None),
        procedure=Procedure.DEREGISTRATION,
        slot=slot_of(supi),
    )


async def test_a_damaged_step_is_in_the_reason_of_the_dead_letter(
    impatient: Plant, caplog: pytest.LogCaptureFixture
) -> None:
    plant = impatient
    worker = await plant.worker()
    await plant.play_all()
    await plant.idle()
    await worker.stop()
    flip_step(plant.path / "evcore.db", UE, 3)
    await plant.worker()
    plant.together = True
    await plant.publish([deregistration(SUPI, 1), deregistration(OTHER_SUPI, 1)])
    heads = plant.script.heads

    async def decided() -> bool:
        return (await plant.store.heads())[OTHER] > heads[OTHER]

    await until(decided)
    await plant.idle()
    (letter,) = await plant.letters()
    assert letter.headers["ce-id"] == f"deregister-1-{UE}"
    reason = letter.headers["evcore-reason"].replace("%20", " ")
    assert f"AggregateDamaged: step 3 of {UE} is damaged" in reason
    assert [found.aggregate for found in await damage.recorded(plant.store)] == [UE]
    caplog.clear()
    await plant.worker()
    said = f"step 3 of {UE} is damaged: it was changed after it was sealed"
    warned = ("statestore.damage", logging.WARNING, f"{said}; its events become dead letters")
    await until(lambda: warned in caplog.record_tuples)


async def test_a_damaged_snapshot_is_passed_over(plant: Plant) -> None:
    worker = await plant.worker()
    await plant.play_all()
    await plant.idle()
    head = plant.script.heads[UE]
    for number in range(head, SNAPSHOT_EVERY + 3):
        await plant.publish([replace(deregistration(SUPI, number), type="org.example.other")])
    await plant.idle()
    await worker.stop()
    snapshot = "UPDATE snapshots SET body = flipped(body) WHERE seq = ?"
    change(plant.path / "evcore.db", snapshot, SNAPSHOT_EVERY)
    await plant.worker()
    await plant.publish([deregistration(SUPI, 1000)])
    await plant.idle()
    assert await plant.letters() == []
    (loaded,) = await plant.store.load([UE])
    assert loaded is not None
    assert loaded.snapshot_seq == loaded.head > SNAPSHOT_EVERY + 1, "it is written again"
    (read,) = await plant.store.log.load([UE])
    assert (read.seq, read.snapshot_seq) == (loaded.head, loaded.head)


async def test_a_damaged_upf_is_not_usable_and_others_are(plant: Plant) -> None:
    script = World(network=N4_NETWORK)
    script.associate()
    for node in N4_NETWORK.upfs:
        (aggregate,) = await plant.store.log.load([f"upf/{node.node_id}"])
        for step in script.steps[aggregate.name]:
            before = aggregate.state
            aggregate.apply(step)
            entry = EventLog.entry(aggregate, step, before)
            assert await plant.store.append([entry]) == [Appended()]
    upfs = Upfs(plant.store.log, N4_NETWORK)
    await upfs.load()
    assert [found.node_id for found in upfs.usable()] == [UPF, OTHER_UPF]
    flip_step(plant.path / "evcore.db", f"upf/{UPF}", 2)
    await upfs.load()
    assert [found.node_id for found in upfs.usable()] == [OTHER_UPF]
