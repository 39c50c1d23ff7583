"""Timers that JetStream has lost fire nevertheless: the log says which there must be."""

import shutil
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
from msgspec.structs import replace

import wire
from eventing import subjects
from eventing.jetstream.messages import addressed, schedule
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import ensure
from functions.runtime import timer_check
from functions.runtime.timer_check import TimerCheck, is_marked, make_again
from schemas.cloudevents import CloudEvent, EventType
from schemas.gmm.events import Deregistered
from schemas.procedures import Procedure
from schemas.ue.state import Ue
from schemas.ue.waking import WAKE, wake_key
from schemas.upf import Upf
from statestore.contract import Append, Appended, IndexKey
from statestore.log import EventLog
from tests.eventing import brokers
from tests.eventing.brokers import until
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK, UPF, World, subscriber
from tests.runtime.plant import Plant, listen
from tests.runtime.script import FOREIGN_GUTI, Script
from tests.runtime.test_http_function import dispatched

CHANGED = replace(N4_NETWORK, name="renamed")


class Waiting(NamedTuple):
    """An aggregate with a running timer, in a core in memory."""

    world: World
    name: str

    @property
    def due(self) -> int:
        """The time of its wake-up in milliseconds."""
        found: int = self.world.states[self.name].wake_at
        return found


def a_ue_with_a_challenge(now: int) -> Waiting:
    world = World(subscriber(3))
    world.now = now
    phone = Phone(world, 3)
    phone.initial(wire.nas_encode(phone.request()))
    return Waiting(world, "ue/imsi-001010000000003")


def an_unidentified_ue(now: int) -> Waiting:
    world = World(subscriber(4))
    world.now = now
    phone = Phone(world, 4)
    phone.guti = dict(FOREIGN_GUTI)
    phone.initial(wire.nas_encode(phone.request()))
    (name,) = (name for name in world.states if name.startswith("ue/unidentified-"))
    return Waiting(world, name)


def an_idle_ue(now: int) -> Waiting:
    """A UE of which the mobile reachable timer has expired."""
    world = World(subscriber(2))
    world.now = now
    ng_setup(world)
    phone = Phone(world, 2)
    phone.register()
    phone.idle()
    found = Waiting(world, "ue/imsi-001010000000002")
    world.advance((found.due - world.now) / 1000)
    assert "implicit-deregistration" in world.states[found.name].timers
    return found


def a_session_without_an_answer(now: int) -> Waiting:
    site = Site()
    site.world.advance((now - site.world.now) / 1000)
    site.upfs.silent = True
    site.ask()
    return Waiting(site.world, "ue/imsi-001010000000001")


def a_gnb_without_an_answer(now: int) -> Waiting:
    world = World()
    world.now = now
    ng_setup(world)
    world.reconfigure(CHANGED)
    (name,) = (name for name in world.states if name.startswith("gnb/"))
    return Waiting(world, name)


def a_upf_that_refuses(now: int) -> Waiting:
    world = World(network=N4_NETWORK)
    world.now = now
    world.path()
    _, key, number, pdu = world.pfcp.popleft()
    world.unanswered(UPF, key, number, pdu)
    return Waiting(world, f"upf/{UPF}")


EVERY: list[Callable[[int], Waiting]] = [
    a_ue_with_a_challenge,
    an_unidentified_ue,
    an_idle_ue,
    a_session_without_an_answer,
    a_gnb_without_an_answer,
    a_upf_that_refuses,
]


def due_at(make: Callable[[int], Waiting], at: int) -> Waiting:
    """Return an aggregate with a timer that ends at a time in milliseconds."""
    begin = at - 20_000_000
    return make(begin + at - make(begin).due)


async def store(log: EventLog, found: Waiting) -> None:
    """Append the steps of an aggregate to a store, as its workers did."""
    (aggregate,) = await log.load([found.name])
    for step in found.world.steps[found.name]:
        before = aggregate.state
        aggregate.apply(step)
        entry = EventLog.entry(aggregate, step, before)
        assert await log.engine.append([entry]) == [Appended()]


