"""Removal of strangers (docs/decisions/0031), on a real broker, a real store and real workers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

import wire
from eventing import subjects
from eventing.jetstream.earlier import EarlierEvents, Waiting
from functions.announcer.announcer import Announcer, AnnouncerConfig, OtherStoreError
from functions.announcer.position import Position
from functions.announcer.reader import Reader
from functions.runtime import strangers
from functions.runtime.strangers import Strangers
from schemas.aggregates import gnb_aggregate, ue_aggregate
from schemas.config.strangers import DEFAULT_POLICY, StrangerPolicy
from schemas.identity import partition_of, slot_of
from schemas.procedures import Procedure
from schemas.ue.state import Ue
from statestore.contract import Removal
from tests.eventing.brokers import until
from tests.functions.gnb import ng_setup, setup_request
from tests.functions.phone import Phone
from tests.runtime import plant as plants
from tests.runtime.plant import BUS, Plant
from tests.runtime.script import FUTURE_MS, Script

HOUR = 3_600_000
KNOWN, UNSUBSCRIBED, WRONG, UNSURE = 1, 77, 2, 3
OTHER_GNB = "001-01-gnb-24-77"


def stranger(script: Script, number: int) -> Phone:
    """A UE without a subscription. Its registration is rejected, and its connection released."""
    phone = Phone(script, number)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    return phone


def unidentified(script: Script, number: int) -> None:
    """A UE with an unknown 5G-GUTI. It leaves before it tells its SUCI."""
    phone = Phone(script, number)
    phone.guti = {
        "plmn": "999-99",
        "amf-region-id": 9,
        "amf-set-id": 9,
        "amf-pointer": 9,
        "tmsi": number,
    }
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.hear()
    phone.ngap("UEContextReleaseComplete")


def wrong(script: Script) -> None:
    """A sender with the SUCI of a subscriber and another key."""
    phone = Phone(script, WRONG)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    response = {
        "message-type": "authentication-response",
        "authentication-response-parameter": {"octets": "00" * 16},
    }
    phone.say(response, header=0)
    phone.hear()
    phone.ngap("UEContextReleaseComplete")


def unsure(script: Script) -> None:
    """A USIM that proves itself by an AUTS, and leaves."""
    phone = Phone(script, UNSURE)
    phone.sqn = 1 << 20
    phone.initial(wire.nas_encode(phone.request()))
    phone.say(phone.synch_failure(phone.hear()[-1]), header=0)
    phone.hear()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.hear()
    phone.ngap("UEContextReleaseComplete")


def refused_setup(script: Script, gnb: str) -> None:
    """NG SETUP of a gNB of an unknown PLMN."""
    script.uplink(setup_request(plmn="999-99"), gnb, "a77")
    assert script.names() == ["NGSetupFailure"]


@pytest.fixture(scope="module")
def crowd() -> Script:
    """A known UE, one that synchronised its SQN, four strangers, and a refused gNB."""
    script = Script(3)
    with script.lane():
        ng_setup(script)
    with script.lane():
        refused_setup(script, OTHER_GNB)
    stories: Sequence[Callable[[], object]] = (
        lambda: wrong(script),
        lambda: unsure(script),
        lambda: unidentified(script, 501),
        lambda: stranger(script, UNSUBSCRIBED),
    )
    for story in stories:
        with script.lane():
            story()
    with script.lane():
        Phone(script, KNOWN).register()
    script.verify()
    return script


async def play(plant: Plant) -> None:
    """Play the known UE last: the newest aggregate is never removed."""
    node, *others, known = plant.script.lanes
    await plant.play(node)
    await plant.play(*others)
    await plant.play(known)


@pytest.fixture
async def plant(tmp_path: Path, crowd: Script) -> AsyncGenerator[Plant]:
    async with plants.running(tmp_path, crowd) as plant:
        await plant.worker()
        await play(plant)
        await plant.idle()
        yield plant


def removal(
    plant: Plant, policy: StrangerPolicy = DEFAULT_POLICY, removed: list[str] | None = None
) -> Strangers:
    gone = [] if removed is None else removed
    none_earlier = EarlierEvents(plant.client, BUS.partitions).none_earlier
    return Strangers(
        plant.store.log, policy, BUS.partitions, lambda _: True, none_earlier, gone.append
    )


def names(script: Script) -> set[str]:
    """The aggregates of the strangers of the script."""
    found = {ue_aggregate(f"imsi-00101{n:010d}") for n in (UNSUBSCRIBED, WRONG)}
    found |= {name for name in script.heads if name.startswith("ue/unidentified")}
    return found | {gnb_aggregate(OTHER_GNB)}


async def test_strangers_and_only_strangers_are_removed(plant: Plant, crowd: Script):
    left = {n: h for n, h in crowd.heads.items() if n not in names(crowd)}
    gone: list[str] = []
    assert len(names(crowd)) == 4
    assert await removal(plant, removed=gone).remove(FUTURE_MS + HOUR) == 4
    assert set(gone) == names(crowd)
    assert await plant.store.heads() == left
    kept = {entry: owner for entry, owner in crowd.owners.items() if owner in left}
    for kind in ("ngap", "tmsi", "gnb", "wake", "stranger", "tai"):
        assert dict(await plant.store.scan(kind, "")) == {
            key: owner for (its, key), owner in kept.items() if its == kind
        }
    known = ue_aggregate(f"imsi-00101{KNOWN:010d}")
    (state,) = await plant.store.log.load([known])
    assert isinstance(state.state, Ue)
    assert state.state.registered


async def test_not_before_their_time(plant: Plant, crowd: Script):
    policy = StrangerPolicy(keep_for=3600)
    assert await removal(plant, policy).remove(FUTURE_MS + HOUR - 1) == 0
    assert await plant.store.heads() == crowd.heads


async def test_the_oldest_of_too_many_go_first(plant: Plant, crowd: Script):
    """But not while one of their events may be redelivered."""
    few = StrangerPolicy(max_kept=1)
    assert await removal(plant, few).remove(FUTURE_MS + 29_000) == 0
    order = [owner for _, owner in await plant.store.scan("stranger", "")]
    assert set(order) == names(crowd)
    assert await removal(plant, few).remove(FUTURE_MS + 30_000) == 3
    assert [owner for _, owner in await plant.store.scan("stranger", "")] == order[-1:]


async def test_one_with_an_event_in_the_stream_stays(plant: Plant):
    """Its worker may have died between the append and the acknowledgement."""
    name = ue_aggregate(f"imsi-00101{UNSUBSCRIBED:010d}")

    async def none_earlier(waiting: Sequence[Waiting]) -> list[bool]:
        slot = slot_of(name.removeprefix("ue/"))
        return [slot not in one.slots for one in waiting]

    checked = Strangers(
        plant.store.log, StrangerPolicy(), 2, lambda _: True, none_earlier, lambda _: None
    )
    assert await checked.remove(FUTURE_MS + HOUR) == 3
    assert name in await plant.store.heads()


async def test_the_last_event_of_a_stranger_counts_itself(plant: Plant):
    """The stream is asked for all events up to the last processed one, inclusive."""
    asked: list[Waiting] = []

    async def none_earlier(waiting: Sequence[Waiting]) -> list[bool]:
        asked.extend(waiting)
        return [False] * len(waiting)

    checked = Strangers(
        plant.store.log, StrangerPolicy(), 2, lambda _: True, none_earlier, lambda _: None
    )
    assert await checked.remove(FUTURE_MS + HOUR) == 0
    for one in asked:
        own = [
            step.trigger.position
            for _, owner in await plant.store.scan("stranger", "")
            for step in await plant.store.steps(owner)
            if step.trigger.slot == one.own
        ]
        assert all(p is None or p.precedes(one.position) for p in own)
    assert len(asked) == 4


async def test_a_worker_removes_those_of_its_partitions_only(plant: Plant, crowd: Script):
    mine = subjects.consumer(0, Procedure.REGISTRATION)
    none_earlier = EarlierEvents(plant.client, BUS.partitions).none_earlier
    one = Strangers(plant.store.log, StrangerPolicy(), 2, mine.__eq__, none_earlier, lambda _: None)
    slots = {owner: int(key.split("/")[1]) for key, owner in await plant.store.scan("stranger", "")}
    wanted = {n for n, s in slots.items() if partition_of(s, 2) == 0 and n.startswith("ue/")}
    await one.remove(FUTURE_MS + HOUR)
    assert crowd.heads.keys() - await plant.store.heads() == wanted


async def test_a_removed_stranger_begins_again(
    tmp_path: Path, crowd: Script, monkeypatch: pytest.MonkeyPatch
):
    """The worker has removed it, and decides the same events as those of a new UE."""
    monkeypatch.setattr(strangers, "PERIOD", 0.05)
    name = ue_aggregate(f"imsi-00101{UNSUBSCRIBED:010d}")
    async with plants.running(tmp_path, crowd) as plant:
        await plant.worker(strangers=StrangerPolicy(max_kept=0))
        await play(plant)
        monkeypatch.setattr(strangers, "SETTLED", -1e10)

        async def all_gone() -> bool:
            return not names(crowd) & (await plant.store.heads()).keys()

        await until(all_gone)
        again = Script(3)
        phone = Phone(again, UNSUBSCRIBED)
        with again.lane():
            phone.initial(wire.nas_encode(phone.request()))
        event = again.lanes[0][0].events[0]
        plant.script = again
        await plant.publish([event])
        await plant.reached({name: 1})
        (step, *_) = await plant.store.steps(name)
        assert step.seq == 1
        assert not await plant.letters()


async def test_an_announcer_goes_on(plant: Plant):
    """It has read a page of the feed before the strangers of the page are removed."""
    entries = await plant.store.feed()
    reader = Reader(plant.store.log, "/amf/test")
    assert await removal(plant).remove(FUTURE_MS + HOUR) == 4
    told = [(e.aggregate, [a.type for a in events]) for e, events in await reader.read(entries)]
    assert any(events for _, events in told)
    later = await reader.read(await plant.store.feed())
    assert [e.cursor for e, _ in later] == sorted(e.cursor for e, _ in later)


async def test_a_stranger_that_proves_itself_meanwhile_stays(plant: Plant, crowd: Script):
    """It has got a step after it was read."""
    name = ue_aggregate(f"imsi-00101{WRONG:010d}")
    (read,) = await plant.store.log.load([name])
    head = crowd.heads[name]
    assert await plant.store.remove([Removal(name, head - 1, read.data_key)]) == [False]
    assert (await plant.store.heads())[name] == head


async def test_removal_goes_on_after_an_error(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(strangers, "PERIOD", 0.0)
    found = removal(plant)
    calls: list[int] = []

    async def remove(now: int) -> int:
        calls.append(now)
        if len(calls) == 1:
            raise RuntimeError("a bug")
        return 0

    monkeypatch.setattr(found, "remove", remove)
    task = asyncio.ensure_future(found.run())

    async def again() -> bool:
        return len(calls) >= 2

    await until(again)
    task.cancel()


async def test_an_announcer_behind_a_removed_step_goes_on(plant: Plant):
    """The step that it announced last is not there, but the store is the same one."""
    name = ue_aggregate(f"imsi-00101{WRONG:010d}")
    entry = [one for one in await plant.store.feed() if one.aggregate == name][-1]
    position = Position(entry.cursor, name, entry.seq)
    config = AnnouncerConfig("http://127.0.0.1:1", "test")
    announcer = Announcer(config, plant.client, plant.store.log)
    await removal(plant).remove(FUTURE_MS + HOUR)
    await announcer._check(position)  # pyright: ignore[reportPrivateUsage]
    known = ue_aggregate(f"imsi-00101{KNOWN:010d}")
    head = (await plant.store.heads())[known]
    for other in (Position(entry.cursor, known, head + 1), Position(b"\xff" * 8, name, entry.seq)):
        with pytest.raises(OtherStoreError):
            await announcer._check(other)  # pyright: ignore[reportPrivateUsage]


async def test_one_that_has_just_come_back_stays(plant: Plant):
    """Its time counts from its first record, but its last events may be redelivered."""
    name = ue_aggregate(f"imsi-00101{UNSUBSCRIBED:010d}")
    (aggregate,) = await plant.store.log.load([name])
    last = aggregate.tail[-1]
    before, now = aggregate.state, FUTURE_MS + HOUR
    again = replace(
        last, seq=last.seq + 1, at=now - 1000, trigger=replace(last.trigger, id="x"), events=()
    )
    aggregate.apply(again)
    await plant.store.append([plant.store.log.entry(aggregate, again, before)])
    assert await removal(plant).remove(now) == 3
    assert name in await plant.store.heads()
    assert await removal(plant).remove(now + 30_000) == 0, "the last step of the feed"
