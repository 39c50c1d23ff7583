"""A stopping worker finishes its running decisions and returns the rest to other workers."""

import asyncio

from eventing import subjects
from eventing.jetstream.intake import Intake
from statestore.contract import StoreUnavailable
from tests.eventing import brokers
from tests.eventing.brokers import until
from tests.runtime.plant import BUS, Plant
from tests.runtime.test_worker import holds


async def _delivered(plant: Plant, number: int) -> bool:
    return await plant.delivered() == number


async def test_an_idle_worker_stops_at_once_and_gives_its_lease_up(plant: Plant) -> None:
    first, second = await plant.worker(), await plant.worker()
    await plant.play(plant.script.lanes[0])
    await first.stop()
    await second.stop()
    await plant.worker()
    await plant.play(*plant.script.lanes[1:])
    await holds(plant)


async def test_what_is_not_begun_is_given_back(plant: Plant) -> None:
    """No event waits for its acknowledgement timeout, which is longer than the test."""
    stopping = await plant.worker()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def hold(_: str) -> None:
        begun.set()
        await go_on.wait()

    stopping.store.before = hold
    lanes = plant.script.lanes
    await plant.publish(lanes[0][0].events)
    await begun.wait()
    await plant.publish([event for lane in lanes[1:] for event in lane[0].events])
    await until(lambda: _delivered(plant, len(lanes)))
    stopping.worker.stop()
    go_on.set()
    await stopping.stop()
    assert sum(map(len, stopping.store.appended)) == 1, "it has finished what it had begun"
    await plant.worker()
    await plant.play_all()
    await holds(plant)


async def test_what_waits_for_its_turn_is_given_back(plant: Plant) -> None:
    """It waits for an event that another worker has."""
    before = await plant.worker()
    initial, connected, *rest = plant.script.lanes[1]
    await plant.play(plant.script.lanes[0], [initial])
    await before.stop()
    other = Intake(plant.client)
    await plant.publish(connected.events[:1])
    procedure = connected.events[0].procedure or ""
    await other.consume(subjects.consumer(p, procedure) for p in range(BUS.partitions))
    (taken,) = await other.take(1, 5)
    await other.stop()
    stopping = await plant.worker()
    await plant.publish(connected.events[1:3])
    await until(lambda: _delivered(plant, 3))
    await stopping.stop()
    await plant.worker()
    await other.redeliver(taken, 0)
    await plant.publish(connected.events[3:])
    await plant.reached(connected.heads)
    await plant.play(rest, *plant.script.lanes[2:])
    await holds(plant)


async def test_a_worker_without_a_store_stops_all_the_same(plant: Plant) -> None:
    stopping, tries = await plant.worker(), 0

    async def unavailable(_: str) -> None:
        nonlocal tries
        tries += 1
        raise StoreUnavailable("on purpose")

    stopping.store.before = unavailable
    await plant.publish(plant.script.lanes[0][0].events)
    await until(lambda: tries >= 2)
    await stopping.stop()
    assert sum((await brokers.events(plant.client)).values()) == 1
    await plant.worker()
    await plant.play_all()
    await holds(plant)
