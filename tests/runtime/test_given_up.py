"""A worker drops a request that its UE has given up: no step, no message, and it is counted."""

import pytest

from eventing.stats import StatsWatch
from functions.runtime import overload
from schemas.cloudevents import CloudEvent
from tests.eventing.brokers import until
from tests.runtime.plant import Plant


def requests(plant: Plant) -> list[CloudEvent]:
    """Return the first message of each UE."""
    firsts = [lane[0].events[0] for lane in plant.script.lanes[1:]]
    assert all(event.sequence == 0 for event in firsts)
    return firsts


async def test_a_request_that_was_given_up(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "SHORTEST", 0.0)
    monkeypatch.setattr(overload, "UE_TIMERS", dict.fromkeys(overload.UE_TIMERS, 0.0))
    some = requests(plant)
    watch = StatsWatch()
    await watch.start(plant.client)
    await plant.worker()
    await plant.play(plant.script.lanes[0])
    heads = await plant.store.heads()
    await plant.publish(some)
    await plant.idle()
    await until(lambda: sum(stats.load.dropped for stats in watch.workers.values()) == len(some))
    assert await plant.letters() == []
    assert await plant.store.heads() == heads
    assert {one.headers["ce-procedure"] for one in plant.heard} <= {"ran"}


async def test_a_request_that_was_not(plant: Plant) -> None:
    some = requests(plant)
    await plant.worker()
    await plant.play(plant.script.lanes[0])
    heads = await plant.store.heads()
    await plant.publish(some)
    await plant.idle()
    assert len(await plant.store.heads()) > len(heads)
