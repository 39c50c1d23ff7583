"""Shared wake-ups of UEs: requested once, delivered to each UE, and never lost."""

import time

import pytest
from msgspec.structs import replace
from nats.aio.client import Client

import wire
from eventing import subjects
from eventing.jetstream.messages import Outgoing, events_of
from functions.runtime import fan_out, wakes
from functions.runtime.effects import Effects
from functions.runtime.wakes import SharedWakes
from schemas.cloudevents import CloudEvent, EventType, TimersDue
from schemas.identity import partition_of, slot_of
from schemas.network import Timers
from schemas.procedures import Procedure
from schemas.step import encode
from schemas.ue.waking import MOBILE_REACHABLE, WAKE, shared_by, wake_key
from statestore.contract import Append, Appended, IndexKey
from tests.eventing import brokers
from tests.eventing.brokers import until
from tests.functions.world import NETWORK
from tests.runtime.plant import Plant
from tests.runtime.script import Script

HASTY = replace(NETWORK, timers=Timers(t3560=3))
UES = 6


def supi(number: int) -> str:
    return f"imsi-00101{number:010d}"


def ms() -> int:
    return time.time_ns() // 1_000_000


# The key


@pytest.mark.parametrize(
    ("at", "timer", "shared"),
    [
        (1024, "T3560", (1024, "registration")),
        (1025, "T3560", (1536, "registration")),
        (1, "T3592/5", (512, "session")),
        (1, MOBILE_REACHABLE, (65_536, "deregistration")),
        (4_000_000_000_000, "n4", (4_000_000_000_000, "session")),
    ],
)
def test_a_wake_up_is_late_by_a_little_and_never_early(
    at: int, timer: str, shared: tuple[int, str]
) -> None:
    key = wake_key(at, timer, supi(1))
    assert shared_by(key) == shared
    assert key.endswith(f"/{supi(1)}")
    assert at <= shared[0] < at + 65_536


def test_keys_are_in_the_order_of_time() -> None:
    keys = [wake_key(at, "T3560", supi(1)) for at in (5, 999_999, 10**12, 10**12 + 512)]
    assert keys == sorted(keys)


# Requests


def ask(shared: SharedWakes, number: int, at: int, timer: str = "T3560") -> Outgoing | None:
    return shared.schedule(
        f"test/{number}/wake", f"ue/{supi(number)}", wake_key(at, timer, supi(number))
    )


def neighbours() -> tuple[int, int, int]:
    """Two UEs of one partition and one of another."""
    first, *rest = range(1, 20)
    here = partition_of(slot_of(supi(first)), 2)
    second = next(n for n in rest if partition_of(slot_of(supi(n)), 2) == here)
    other = next(n for n in rest if partition_of(slot_of(supi(n)), 2) != here)
    return first, second, other


def test_what_jetstream_has_is_not_asked_for_again() -> None:
    first, second, other = neighbours()
    shared, at = SharedWakes(2), ms() + 60_000
    asked = ask(shared, first, at)
    assert asked is not None
    assert asked.headers["Nats-Schedule-Target"].startswith(f"ue.{int(asked.subject[6])}.registr")
    assert ask(shared, second, at) is not None, "it is not acknowledged yet"
    shared.stored([asked])
    assert ask(shared, second, at) is None
    assert ask(shared, other, at) is not None
    assert ask(shared, second, at + 512) is not None
    assert ask(shared, second, at, "T3592") is not None


def test_a_wake_up_that_is_near_is_asked_for_each_time() -> None:
    """It may already have expired without effect."""
    shared, at = SharedWakes(2), ms() + 1000
    asked = ask(shared, 1, at)
    assert asked is not None
    shared.stored([asked])
    assert ask(shared, 1, at) == asked


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakes, "REMEMBERED", 2)
    shared, begin = SharedWakes(2), ms() + 60_000
    for number in range(3):
        asked = ask(shared, 1, begin + 512 * number)
        assert asked is not None
        shared.stored([asked])
    assert [ask(shared, 1, begin + 512 * n) is None for n in range(3)] == [False, True, True]


