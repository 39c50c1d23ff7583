"""Messages that their sender was not asked for, or that anyone can send with a UPF's address."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec import structs

import wire
from gateway.n4 import path as path_module
from gateway.n4.peer import NODE_REQUESTS, UNMATCHED
from gateway.n4.pending import PendingRequest
from gateway.n4.rate import Bucket, Rate
from gateway.n4.requests import GUESSES, PROOFS
from schemas.cloudevents import EventType
from schemas.identity import index_seid
from tests.eventing import brokers
from tests.gateway import n4_edge
from tests.gateway.n4_edge import (
    ACCEPTED,
    CORE_STAMP,
    KEY,
    QUICK,
    SEID,
    UPF_STAMP,
    Edge,
    Upf,
    deletion,
    encode,
    node,
    report,
    report_answer,
    setup,
    stamp,
)

ONE = ["10.0.0.1"]
SLOW = structs.replace(QUICK, t1=30.0)


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path, SLOW, ONE) as edge:
        yield edge


async def test_a_response_comes_from_where_the_request_was_sent(edge: Edge) -> None:
    """TS 29.244 4.2.2: from the same address and port. The forger even knows the number and the
    SEID."""
    (upf,) = edge.upfs
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    forger = await edge.upf("10.0.0.1")
    forger.answer(asked, {"Cause": ACCEPTED})
    await brokers.until(lambda: edge.gateway.counters.unmatched == 1)
    await edge.settled()
    assert edge.events == []
    upf.answer(asked, {"Cause": ACCEPTED})
    (event,) = await edge.until(1)
    assert event.partitionkey == KEY


@pytest.mark.parametrize(
    ("seid", "cause", "matches"),
    [
        (SEID, ACCEPTED, True),
        (SEID, 64, True),
        (0, 65, True),
        (0, ACCEPTED, False),
        (SEID + 1, ACCEPTED, False),
        (SEID + 1, 65, False),
    ],
)
async def test_a_response_has_the_seid_of_the_session(
    edge: Edge, seid: int, cause: int, matches: bool
) -> None:
    """It is 0 in a refusal of a UPF that does not know it (7.2.2.4.2)."""
    (upf,) = edge.upfs
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    upf.answer(asked, {"Cause": cause}, seid=seid)
    await edge.settled()
    assert len(await edge.until(int(matches))) == matches
    assert edge.gateway.counters.unmatched == (not matches)


async def test_a_number_that_an_earlier_process_has_used(tmp_path: Path) -> None:
    """The UPF repeats its response to the earlier request (6.4), which is of another session. The
    next repetition has another number."""
    config = structs.replace(QUICK, t1=0.2)
    async with n4_edge.running(tmp_path, config, ONE) as edge:
        (upf,) = edge.upfs
        await edge.ask(upf, deletion(), 1)
        (first,) = await upf.next()
        upf.answer(first, {"Cause": ACCEPTED}, seid=SEID + 5)
        (second,) = await upf.next()
        assert (second.seid, second.message) == (first.seid, first.message)
        assert second.sequence != first.sequence
        upf.answer(second, {"Cause": ACCEPTED})
        (event,) = await edge.until(1)
        assert wire.pfcp_peek(event.data).sequence == second.sequence


def guesses(upf: Upf, message: str, count: int) -> None:
    """Send responses with other numbers than those of requests."""
    for sequence in range(count):
        upf.send(encode(message, [stamp(UPF_STAMP)], sequence))


async def test_a_stranger_who_hits_a_number_is_not_believed(edge: Edge) -> None:
    """While someone tries all numbers, the same response must come under several numbers in a
    row."""
    (upf,) = edge.upfs
    await upf.associated()
    before = len(edge.events)
    await edge.ask(upf, encode("HeartbeatRequest", [stamp(CORE_STAMP)]), 2, upf.key)
    (asked,) = await upf.next()
    guesses(upf, "HeartbeatResponse", GUESSES)
    upf.answer(asked, stamp(UPF_STAMP + 99))  # the stranger has hit it
    numbers = {asked.sequence}
    for _ in range(PROOFS):
        (asked,) = await upf.next()
        assert asked.sequence not in numbers
        numbers.add(asked.sequence)
        assert len(edge.events) == before
        upf.answer(asked, stamp(UPF_STAMP))  # the UPF
    event = (await edge.until(before + 1))[-1]
    assert wire.pfcp_peek(event.data).recovery_time_stamp == UPF_STAMP
    assert [path.recovery_time_stamp for path in await edge.path("10.0.0.1", "up")] == [UPF_STAMP]
    assert len(numbers) == 1 + PROOFS


async def test_a_session_needs_no_such_proof(edge: Edge) -> None:
    """The SEID of the core has 54 random bits."""
    (upf,) = edge.upfs
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    guesses(upf, "SessionDeletionResponse", 2 * GUESSES)
    upf.answer(asked, {"Cause": ACCEPTED})
    await edge.until(1)
    assert upf.got == []


async def test_a_refusal_needs_it(edge: Edge) -> None:
    """A UPF that refuses a request may leave out the SEID of the core."""
    (upf,) = edge.upfs
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    guesses(upf, "SessionDeletionResponse", GUESSES)
    upf.answer(asked, {"Cause": 65}, seid=0)  # the stranger has hit it
    (asked,) = await upf.next()
    assert edge.events == []
    upf.answer(asked, {"Cause": ACCEPTED})
    (event,) = await edge.until(1)
    assert wire.pfcp_peek(event.data).cause == ACCEPTED
    assert edge.gateway.counters.duplicates == 1


def test_what_answers_a_request() -> None:
    request = PendingRequest(None, b"", 1)
    beat = wire.pfcp_peek(encode("HeartbeatResponse", [stamp(1)], 1))
    assert request.is_answered_by(beat)
    assert request.is_answered_by(wire.pfcp_peek(encode("VersionNotSupportedResponse", [], 1)))
    assert not request.is_answered_by(wire.pfcp_peek(encode("HeartbeatRequest", [stamp(1)], 1)))
    assert not request.is_answered_by(wire.pfcp_peek(deletion()))


async def test_a_forged_restart_ends_nothing(edge: Edge) -> None:
    """TS 23.527 4.3: what is pending ends with a restart. A heartbeat with the UPF's address is no
    proof of one: the UPF answers with its own time stamp."""
    (upf,) = edge.upfs
    await upf.associated()
    await edge.ask(upf, deletion(), 2, KEY, incarnation=UPF_STAMP)
    (pending,) = await upf.next()
    upf.send(encode("HeartbeatRequest", [stamp(UPF_STAMP + 50)], 5))
    answer, question = sorted(await upf.next(2), key=lambda peek: -peek.message_type)
    assert (answer.message, question.message) == ("HeartbeatResponse", "HeartbeatRequest")
    upf.answer(question, stamp(UPF_STAMP))
    told = await edge.path("10.0.0.1", "up")
    assert [path.recovery_time_stamp for path in told] == [UPF_STAMP]
    upf.answer(pending, {"Cause": ACCEPTED})
    assert (await edge.until(2))[-1].type == EventType.PFCP_UPLINK
    assert edge.gateway.counters.ended == 0


async def test_heartbeats_that_verify_are_few(edge: Edge) -> None:
    """One at once, and one in a pause, however many heartbeats a stranger sends."""
    (upf,) = edge.upfs
    await upf.associated()
    for number in range(50):
        upf.send(encode("HeartbeatRequest", [stamp(number)], number))
        for peek in await upf.next():
            if peek.message == "HeartbeatRequest":
                upf.answer(peek, stamp(UPF_STAMP))
    await edge.settled()
    sent = [octets for octets in upf.got if octets[1] == 1]
    assert len(sent) <= 1 + 20 / path_module.VERIFY_PAUSE
    assert [path.recovery_time_stamp for path in await edge.path("10.0.0.1", "up")] == [UPF_STAMP]


async def test_a_flood_of_requests_about_the_association_is_bounded(edge: Edge) -> None:
    """Each costs a step in the log of the UPF. A UPF repeats a request that is dropped."""
    (upf,) = edge.upfs
    names = ("AssociationReleaseRequest", "AssociationUpdateRequest", "NodeReportRequest")
    for sequence in range(300):
        upf.send(encode(names[sequence % 3], [node("10.0.0.1")], sequence))
    await edge.settled()
    assert NODE_REQUESTS.at_once <= len(edge.events) <= NODE_REQUESTS.at_once + 50
    assert edge.gateway.counters.excess == 300 - len(edge.events)


async def test_a_flood_of_responses_is_bounded(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    (upf,) = edge.upfs
    peer = edge.gateway._senders.all[0]  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(peer, "unmatched", Bucket(Rate(0.001, 5)))
    f_seid = {"F-SEID": {"seid": 4, "ipv4": "10.0.0.1"}}
    ies = [node("10.0.0.1"), {"Cause": ACCEPTED}, f_seid]
    for sequence in range(40):
        upf.send(encode("SessionEstablishmentResponse", ies, sequence, seid=SEID + sequence))
    await brokers.until(lambda: edge.gateway.counters.unmatched == 40)
    await edge.settled()
    assert len(edge.events) == 5
    assert edge.gateway.counters.excess == 35
    assert all(event.sequence is None for event in edge.events)
    assert UNMATCHED.at_once >= 1024, "a UPF that was stopped sends many late responses"


async def test_upfs_that_share_an_address_have_the_rates_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with n4_edge.running(tmp_path, SLOW) as edge:
        for peer in edge.gateway._senders.all:  # pyright: ignore[reportPrivateUsage]
            monkeypatch.setattr(peer, "reports", Bucket(Rate(0.001, 3)))
        nat = await edge.upf("")
        for sequence in range(20):
            nat.send(report(sequence))
        await brokers.until(lambda: edge.gateway.counters.excess == 14)
        assert len(await edge.until(6)) == 6


def test_a_bucket() -> None:
    now = [0.0]
    bucket = Bucket(Rate(2, 3), lambda: now[0])
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [bucket.take() for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("kind", ["unmatched", "report"])
async def test_a_load_is_read_in_responses_to_requests(edge: Edge, kind: str) -> None:
    """A stranger would take the UPF out of the choice with a load of 100 %."""
    (upf,) = edge.upfs
    load = {"Load Control Information": [{"Sequence Number": 9}, {"Metric": 100}]}
    forged = {
        "unmatched": encode("SessionDeletionResponse", [{"Cause": ACCEPTED}, load], 7, seid=SEID),
        "report": encode("SessionReportRequest", [{"Report Type": ["DLDR"]}, load], 7, seid=SEID),
    }[kind]
    upf.send(forged)
    await edge.settled()
    assert [event for event in edge.events if event.type == EventType.UPF_LOAD] == []
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    upf.answer(asked, {"Cause": ACCEPTED}, load)
    await brokers.until(lambda: EventType.UPF_LOAD in {event.type for event in edge.events})


async def test_upfs_that_share_an_address_cannot_speak_for_others(tmp_path: Path) -> None:
    """A report from their address names both; one from the port of a UPF names that one. The
    response of the core goes where its request came from, whichever of them it is for."""
    third = n4_edge.UpfConfig("10.0.0.3", "127.0.0.9", 9)
    async with n4_edge.running(tmp_path, SLOW, configured=[third]) as edge:
        first, second = edge.upfs
        nat = await edge.upf("")
        nat.send(report(1))
        (event,) = await edge.until(1)
        assert event.source == "/n4/10.0.0.1,10.0.0.2"
        second.send(report(1, SEID + 1))
        event = (await edge.until(2))[-1]
        assert event.source == "/n4/10.0.0.2"
        await edge.ask(second, report_answer(1), None)
        assert await nat.heard(1) == [report_answer(1)]
        # The same request of another UPF is another one, and does not take the response.
        first.send(report(1, SEID + 1))
        await edge.until(3)
        await edge.ask(second, report_answer(1), None, index_seid(SEID + 1))
        assert await second.heard(1) == [report_answer(1)]
        assert first.got == []


async def test_a_restart_behind_a_shared_address_is_verified_at_each_upf(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, SLOW) as edge:
        for index, upf in enumerate(edge.upfs):
            await edge.ask(upf, setup("127.0.0.1", CORE_STAMP), 1, upf.key)
            (asked,) = await upf.next()
            upf.answer(asked, node(upf.node_id), {"Cause": ACCEPTED}, stamp(UPF_STAMP + index))
        await edge.until(2)
        nat = await edge.upf("")
        nat.send(encode("HeartbeatRequest", [stamp(UPF_STAMP + 77)], 4))
        for index, upf in enumerate(edge.upfs[:2]):
            (asked,) = await upf.next()
            assert asked.message == "HeartbeatRequest"
            upf.answer(asked, stamp(UPF_STAMP + 77 * index))
            await edge.path(upf.node_id, "served", "up")
        told = await edge.path("10.0.0.2", "served", "up")
        assert told[-1].recovery_time_stamp == UPF_STAMP + 77
