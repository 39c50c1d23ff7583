"""Timers that expire: any running worker sends the retransmission."""

import time

import pytest
from msgspec.structs import replace

import wire
from schemas.network import Timers
from schemas.ue.events import TimerStarted, TimerStopped
from tests.eventing.brokers import until
from tests.functions.gnb import ies_of
from tests.functions.world import NETWORK
from tests.runtime.plant import Heard, Plant
from tests.runtime.script import Script

HASTY = replace(NETWORK, timers=Timers(t3560=1))
UE = "ue/imsi-001010000000001"


@pytest.fixture
def script() -> Script:
    """A UE that sends one message and receives no answer."""
    script = Script(1)
    (phone,) = script.phones()
    with script.lane():
        phone.initial(wire.nas_encode(phone.request()))
    return script


def by_id(plant: Plant) -> dict[str, Heard]:
    """Return the messages to gateways by event. A gateway sends the message of an event once."""
    return {heard.id: heard for heard in plant.heard}


def challenge(heard: Heard) -> str:
    nas: str = ies_of(wire.ngap_decode(heard.data))["NAS-PDU"]
    assert wire.nas_decode(bytes.fromhex(nas))["message-type"] == "authentication-request"
    return nas


@pytest.mark.parametrize("another", [False, True], ids=["the same worker", "another worker"])
async def test_t3560_repeats_the_challenge(plant: Plant, another: bool) -> None:
    worker = await plant.worker(clock=True, network=HASTY)
    await plant.publish(plant.script.outside)
    await until(lambda: len(plant.heard) == 1)
    if another:  # and for a while no worker runs
        await plant.idle()
        await worker.stop()
        await plant.worker(clock=True, network=HASTY)
    await until(lambda: len(by_id(plant)) == 2)
    one, two = by_id(plant).values()
    assert challenge(one) == challenge(two)
    first, second = await plant.store.steps(UE)
    (started,) = [e for e in first.events if isinstance(e, TimerStarted)]
    assert (started.name, started.at) == ("T3560", first.at + 1000)
    assert second.at >= started.at - 250
    assert second.at <= time.time_ns() // 1_000_000
    assert TimerStopped("T3560") in second.events
    assert any(isinstance(e, TimerStarted) and e.count == 1 for e in second.events)


async def test_a_wake_up_that_comes_twice_is_one_repetition(plant: Plant) -> None:
    await plant.worker(clock=True, network=HASTY)
    await plant.publish(plant.script.outside)
    await until(lambda: len(plant.heard) == 2)
    (_, second) = (await plant.store.steps(UE))[:2]
    await plant.publish([second.trigger, second.trigger])
    await plant.idle()
    steps = await plant.store.steps(UE)
    assert [step.trigger.id for step in steps].count(second.trigger.id) == 1
