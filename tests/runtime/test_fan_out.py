"""Events for many UEs: page by page, each once, and after a crash from where they were."""

from collections import deque
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from eventing.jetstream.messages import Addressed, Outgoing, events_of
from functions.runtime import fan_out, pace
from functions.runtime.effects import Effects, responds_last
from schemas.cloudevents import CloudEvent, ConnectionLost, EventType, FanOutDue, SessionLost
from schemas.identity import index_seid, make_amf_ue_ngap_id, make_seid, partition_of, slot_of
from schemas.procedures import Procedure
from schemas.step import FanOut, FanOutSessions, Output, SendNgap, SendPfcp, Step, encode
from statestore.contract import Append, Appended, IndexKey
from statestore.log import EventLog
from tests.runtime.script import registrations
from tests.runtime.store import Store, opened

UPF, GNB = "upf/10.9.0.1", "gnb/gnb-1"
PARTITIONS = 4
SESSIONS = FanOutSessions("10.9.0.1", 3_900_000_000, at=7)
CONNECTIONS = FanOut("gnb-1", "a1", "NG RESET", Procedure.AN_RELEASE, order=9)
ACKNOWLEDGE = SendNgap("gnb-1", "a1", b"acknowledge")


class Told(NamedTuple):
    """What a chain of pages published, in order."""

    events: list[CloudEvent]
    pages: list[CloudEvent]
    sent: list[Addressed]


class Site:
    """A store with the step of a fan-out, and workers on it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def put(self, owner: str, kind: str, *keys: str) -> None:
        entries = tuple(IndexKey(kind, key) for key in keys)
        made = Append(owner, 1, f"t-{owner}", b"x", data_key=b"k", put=entries)
        assert await self.store.append([made]) == [Appended()]

    async def decided(self, aggregate: str, *outputs: Output) -> list[CloudEvent]:
        """Append a step with these outputs, and return the events that follow from it."""
        (found,) = await self.store.log.load([aggregate])
        trigger = CloudEvent("t", "/test", EventType.TIMER, aggregate)
        step = Step[Any](1, 1, Procedure.UPF, "1", trigger, b"", "", (), outputs)
        before = found.state
        found.apply(step)
        assert await self.store.append([EventLog.entry(found, step, before)]) == [Appended()]
        return opened_events(self.worker().queued(aggregate, step))

    def worker(self) -> Effects:
        return Effects(self.store.log, PARTITIONS)

    async def tell(self, first: list[CloudEvent], dies_at: int = -1) -> Told:
        """Publish all pages. The worker of one dies before it acknowledges its event."""
        told, todo, effects = Told([], [], []), deque(first), self.worker()
        while todo:
            due = todo.popleft()
            told.pages.append(due)
            page = await effects.page(due, 0.0)
            if len(told.pages) - 1 == dies_at:
                todo.append(due)
                effects = self.worker()
            for event in opened_events(page.messages):
                (todo if event.type == EventType.FAN_OUT else told.events).append(event)
            told.sent.extend(page.then)
        return told


def opened_events(messages: list[Outgoing]) -> list[CloudEvent]:
    """Return the events of messages. A scheduled one comes at its time."""
    return [event for one in messages for event in events_of(one.headers, one.data)]


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Site]:
    monkeypatch.setattr(pace, "AT_ONCE", 1000.0)  # no page waits for its turn
    store = await opened(tmp_path, registrations(1))
    yield Site(store)
    await store.close()


def supi(number: int) -> str:
    return f"imsi-00101000000{number:04}"


async def sessions(site: Site, count: int) -> list[int]:
    seids = [make_seid(n, n) for n in range(1, count + 1)]
    for n, seid in enumerate(seids):
        await site.put(f"ue/{supi(n)}", "upf", f"10.9.0.1/{seid:016x}")
    await site.put("ue/other", "upf", f"10.9.0.11/{seids[0] + 1:016x}")
    return seids


@pytest.mark.parametrize("page", [1, 3, 100])
async def test_each_session_of_a_upf_is_told_once(
    site: Site, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fan_out, "PAGE", page)
    seids = await sessions(site, 7)
    told = await site.tell(await site.decided(UPF, SESSIONS))
    by_key = {event.partitionkey: event for event in told.events}
    assert len(by_key) == len(told.events) == 7
    for n, seid in enumerate(seids):
        event = by_key[index_seid(seid)]
        assert (event.type, event.procedure) == (EventType.SESSION_LOST, Procedure.SESSION)
        assert event.slot == slot_of(supi(n))
        assert event.data == encode(SessionLost(seid, 3_900_000_000, 7))
    assert len(told.pages) == -(-7 // page) + (7 % page == 0)
    used = [partition_of(one.slot or 0, PARTITIONS) for one in told.pages]
    assert used == [(used[0] + n) % PARTITIONS for n in range(len(used))], "all queues in turn"
    assert {one.procedure for one in told.pages} == {Procedure.SESSION}


@pytest.mark.parametrize("dies_at", range(4))
async def test_a_page_is_told_again_after_a_crash_and_the_rest_once(
    site: Site, dies_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copies have the same ids, by which UEs drop them."""
    monkeypatch.setattr(fan_out, "PAGE", 3)
    await sessions(site, 10)
    first = await site.decided(UPF, SESSIONS)
    whole = await site.tell(first)
    told = await site.tell(first, dies_at)
    assert {event.id for event in told.events} == {event.id for event in whole.events}
    assert all(event in whole.events for event in told.events)