def test_what_jetstream_has_had_is_not_believed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, at = SharedWakes(2), ms() + 600_000
    asked = ask(shared, 1, at)
    assert asked is not None
    shared.stored([asked])
    assert ask(shared, 1, at) is None
    later = time.monotonic() + wakes.TRUST
    monkeypatch.setattr(wakes.time, "monotonic", lambda: later)
    assert ask(shared, 1, at) == asked


# Delivery


async def all_pages(effects: Effects, event: CloudEvent) -> list[list[tuple[str, CloudEvent]]]:
    """Return the events of each page with their subjects, as workers publish them."""
    pages: list[list[tuple[str, CloudEvent]]] = []
    due: CloudEvent | None = event
    while due is not None:
        page = await effects.page(due, 0.0)
        due = None
        pages.append([])
        for message in page.messages:
            for one in events_of(message.headers, message.data):
                if one.type == EventType.TIMERS_DUE:
                    due = one
                else:
                    pages[-1].append((message.subject, one))
    return pages


async def test_those_of_the_partition_are_woken_page_by_page(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fan_out, "PAGE", 3)
    for number in range(1, 13):
        name, due = f"ue/{supi(number)}", 1024 if number < 11 else 2048
        entry = IndexKey(WAKE, wake_key(due, "T3560", supi(number)))
        made = Append(name, 1, f"t-{number}", b"x", data_key=b"k", put=(entry,))
        assert await plant.store.append([made]) == [Appended()]
    found: dict[str, CloudEvent] = {}
    for partition in range(2):
        event = CloudEvent(
            id="ue/x/3/0",
            source="/ue/x",
            type=EventType.TIMERS_DUE,
            partitionkey="wakes-registration-1024",
            data=encode(TimersDue(1024)),
            procedure=Procedure.REGISTRATION,
            slot=partition,
        )
        effects = Effects(plant.store.log, 2)
        pages = await all_pages(effects, event)
        assert all(len(page) <= 3 for page in pages)
        for subject, one in [found for page in pages for found in page]:
            assert one.type == EventType.TIMER
            assert subject.startswith(f"ue.{partition}.registration.")
            found[one.partitionkey] = one
        again = await all_pages(effects, event)
        assert again == pages, "a copy gives the same"
    assert sorted(found) == [f"ue/{supi(number)}" for number in range(1, 11)]
    assert len({one.id for one in found.values()}) == 10


@pytest.fixture
def script() -> Script:
    """UEs that send one message and receive no answer."""
    script = Script(UES)
    for phone in script.phones():
        with script.lane():
            phone.initial(wire.nas_encode(phone.request()))
    return script


async def pending(client: Client) -> list[str]:
    """Return the names of the wake-ups that JetStream holds."""
    found = await brokers.stored(client)
    waiting = [s for s in found if s.subject.startswith(subjects.TIMERS)]
    return [s.headers["ce-partitionkey"] for s in waiting if s.subject != subjects.TIMERS_MADE]


@pytest.mark.parametrize("die", [False, True], ids=["the same worker", "another worker"])
async def test_ues_that_wait_together_are_woken_together(plant: Plant, die: bool) -> None:
    worker = await plant.worker(clock=True, network=HASTY)
    await plant.publish(plant.script.outside)
    await until(lambda: len(plant.heard) == UES)
    await plant.idle()
    names = await pending(plant.client)
    assert len(names) <= 2 * plant.config.partitions < UES, "not one for each UE"
    assert all(name.startswith("wakes-registration-") for name in names)
    if die:
        await worker.kill()
        await plant.worker(clock=True, network=HASTY)
    # A gateway sends the message of an event once.
    await until(lambda: len({heard.id for heard in plant.heard}) == 2 * UES)
    challenges = [*{heard.id: heard.data for heard in plant.heard}.values()]
    assert {challenges.count(data) for data in challenges} == {2}, "each is repeated once"