@pytest.fixture
def script() -> Script:
    return Script(4)


@pytest.mark.parametrize("seconds", [1.5, -3600.0], ids=["to come", "overdue"])
async def test_each_timer_of_a_restored_log_fires(plant: Plant, seconds: float) -> None:
    """A backup has only the log: JetStream has no message of it."""
    await listen(plant.client, "n4.>", plant.heard)
    at = time.time_ns() // 1_000_000 + int(seconds * 1000)
    names: list[str] = []
    for make in EVERY:
        found = due_at(make, at)
        assert found.due == at
        await store(plant.store.log, found)
        names.append(found.name)
    before = await plant.store.heads()
    await plant.worker(clock=True, network=CHANGED)

    async def all_decided() -> bool:
        now = await plant.store.heads()
        return all(now[name] > before[name] for name in names)

    await until(all_decided)
    await plant.idle()
    for name in names:
        step = (await plant.store.steps(name))[before[name]]
        assert (step.trigger.type, step.at >= at) == (EventType.TIMER, True), name
    idle = await plant.store.steps("ue/imsi-001010000000002")
    assert any(isinstance(event, Deregistered) for step in idle for event in step.events)
    sent = {heard.headers["ce-partitionkey"].partition("-")[0] for heard in plant.heard}
    assert {"seid", "upf/10.9.0.1", "001"} <= sent, "N4 requests and NGAP messages are repeated"


async def test_the_files_of_jetstream_are_lost(plant: Plant) -> None:
    """The worker before had its timers in the JetStream that is lost."""
    at = time.time_ns() // 1_000_000 + 4000
    found = due_at(a_session_without_an_answer, at)
    await store(plant.store.log, found)
    worker = await plant.worker(clock=True, network=N4_NETWORK)
    await until(lambda: is_marked(plant.client))
    await worker.stop()
    await plant.bus.end(kill=True)
    shutil.rmtree(plant.path / "jetstream")
    await plant.bus.start()

    async def made() -> bool:
        try:
            await ensure(plant.client, plant.config)
        except Exception:  # the client has not found the server yet
            return False
        return not await is_marked(plant.client)

    await until(made)
    await listen(plant.client, "n4.>", plant.heard)
    await plant.worker(clock=True, network=N4_NETWORK)
    await until(lambda: any(h.subject.startswith("n4.") for h in plant.heard))