async def test_who_comes_later_is_told_what_it_is_about(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session or connection that is newer than the loss: the event says when that was."""
    monkeypatch.setattr(fan_out, "PAGE", 2)
    await sessions(site, 3)
    pages = deque(await site.decided(UPF, SESSIONS))
    effects, later = site.worker(), make_seid(1023, (1 << 54) - 1)
    found = opened_events((await effects.page(pages.popleft(), 0.0)).messages)
    await site.put(f"ue/{supi(99)}", "upf", f"10.9.0.1/{later:016x}")
    told = await site.tell([found[-1]])
    assert [msgpack.decode(e.data, type=SessionLost).at for e in told.events] == [7, 7]
    assert told.events[-1].partitionkey == index_seid(later)


async def test_an_answer_to_a_reset_comes_after_the_events_for_its_ues(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TS 38.413 8.7.4.2.2."""
    monkeypatch.setattr(fan_out, "PAGE", 2)
    for n in range(5):
        key = f"gnb-1/a1/{make_amf_ue_ngap_id(n, n):010x}/{n:08x}"
        await site.put(f"ue/{supi(n)}", "gnb", key)
    told = await site.tell(await site.decided(GNB, CONNECTIONS, ACKNOWLEDGE))
    lost = [msgpack.decode(event.data, type=ConnectionLost) for event in told.events]
    assert [(one.reason, one.order) for one in lost] == [("NG RESET", 9)] * 5
    assert [one.event.data for one in told.sent] == [b"acknowledge"]


async def test_a_part_of_an_association(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_out, "SCANNED", 2)
    for n in range(5):
        key = f"gnb-1/a1/{make_amf_ue_ngap_id(n, n):010x}/{n:08x}"
        await site.put(f"ue/{supi(n)}", "gnb", key)
    some = replace(CONNECTIONS, ran_ue_ngap_ids=(3,))
    told = await site.tell(await site.decided(GNB, some, ACKNOWLEDGE))
    assert [event.slot for event in told.events] == [slot_of(supi(3))]
    assert len(told.sent) == 1


@pytest.mark.parametrize(
    ("outputs", "last"),
    [
        ((CONNECTIONS, ACKNOWLEDGE), True),
        ((CONNECTIONS,), False),
        ((ACKNOWLEDGE,), False),
        ((CONNECTIONS, replace(ACKNOWLEDGE, association="a2")), False),
        ((SESSIONS, SendPfcp("10.9.0.1", UPF, 1, b"response")), False),
    ],
    ids=["reset", "association lost", "others", "set up again", "UPF"],
)
def test_which_answers_wait_for_the_events(outputs: tuple[Output, ...], *, last: bool) -> None:
    """A new association has none of the UEs: NG SETUP RESPONSE does not wait."""
    trigger = CloudEvent("t", "/test", EventType.TIMER, GNB)
    step = Step[Any](1, 1, Procedure.RAN, "1", trigger, b"", "", (), outputs)
    assert responds_last(step) is last


async def test_an_output_that_the_log_does_not_have_tells_nobody(site: Site) -> None:
    (first,) = await site.decided(GNB, CONNECTIONS)
    for due in (FanOutDue(GNB, 2, 0), FanOutDue(GNB, 1, 5), FanOutDue("gnb/none", 1, 0)):
        told = await site.tell([replace(first, data=encode(due))])
        assert (told.events, told.sent) == ([], [])


async def test_a_page_that_must_wait_is_scheduled(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its place in JetStream, and no event stays unacknowledged."""
    monkeypatch.setattr(fan_out, "PAGE", 1)
    monkeypatch.setattr(pace, "AT_ONCE", 0.1)
    await sessions(site, 60)
    effects, due = site.worker(), (await site.decided(UPF, SESSIONS))[0]
    messages: list[Outgoing] = []
    for _ in range(60):
        messages = (await effects.page(due, 1.0)).messages
        due = opened_events(messages)[-1]
        if "Nats-Schedule" in messages[-1].headers:
            break
    (scheduled,) = messages
    assert scheduled.subject.startswith("timer.")
    assert msgpack.decode(due.data, type=FanOutDue).in_turn
    told = opened_events((await effects.page(due, 0.0)).messages)
    assert told[0].type == EventType.SESSION_LOST, "it is its turn"
