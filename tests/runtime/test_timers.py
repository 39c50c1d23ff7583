"""Timers that expire: any running worker sends the retransmission."""

import time

import pytest
from msgspec.structs import replace

import wire
from functions.runtime import effects
from functions.runtime.wakes import AWAY, GRACE, postponed
from schemas.cloudevents import EventType, FanOutDue, TimersDue
from schemas.network import Timers
from schemas.position import Position
from schemas.step import encode
from schemas.ue.events import TimerStarted, TimerStopped
from schemas.ue.waking import FINE
from tests.eventing.brokers import event, until
from tests.functions.gnb import ies_of
from tests.functions.world import NETWORK
from tests.runtime.plant import Heard, Plant
from tests.runtime.script import Script

HASTY = replace(NETWORK, timers=Timers(t3560=1))
UE = "ue/imsi-001010000000001"


@pytest.fixture
def script() -> Script:
    """A UE that sends a request, and an answer that only some tests play."""
    script = Script(1)
    (phone,) = script.phones()
    with script.lane():
        phone.initial(wire.nas_encode(phone.request()))
        phone.authenticate()
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
    await plant.publish(plant.script.outside[:1])
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
    await plant.publish(plant.script.outside[:1])
    await until(lambda: len(plant.heard) == 2)
    (_, second) = (await plant.store.steps(UE))[:2]
    await plant.publish([second.trigger, second.trigger])
    await plant.idle()
    steps = await plant.store.steps(UE)
    assert [step.trigger.id for step in steps].count(second.trigger.id) == 1


@pytest.mark.parametrize("shared", [False, True], ids=["a wake-up of its own", "a shared wake-up"])
async def test_what_the_ue_sent_while_the_broker_was_away_stops_its_timer(
    plant: Plant, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JetStream delivers the wake-up as soon as it is back, and gateways publish a little later."""
    monkeypatch.setattr(effects, "FINE", 0 if shared else 10_000)
    await plant.worker(clock=True, network=HASTY)
    await plant.publish(plant.script.outside[:1])
    await until(lambda: len(plant.heard) == 1)
    await plant.idle()
    (challenged,) = await plant.store.steps(UE)
    await plant.bus.end(kill=True)
    back = challenged.at / 1000 + HASTY.timers.t3560 + FINE / 1000 + AWAY
    await until(lambda: time.time() > back)
    await plant.bus.start()
    await until(lambda: plant.client.is_connected)

    async def woken() -> bool:
        return len(plant.heard) > 1 or await plant.delivered() > 0

    await until(woken)
    await plant.publish(plant.script.outside[1:])
    await plant.idle()
    answered, *later = (await plant.store.steps(UE))[1:]
    assert answered.trigger.type == EventType.NGAP_UPLINK
    assert TimerStopped("T3560") in answered.events
    assert all(step.trigger.type == EventType.TIMER for step in later)
    assert len({heard.id for heard in plant.heard if heard.id.startswith(f"{UE}/1/")}) == 1


@pytest.mark.parametrize(
    ("kind", "data", "stored", "now", "seconds"),
    [
        (EventType.TIMERS_DUE, TimersDue(5000), 5999, 6000, 0.0),
        (EventType.TIMERS_DUE, TimersDue(5000), 6000, 6000, GRACE),
        (EventType.TIMERS_DUE, TimersDue(5000), 6000, 6500, GRACE - 0.5),
        (EventType.TIMERS_DUE, TimersDue(5000), 6000, 9000, 0.0),
        (EventType.TIMERS_DUE, TimersDue(5000, first="t", after="u"), 6000, 6000, 0.0),
        (EventType.TIMER, TimersDue(5000), 6000, 6000, GRACE),
        (EventType.TIMER, None, 6000, 6000, 0.0),
        (EventType.FAN_OUT, FanOutDue("ue/imsi-1", 1, 0), 6000, 6000, 0.0),
    ],
)
def test_wake_ups_wait_after_an_outage(
    kind: EventType, data: TimersDue | FanOutDue | None, stored: int, now: int, seconds: float
) -> None:
    octets = b"" if data is None else encode(data)
    found = event(1, type=kind, data=octets, position=Position(1, 0, stored))
    assert postponed(found, now) == seconds
    assert postponed(replace(found, position=None), now) == 0
    assert postponed(replace(found, procedure="session"), now) == 0


@pytest.mark.parametrize(("quiet", "seconds"), [(0.5, GRACE - 0.5), (GRACE, 0.0)])
def test_wake_ups_in_time_wait_if_jetstream_was_away_a_moment_before(
    quiet: float, seconds: float
) -> None:
    """What has come before them is being published."""
    due = encode(TimersDue(5000))
    found = event(1, type=EventType.TIMER, data=due, position=Position(1, 0, 5100))
    assert postponed(found, 5100, quiet) == seconds
    assert postponed(replace(found, procedure="session"), 5100, quiet) == 0
    later = encode(TimersDue(5000, first="t", after="u"))
    assert postponed(replace(found, data=later), 5100, quiet) == 0
