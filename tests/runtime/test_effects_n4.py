"""The output of a worker for UPFs and paging gNBs, and the fan-out after a UPF restart."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eventing.cloudevents.nats_binding import from_message
from eventing.jetstream.messages import Outgoing
from functions.runtime import lookups
from functions.runtime.due import is_due
from functions.runtime.effects import Effects
from schemas.cloudevents import PFCP_MEDIA_TYPE, CloudEvent, EventType
from schemas.gsm.state import N4Request, N4Session, PduAddress, PduSession
from schemas.identity import SNssai, Tai
from schemas.procedures import Procedure
from schemas.step import (
    FanOutSessions,
    HandOff,
    Output,
    Page,
    SendNgap,
    SendPfcp,
    Step,
    Wake,
)
from schemas.subscriber import Ambr, PduSessionType
from schemas.ue.state import Ue
from schemas.ue.waking import wake_key
from schemas.upf import Leftover, Upf
from statestore.contract import Append, Appended, IndexKey, StoreUnavailable
from tests.runtime.script import registrations
from tests.runtime.store import Store, opened

UE = "ue/imsi-001010000000001"
TAI, OTHER_TAI = Tai("001-01", 1), Tai("001-01", 2)


class Out(NamedTuple):
    effects: Effects
    store: Store

    async def send(self, *outputs: Output) -> list[Outgoing]:
        """Return the messages to gateways for the outputs of a step."""
        return [one.outgoing for one in await self.effects.downlinks(UE, step(*outputs))]

    async def put(self, owner: str, kind: str, *keys: str) -> None:
        entries = tuple(IndexKey(kind, key) for key in keys)
        made = Append(owner, 1, f"t-{owner}", b"x", data_key=b"k", put=entries)
        assert await self.store.append([made]) == [Appended()]


def step(*outputs: Output) -> Step[Any]:
    trigger = CloudEvent("t", "/test", EventType.TIMER, UE)
    return Step(7, 1, Procedure.SESSION, "1", trigger, b"", "", (), outputs)


@pytest.fixture
async def out(tmp_path: Path) -> AsyncGenerator[Out]:
    store = await opened(tmp_path, registrations(1))
    yield Out(Effects(store.log, 2), store)
    await store.close()


async def test_a_pfcp_message(out: Out) -> None:
    request = SendPfcp("10.9.0.1", "seid-1", 17, b"\x20", 5)
    answer = SendPfcp("upf-2.example", "upf/upf-2.example", 18, b"\x21")
    one, other = await out.send(request, answer)
    assert (one.subject, other.subject) == ("n4.10_9_0_1", "n4.upf-2_example")
    event = from_message(one.headers, one.data)
    assert event == CloudEvent(
        id=f"{UE}/7/0",
        source=f"/{UE}",
        type=EventType.PFCP_DOWNLINK,
        partitionkey="seid-1",
        data=b"\x20",
        datacontenttype=PFCP_MEDIA_TYPE,
        procedure="session",
        slot=17,
        sequence=5,
    )
    assert from_message(other.headers, other.data).sequence is None


async def test_a_page_goes_once_to_each_association(out: Out) -> None:
    await out.put("gnb/1", "tai", "001-01-000001/gnb-1/a1", "001-01-000002/gnb-1/a1")
    await out.put("gnb/2", "tai", "001-01-000002/gnb-2/a7")
    await out.put("gnb/3", "tai", "001-01-000003/gnb-3/a8")
    heard = await out.send(Page((TAI, OTHER_TAI), b"page"))
    assert [one.subject for one in heard] == ["n2.gnb-1.a1", "n2.gnb-2.a7"]
    events = [from_message(one.headers, one.data) for one in heard]
    assert [event.id for event in events] == [f"{UE}/7/0/gnb-1/a1", f"{UE}/7/0/gnb-2/a7"]
    assert [(e.type, e.partitionkey, e.data) for e in events] == [
        (EventType.NGAP_DOWNLINK, "gnb-1", b"page"),
        (EventType.NGAP_DOWNLINK, "gnb-2", b"page"),
    ]


async def test_who_serves_a_tracking_area_is_looked_up_once_for_many(
    out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    await out.put("gnb/1", "tai", "001-01-000001/gnb-1/a1")
    assert len(await out.send(Page((TAI,), b"1"), Page((TAI,), b"2"))) == 2
    await out.put("gnb/2", "tai", "001-01-000001/gnb-2/a2")
    assert len(await out.send(Page((TAI,), b"3"))) == 1
    monkeypatch.setattr(lookups, "KEPT", -1.0)
    found = lookups.Coverage(out.store)
    assert await found.of([TAI, TAI]) == [("gnb-1", "a1"), ("gnb-2", "a2")]


async def test_a_page_that_cannot_be_sent_holds_up_nothing(
    out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: Any) -> Any:
        raise StoreUnavailable("the test says so")

    monkeypatch.setattr(out.store, "scan", unavailable)
    (heard,) = await out.send(Page((TAI,), b"page"), SendNgap("gnb-1", "a1", b"after"))
    assert heard.data == b"after"


SESSION = PduSession(
    id=1,
    pti=1,
    nssai=SNssai(1),
    dnn="internet",
    type=PduSessionType.IPV4,
    address=PduAddress("10.45.0.2"),
    ambr=Ambr(1, 1),
    qfi=1,
    five_qi=9,
    arp_priority=8,
    n4=N4Session("10.9.0.1", 1, sent=N4Request("establish", 3, 0)),
)


@pytest.mark.parametrize(
    ("output", "state", "stays"),
    [
        (SendPfcp("u", "seid-1", 1, b"", 3), Ue(sessions=(SESSION,)), True),
        (SendPfcp("u", "seid-1", 1, b"", 2), Ue(sessions=(SESSION,)), False),
        (SendPfcp("u", "seid-1", 1, b"", 2), Ue(), False),
        (SendPfcp("u", "seid-1", 1, b""), Ue(), True),
        (SendPfcp("u", "upf/u", 1, b"", 4), Upf(asked=4), True),
        (SendPfcp("u", "upf/u", 1, b"", 4), Upf(asked=5), False),
        (SendPfcp("u", "upf/u", 1, b"", 4), Upf(leftovers=(Leftover(9, 4),)), True),
        (SendPfcp("u", "upf/u", 1, b"", 4), None, False),
        (Page((TAI,), b""), Ue(), False),
        (Wake(7, Procedure.UPF), Upf(wake_at=7), True),
        (Wake(7, Procedure.UPF), Upf(wake_at=8), False),
        (FanOutSessions("u", 1), Upf(), True),
    ],
)
def test_what_leaves_again_with_a_copy_of_its_trigger(
    output: Output, state: object, stays: bool
) -> None:
    assert is_due(output, step(output), (), state) is stays


@pytest.mark.parametrize(("after", "own"), [(1, True), (511, True), (512, False)])
async def test_what_is_to_be_at_once_does_not_wait_for_others(
    out: Out, after: int, own: bool
) -> None:
    made = step(Wake(1 + after, Procedure.SESSION))
    shared, *alone = out.effects.queued(UE, made, wake_key(1 + after, "n4", "imsi-001010000000001"))
    assert shared.headers["ce-type"] == EventType.TIMERS_DUE
    assert [message.headers["ce-type"] for message in alone] == [EventType.TIMER] * own


async def test_an_entry_that_is_written_again_is_asked_for_again(out: Out) -> None:
    """Its UE was deregistered, and its wake-up is pending: no output shows this."""
    (asked,) = out.effects.queued(UE, step(), wake_key(9000, "n4", "imsi-001010000000001"))
    assert asked.headers["ce-type"] == EventType.TIMERS_DUE


async def test_of_several_wake_ups_the_last_is_asked_for(out: Out) -> None:
    """The subject of a UE's wake-up holds one message: the first one would be replaced."""
    onward = HandOff(EventType.SESSION_LEFT, Procedure.UPF, "upf/a", b"", 3)
    wakes = (Wake(9000, Procedure.AN_RELEASE), onward, Wake(4000, Procedure.SESSION))
    made = step(*wakes)
    queued = out.effects.queued(UE, made)
    assert [message.headers["ce-id"] for message in queued] == [f"{UE}/7/1", f"{UE}/7/2"]
    assert queued[1].headers["ce-procedure"] == "session"
