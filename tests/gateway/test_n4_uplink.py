"""Requests of UPFs: each goes to its session or node once, and repetitions get one response."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec import structs

import wire
from gateway.n4 import pfcp
from gateway.n4 import received as module
from schemas.cloudevents import EventType, order_of
from schemas.config.reading import UpfConfig
from schemas.identity import index_seid, slot_of, slot_of_seid
from schemas.procedures import Procedure
from tests.eventing import brokers
from tests.gateway import n4_edge
from tests.gateway.n4_edge import (
    KEY,
    QUICK,
    SEID,
    UPF_STAMP,
    Edge,
    encode,
    node,
    report,
    report_answer,
    setup,
    stamp,
)


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path) as edge:
        yield edge


def following(octets: bytes) -> bytes:
    """Return a message with the follow-on flag."""
    return bytes([octets[0] | 4]) + octets[1:]


@pytest.mark.parametrize("seid", [SEID, 0, (1 << 64) - 1])
async def test_a_report_goes_to_its_session_whoever_has_it(edge: Edge, seid: int) -> None:
    upf, _ = edge.upfs
    upf.send(report(1, seid))
    (event,) = await edge.until(1)
    assert (event.type, event.data) == (EventType.PFCP_UPLINK, report(1, seid))
    assert (event.partitionkey, event.slot) == (index_seid(seid), slot_of_seid(seid))
    assert (event.procedure, event.sequence) == (Procedure.PAGING, None)
    assert event.source == "/n4/10.0.0.1"


async def test_what_is_about_the_node_goes_to_it(edge: Edge) -> None:
    _, upf = edge.upfs
    upf.send(setup("10.0.0.2", UPF_STAMP, 1))
    (event,) = await edge.until(1)
    assert (event.partitionkey, event.procedure) == ("upf/10.0.0.2", Procedure.UPF)
    assert (event.slot, event.sequence) == (slot_of("10.0.0.2"), None)
    assert edge.subjects == [f"ue.{slot_of('10.0.0.2') % n4_edge.PARTITIONS}.upf.n4.{event.slot}"]


async def test_the_answer_goes_back_as_it_is_and_again_when_asked_again(edge: Edge) -> None:
    upf, _ = edge.upfs
    upf.send(report(7))
    await edge.until(1)
    upf.send(report(7))
    await edge.settled()
    assert upf.got == [], "it is in progress"
    await edge.ask(upf, report_answer(7), None)
    assert await upf.heard(1) == [report_answer(7)]
    upf.send(report(7))
    assert await upf.heard(2) == [report_answer(7)] * 2
    assert len(edge.events) == 1
    assert edge.gateway.counters.duplicates == 2


async def test_a_request_gets_one_response(edge: Edge) -> None:
    """The core may answer a copy of the request: by the death of a broker, or after the session was
    deleted, with another cause."""
    upf, _ = edge.upfs
    upf.send(report(7))
    await edge.until(1)
    await edge.ask(upf, report_answer(7), None)
    gone = encode("SessionReportResponse", [{"Cause": 65}], 7, seid=0)
    await edge.ask(upf, report_answer(7), None)
    await edge.ask(upf, gone, None)
    await edge.settled()
    upf.send(report(7))
    assert await upf.heard(2) == [report_answer(7)] * 2


async def test_another_request_of_the_same_number_is_another_one(edge: Edge) -> None:
    """A restarted UPF reuses sequence numbers, and must not get responses to its old requests."""
    upf, _ = edge.upfs
    upf.send(setup("10.0.0.1", UPF_STAMP, 1))
    await edge.until(1)
    answer = encode("AssociationSetupResponse", [node("127.0.0.1"), {"Cause": 1}, stamp(5)], 1)
    await edge.ask(upf, answer, None, upf.key)
    await upf.next()
    upf.send(setup("10.0.0.1", UPF_STAMP + 1, 1))
    upf.send(report(1))
    events = await edge.until(3)
    assert [event.data for event in events[1:]] == [
        setup("10.0.0.1", UPF_STAMP + 1, 1),
        report(1),
    ]
    assert upf.got == []


async def test_an_answer_that_is_lost_is_asked_of_the_core_again(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same event: the core has its answer in the log and does not decide again."""
    monkeypatch.setattr(module, "REPUBLISH", 0.0)
    upf, _ = edge.upfs
    upf.send(report(7))
    upf.send(report(7))
    first, again = await edge.until(2)
    assert first == again


