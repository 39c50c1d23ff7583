"""One gNB floods the gateway: its excess is put off or dropped, and others lose nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import wire
from gateway.n2 import indications, shares
from gateway.n2.limits import BURST, UE_MESSAGES
from loadgen.gnb import messages as ngap
from schemas.cloudevents import CloudEvent
from schemas.identity import index_ngap
from tests.eventing.brokers import until
from tests.gateway import edge as edges
from tests.gateway.edge import Edge, Ran, downlink_nas
from tests.gateway.test_overload import names
from tests.gateway.test_uplink import request, suci

MANY = 3000
CIPHERED = b"\x7e\x02" + bytes(5) + b"\x7e\x00\x42"


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indications, "PERIOD", 0.02)
    monkeypatch.setattr(shares, "BEGIN", 0.1)
    monkeypatch.setattr(shares, "QUIET", 0.2)
    monkeypatch.setattr(shares, "HELD", 0.5)
    monkeypatch.setattr(shares, "WINDOW", 8)


def of(edge: Edge, ran: Ran) -> list[CloudEvent]:
    return [event for event in edge.events if event.source.startswith(f"/n2/{ran.id}/")]


def reset(ran: Ran, number: int) -> bytes:
    del ran, number
    cause = {"Cause": {"misc": "om-intervention"}}
    return ngap.encode("NGReset", cause, {"ResetType": {"nG-Interface": "reset-all"}})


def unknown(ran: Ran, number: int) -> bytes:
    return ran.uplink(b"\x7e\x00\x43", 0x12345000 + number, 1000 + number)


def error(ran: Ran, number: int) -> bytes:
    del ran
    return ngap.error_indication(0x777, 500 + number, {"radioNetwork": "unspecified"})


def update(ran: Ran, number: int) -> bytes:
    del number
    return ngap.ran_configuration_update(ran.config)


def garbage(ran: Ran, number: int) -> bytes:
    del ran
    return b"\xff" + number.to_bytes(4)


@pytest.mark.parametrize("pdu", [reset, unknown, error, update, garbage])
async def test_messages_about_the_gnb_itself_and_unknown_ues(
    edge: Edge, pdu: Callable[[Ran, int], bytes]
) -> None:
    hostile, other = await edge.gnb(), await edge.gnb()
    for number in range(MANY):
        hostile.send(pdu(hostile, number))
        if number % 50 == 0:
            await asyncio.sleep(0)
    other.send(reset(other, 0))
    await until(lambda: len(of(edge, other)) == 2, 20.0)
    await until(lambda: edge.gateway.waiting == 0, 20.0)
    assert edge.gateway.counters.excess >= MANY - 2 * BURST
    assert len(of(edge, hostile)) <= 2 * BURST


async def test_the_answers_of_the_core_make_no_room_for_more(edge: Edge) -> None:
    """It answers each message about an unknown UE with ERROR INDICATION (TS 38.413 10.6)."""
    hostile = await edge.gnb()
    (setup,) = of(edge, hostile)
    refused = ngap.error_indication(1, 1, {"radioNetwork": "unknown-local-UE-NGAP-ID"})
    for number in range(1000):
        hostile.send(unknown(hostile, number))
        await edge.answer(setup, refused)
    await until(lambda: edge.gateway.counters.excess + len(of(edge, hostile)) == 1001, 20.0)
    assert len(of(edge, hostile)) <= 3 * BURST


async def test_a_target_of_many_handovers_may_answer_all(edge: Edge) -> None:
    ran = await edge.gnb()
    (setup,) = of(edge, ran)
    count = 1500
    asked = ngap.encode("HandoverRequest", {"AMF-UE-NGAP-ID": 7})
    for number in range(count):
        await edge.answer(setup, asked, identifier=f"handover-{number}")
    await ran.heard.got(1 + count)
    for number in range(count):
        ran.send(ngap.encode("HandoverRequestAcknowledge", *ngap.ue_ids(7, number)))
    await until(lambda: len(of(edge, ran)) == 1 + count, 20.0)
    assert edge.gateway.counters.excess == 0


async def test_a_target_of_many_handovers_may_refuse_all(edge: Edge) -> None:
    """HANDOVER FAILURE has no RAN UE NGAP ID (TS 38.413 9.2.3.6)."""
    ran = await edge.gnb()
    (setup,) = of(edge, ran)
    count = 1500
    asked = ngap.encode("HandoverRequest", {"AMF-UE-NGAP-ID": 7})
    for number in range(count):
        await edge.answer(setup, asked, identifier=f"handover-{number}")
    await ran.heard.got(1 + count)
    for _ in range(count):
        cause = {"Cause": {"radioNetwork": "no-radio-resources-available-in-target-cell"}}
        ran.send(ngap.encode("HandoverFailure", {"AMF-UE-NGAP-ID": 7}, cause))
    await until(lambda: len(of(edge, ran)) == 1 + count, 20.0)
    assert edge.gateway.counters.excess == 0


@pytest.mark.usefixtures("_soon")
async def test_an_ng_reset_of_all_ues_drops_the_requests_that_wait(tmp_path: Path) -> None:
    """The gNB has released their UEs (TS 38.413 8.7.4.2.2). A reset of one UE drops none."""
    async with edges.running(tmp_path) as edge:
        ran = await edge.gnb()
        published = int(8 * shares.STRANGERS)
        for number in range(20):
            ran.send(ran.initial(request(suci()), number))
        ran.send(ngap.ng_reset([(1, 1)], {"misc": "unspecified"}))
        await until(lambda: len(of(edge, ran)) == 2 + published, 20.0)
        assert edge.gateway.counters.put_off == 20 - published
        ran.send(reset(ran, 0))
        await until(lambda: edge.gateway.counters.given_up == 20 - published, 0.4)


async def test_messages_of_one_ue(edge: Edge) -> None:
    """A thousand a second on an open connection. Those of other UEs of its gNB are not dropped,
    and the numbers of the connection have no gap."""
    ran = await edge.gnb()
    for number in (1, 2):
        ran.send(ran.initial(request(suci()), number))
    for _ in range(MANY):
        ran.send(ran.uplink(b"\x7e\x00\x43", 5, 1))
    ran.send(ran.uplink(b"\x7e\x00\x43", 6, 2))
    await until(lambda: any(e.partitionkey == index_ngap(6) for e in edge.events), 20.0)
    await until(lambda: edge.gateway.waiting == 0, 20.0)
    numbers = sorted(e.sequence or 0 for e in edge.events if e.partitionkey == index_ngap(5))
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) + edge.gateway.counters.excess == MANY
    assert len(numbers) <= 10 * UE_MESSAGES


@pytest.mark.usefixtures("_soon")
async def test_requests_of_unknown_ues(tmp_path: Path) -> None:
    """Those beyond the share wait, then are dropped; only their gNB gets OVERLOAD START."""
    async with edges.running(tmp_path) as edge:
        hostile, other = await edge.gnb(), await edge.gnb()
        for number in range(MANY):
            hostile.send(hostile.initial(request(suci()), number))
        for number in range(5):
            other.send(other.initial(request(suci()), number))
        await until(lambda: len(of(edge, other)) == 6, 20.0)
        await until(lambda: "OverloadStart" in names(hostile), 20.0)
        assert len(of(edge, hostile)) == 1 + 8 * shares.STRANGERS
        await until(lambda: names(hostile)[-1] == "OverloadStop", 20.0)
        assert names(other) == []
        counters = edge.gateway.counters
        assert counters.put_off == MANY - 8 * shares.STRANGERS
        assert counters.given_up == counters.put_off


@pytest.mark.usefixtures("_soon")
async def test_requests_that_wait_are_published_when_others_have_proved_who_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "HELD", 20.0)
    async with edges.running(tmp_path) as edge:
        ran = await edge.gnb()
        sent = [ran.initial(request(suci()), number) for number in range(40)]
        for pdu in sent:
            ran.send(pdu)
        for number in range(40):
            await until(lambda: len(of(edge, ran)) > number + 1, 20.0)  # noqa: B023
            event = of(edge, ran)[number + 1]
            ran_id = wire.ngap_peek(event.data).ran_ue_ngap_id or 0
            await edge.answer(event, downlink_nas(100 + number, ran_id, CIPHERED))
        await until(lambda: len(of(edge, ran)) == 41, 20.0)
        assert [event.data for event in of(edge, ran)[1:]] == sent, "in their order"
        assert edge.gateway.counters.given_up == 0