async def test_http_functions_make_them_again(plant: Plant) -> None:
    found = due_at(a_ue_with_a_challenge, time.time_ns() // 1_000_000 - 3_600_000)
    await store(plant.store.log, found)
    async with dispatched(plant):
        await plant.reached({found.name: len(found.world.steps[found.name]) + 1})
    assert (await plant.store.steps(found.name))[-1].trigger.type == EventType.TIMER


async def check_of(plant: Plant) -> TimerCheck:
    publisher = Publisher(plant.client, plant.config.partitions)
    await publisher.start()
    return TimerCheck(plant.client, plant.store, publisher, lambda _: True)


async def marked(plant: Plant) -> TimerCheck:
    """Return a check of a stream that has had all wake-ups."""
    check = await check_of(plant)
    assert await check.check(time.time()) == 0
    assert await is_marked(plant.client)
    return check


async def test_a_lost_message_is_noticed(plant: Plant) -> None:
    check = await marked(plant)
    at = time.time_ns() // 1_000_000
    await store(plant.store.log, due_at(a_ue_with_a_challenge, at))
    assert await check.check(time.time()) == 0, "it may still come"
    assert await check.check(time.time() + 11) == 1
    await plant.worker(clock=True, network=N4_NETWORK)
    await until(lambda: any(heard.id.endswith("/2/0") for heard in plant.heard))


async def test_what_waits_in_a_queue_is_not_lost(plant: Plant) -> None:
    check = await marked(plant)
    at = time.time_ns() // 1_000_000
    found = due_at(a_ue_with_a_challenge, at)
    await store(plant.store.log, found)
    event = CloudEvent(
        "t", "/ue", EventType.TIMER, found.name, procedure=Procedure.REGISTRATION, slot=0
    )
    for slot in range(2):
        publisher = Publisher(plant.client, 2)
        await publisher.start()
        await publisher.publish([addressed(replace(event, slot=slot), 2).outgoing])
    assert await check.check(time.time() + 11) == 0
    await plant.worker((Procedure.RAN,))  # not of these events
    assert await check.check(time.time() + 11) == 0


async def test_what_waits_for_its_turn_is_not_lost(plant: Plant) -> None:
    """A wake-up of many UEs is published page by page; later pages are scheduled."""
    check = await marked(plant)
    at = time.time_ns() // 1_000_000
    await store(plant.store.log, due_at(a_ue_with_a_challenge, at))
    publisher = Publisher(plant.client, 2)
    await publisher.start()
    for slot in range(2):
        event = CloudEvent(
            "t", "/ue", EventType.TIMERS_DUE, "wakes", procedure=Procedure.REGISTRATION, slot=slot
        )
        page = schedule(event, "page-ue/imsi-001010000000009/1/wake", at + 60_000, 2)
        await publisher.publish([page])
    assert await check.check(time.time() + 11) == 0
    await plant.client.jetstream().purge_stream(subjects.STREAM, subject="timer.*.>")
    assert await check.check(time.time() + 11) == 1


async def test_a_timer_that_cannot_be_decided_is_woken_less_and_less(plant: Plant) -> None:
    check = await marked(plant)
    at = time.time_ns() // 1_000_000
    await store(plant.store.log, due_at(a_ue_with_a_challenge, at))
    woken: list[int] = []
    for _ in range(16):
        woken.append(await check.check(time.time() + 11))
        await plant.client.jetstream().purge_stream(subjects.STREAM, subject="ue.>")
    assert woken == [1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]


async def test_timers_of_other_workers_are_left_to_them(plant: Plant) -> None:
    await marked(plant)
    at = time.time_ns() // 1_000_000
    await store(plant.store.log, due_at(a_ue_with_a_challenge, at))
    publisher = Publisher(plant.client, plant.config.partitions)
    await publisher.start()
    other = TimerCheck(plant.client, plant.store, publisher, lambda name: "session" in name)
    assert await other.check(time.time() + 11) == 0


async def test_many_entries_are_read_page_by_page(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wake-up is made once, however many UEs share it."""
    monkeypatch.setattr(timer_check, "PAGE", 7)
    at = 4_000_000_000_256
    for number in range(60):
        supi = f"imsi-00101{number:010d}"
        key = IndexKey(WAKE, wake_key(at + 10_000 * (number % 3), "T3560", supi))
        made = Append(f"ue/{supi}", 1, "t", b"x", data_key=b"k", put=(key,))
        assert await plant.store.append([made]) == [Appended()]
    publisher = Publisher(plant.client, plant.config.partitions)
    await publisher.start()
    assert await make_again(plant.client, plant.store, publisher) == 6
    kept = [s.subject for s in await brokers.stored(plant.client)]
    assert len(kept) == len(set(kept)) == 7, "three times, two partitions, and the mark"
    assert await make_again(plant.client, plant.store, publisher) == 6
    assert sorted(s.subject for s in await brokers.stored(plant.client)) == sorted(kept)


def test_a_stopped_timer_has_no_entry() -> None:
    """Else the entries of connected UEs would be overdue for ever."""
    world = World()
    ng_setup(world)
    Phone(world).register()
    ue = world.states["ue/imsi-001010000000001"]
    assert isinstance(ue, Ue)
    assert (ue.timers, ue.wake_at > 0) == ({}, True)
    assert not [key for key in world.owners if key[0] == WAKE]


def test_a_upf_without_configuration_has_no_timer() -> None:
    found = a_upf_that_refuses(1_700_000_000_000)
    assert [key for key in found.world.owners if key[0] == WAKE]
    found.world.network = replace(N4_NETWORK, upfs=())
    found.world.advance(60)
    upf = found.world.states[found.name]
    assert isinstance(upf, Upf)
    assert upf.wake_at == 0
    assert not [key for key in found.world.owners if key[0] == WAKE]