async def test_what_was_long_ago_is_forgotten(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 0.0)
    upf, _ = edge.upfs
    upf.send(report(7))
    upf.send(report(7))
    first, again = await edge.until(2)
    assert first.id != again.id


async def test_what_is_known_of_requests_is_bounded(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT", 1)
    upf, _ = edge.upfs  # the bound counts for each of the two
    for sequence in (1, 2, 3, 2, 3, 1):
        upf.send(report(sequence))
    await edge.settled()
    assert [wire.pfcp_peek(e.data).sequence for e in await edge.until(4)] == [1, 2, 3, 1]


async def test_messages_that_follow_on(edge: Edge) -> None:
    upf, _ = edge.upfs
    upf.send(following(report(1)) + following(setup("10.0.0.1", 5, 2)) + report(3, SEID + 1))
    events = sorted(await edge.until(3), key=lambda event: order_of(event.id))
    assert [wire.pfcp_peek(e.data).sequence for e in events] == [1, 2, 3]
    assert events[2].data == report(3, SEID + 1)
    keys = [KEY, "upf/10.0.0.1", index_seid(SEID + 1)]
    assert [event.partitionkey for event in events] == keys
    assert all(wire.pfcp_decode(event.data) for event in events)


async def test_no_datagram_has_messages_without_end(edge: Edge) -> None:
    upf, _ = edge.upfs
    upf.send(b"".join(following(report(n)) for n in range(200)))
    await edge.settled()
    assert len(await edge.until(pfcp.MAX_MESSAGES)) == pfcp.MAX_MESSAGES
    assert edge.gateway.counters.malformed == 3


@pytest.mark.parametrize(
    ("octets", "procedure"),
    [(report(1)[:-2], Procedure.SESSION), (setup("10.0.0.1", 5, 1)[:-1], Procedure.UPF)],
)
async def test_what_ends_too_early_is_for_the_core_to_refuse(
    edge: Edge, octets: bytes, procedure: Procedure
) -> None:
    upf, _ = edge.upfs
    upf.send(octets)
    (event,) = await edge.until(1)
    assert (event.data, event.procedure) == (octets, procedure)
    assert event.partitionkey == (KEY if procedure == Procedure.SESSION else "upf/10.0.0.1")


HEARTBEAT = encode("HeartbeatRequest", [stamp(5)], 1)
DROPPED = {
    "half a header": report(1)[:9],
    "no such type": bytes([0x20, 99]) + HEARTBEAT[2:],
    "a session message without SEID": bytes([0x20, 56]) + HEARTBEAT[2:],
    "a heartbeat without a time stamp": encode("HeartbeatRequest", [], 1),
    "an answer without a time stamp": encode("HeartbeatResponse", [], 1),
    "a refusal of another version": bytes([0x40, 11]) + HEARTBEAT[2:],
}


@pytest.mark.parametrize("octets", DROPPED.values(), ids=DROPPED)
async def test_what_nobody_can_answer_is_dropped(edge: Edge, octets: bytes) -> None:
    upf, _ = edge.upfs
    upf.send(octets)
    await edge.settled()
    assert (edge.events, upf.got) == ([], [])
    assert edge.gateway.counters.malformed == 3


async def test_another_version_is_answered_at_once(edge: Edge) -> None:
    upf, _ = edge.upfs
    upf.send(bytes([0x40]) + setup("10.0.0.1", 5, 0x123456)[1:])
    (answer,) = await upf.next()
    assert (answer.message, answer.sequence) == ("VersionNotSupportedResponse", 0x123456)
    assert (answer.version, edge.events) == (1, [])


async def test_who_is_no_upf_is_not_heard(edge: Edge) -> None:
    stranger = await edge.upf("10.9.9.9", "127.0.0.2")
    stranger.send(report(1))
    stranger.send(setup("10.9.9.9", 5, 1))
    stranger.send(HEARTBEAT)
    stranger.send(bytes([0x40]) + HEARTBEAT[1:])
    stranger.send(b"?")
    await brokers.until(lambda: edge.gateway.counters.unknown_source == 5)
    await edge.settled()
    assert (edge.events, stranger.got) == ([], [])


async def test_a_upf_that_sends_from_another_port(edge: Edge) -> None:
    """A request may come from any port (TS 29.244 4.2.2). Two UPFs have the address: the Node ID
    tells them apart, and a report belongs to its SEID."""
    other = await edge.upf("10.0.0.2")
    other.send(setup("10.0.0.2", UPF_STAMP, 2))
    other.send(report(3))
    events = await edge.until(2)
    assert [event.partitionkey for event in events] == ["upf/10.0.0.2", KEY]
    await edge.ask(edge.upfs[1], report_answer(3), None)
    await edge.ask(edge.upfs[1], n4_edge.deletion(), 1)
    assert await other.heard(1) == [report_answer(3)], "it goes where the report came from"
    (asked,) = await edge.upfs[1].next()
    assert asked.message == "SessionDeletionRequest", "requests go where it is configured"
    other.send(HEARTBEAT)
    other.send(setup("10.9.9.9", UPF_STAMP, 4))
    await edge.settled()
    assert len(edge.events) == 2, "nothing says which of the two has sent them"
    assert other.got == [report_answer(3)]


async def test_a_host_with_one_upf_may_send_from_any_port(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, nodes=["10.0.0.1"]) as edge:
        other = await edge.upf("10.0.0.1")
        other.send(report(1))
        (event,) = await edge.until(1)
        assert event.source == "/n4/10.0.0.1"


async def test_a_upf_is_named_as_it_is_configured_however_it_writes_its_name(
    tmp_path: Path,
) -> None:
    upf = UpfConfig("UPF-1.Example.org", "localhost", 9)
    async with n4_edge.running(tmp_path, configured=[upf]) as edge:
        other = await edge.upf("")
        ies = [{"Node ID": {"fqdn": "upf-1.example.ORG"}}, stamp(5)]
        other.send(encode("AssociationSetupRequest", ies, 1))
        (event,) = await edge.until(1)
        assert event.partitionkey == "upf/upf-1.example.org"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 - a test of it
async def test_every_address_of_the_machine(tmp_path: Path, host: str) -> None:
    """An IPv6 socket also receives and sends IPv4."""
    async with n4_edge.running(tmp_path, structs.replace(QUICK, host=host)) as edge:
        upf, _ = edge.upfs
        upf.send(report(1))
        await edge.until(1)
        await edge.ask(upf, n4_edge.deletion(), 1)
        await upf.next()


async def test_when_jetstream_stands_still_upfs_repeat_and_answers_are_kept(
    tmp_path: Path,
) -> None:
    config = structs.replace(QUICK, max_under_way=4, t1=30.0)
    async with n4_edge.running(tmp_path, config) as edge:
        upf, _ = edge.upfs
        for number in range(6):
            await edge.ask(upf, n4_edge.deletion(), number, index_seid(number + 1))
        asked = await upf.next(6)
        with edge.bus.frozen():
            for sequence in range(20):
                upf.send(report(sequence))
            await brokers.until(lambda: edge.gateway.counters.overloads >= 16)
            for number, one in enumerate(asked, 1):
                upf.answer(one, {"Cause": 1}, seid=number)
            await brokers.until(lambda: edge.gateway.waiting >= 4 + 6)
        taken = {e.sequence for e in await edge.until(4 + 6)}
        assert set(range(6)) <= taken
        await brokers.until(lambda: edge.gateway.waiting == 0)
        upf.send(report(19))
        await brokers.until(lambda: any(e.data == report(19) for e in edge.events))


async def test_a_broker_that_dies_and_comes_back(edge: Edge) -> None:
    upf, _ = edge.upfs
    await edge.bus.end(kill=True)
    upf.send(report(1))
    await brokers.until(lambda: edge.gateway.waiting > 0)
    await edge.bus.start()
    await brokers.until(lambda: edge.gateway.waiting == 0)
    found = await brokers.stored(edge.core)
    assert report(1) in [message.data for message in found]
