"""Requests of the core: numbered, repeated, answered once, timed out, and bounded."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec import structs

import wire
from eventing import subjects
from eventing.jetstream.messages import Addressed, gathered
from gateway.n4 import requests as module
from gateway.n4.pfcp import with_sequence
from schemas.batch import BATCH_MEDIA_TYPE
from schemas.cloudevents import EventType
from schemas.identity import slot_of, slot_of_seid
from schemas.procedures import Procedure
from statestore.contract import QUARANTINE
from tests.eventing import brokers
from tests.gateway import n4_edge
from tests.gateway.n4_edge import ACCEPTED, KEY, QUICK, SEID, Edge, deletion, encode, setup


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with n4_edge.running(tmp_path) as edge:
        yield edge


@pytest.mark.parametrize(
    "octets",
    [
        deletion(),
        deletion(seid=(1 << 64) - 1, priority=15),
        encode("SessionModificationRequest", [], seid=1, priority=0),
        setup("127.0.0.1", 1),
    ],
)
@pytest.mark.parametrize("sequence", [0, 1, 0x123456, 0xFFFFFF])
def test_only_the_sequence_number_is_another_one(octets: bytes, sequence: int) -> None:
    made = with_sequence(octets, sequence)
    assert wire.pfcp_decode(made) == {**wire.pfcp_decode(octets), "sequence": sequence}
    before, after = wire.pfcp_peek(octets), wire.pfcp_peek(made)
    assert (after.seid, after.priority) == (before.seid, before.priority)
    assert with_sequence(made, 0) == octets


async def test_the_answer_goes_to_who_asked(edge: Edge) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, deletion(priority=3), 41)
    (asked,) = await upf.next()
    assert (asked.message, asked.seid, asked.priority) == ("SessionDeletionRequest", 9, 3)
    answer = upf.answer(asked, {"Cause": ACCEPTED})
    (event,) = await edge.until(1)
    assert event.type == EventType.PFCP_UPLINK
    assert event.data == answer
    assert event.source == "/n4/10.0.0.1"
    assert event.datacontenttype == "application/vnd.3gpp.pfcp"
    assert (event.partitionkey, event.slot, event.sequence) == (KEY, slot_of_seid(SEID), 41)
    assert event.procedure == Procedure.SESSION
    assert edge.subjects == ["ue.1.session.n4.77"]


async def test_what_is_asked_of_the_node_is_answered_to_it(edge: Edge) -> None:
    upf, _ = edge.upfs
    await upf.associated(number=5)
    (event,) = edge.events
    assert (event.partitionkey, event.procedure) == ("upf/10.0.0.1", Procedure.UPF)
    assert (event.slot, event.sequence) == (slot_of("10.0.0.1"), 5)


async def test_an_answer_that_names_no_procedure_goes_to_that_of_its_key(edge: Edge) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    upf.send(encode("VersionNotSupportedResponse", [], asked.sequence))
    (event,) = await edge.until(1)
    assert (event.partitionkey, event.procedure) == (KEY, Procedure.SESSION)


async def test_a_request_is_repeated_as_it_was(edge: Edge) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, deletion(), 1)
    heard = await upf.heard(2)
    assert heard[0] == heard[1]
    upf.answer(wire.pfcp_peek(heard[0]), {"Cause": ACCEPTED})
    (event,) = await edge.until(1)
    assert event.type == EventType.PFCP_UPLINK
    assert edge.gateway.counters.unanswered == 0


@pytest.mark.parametrize(
    ("key", "procedure"), [(KEY, Procedure.SESSION), ("upf/10.0.0.1", Procedure.UPF)]
)
async def test_a_request_is_given_up_after_n1_repetitions(
    edge: Edge, key: str, procedure: Procedure
) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, deletion(), 7, key)
    (event,) = await edge.until(1)
    assert event.type == EventType.PFCP_UNANSWERED
    assert (event.partitionkey, event.sequence, event.procedure) == (key, 7, procedure)
    assert upf.got == [event.data] * (1 + QUICK.n1)
    # The request is not under way any more: the function's timer can send it again.
    await edge.ask(upf, deletion(), 7, key)
    await upf.heard(2 + QUICK.n1)


async def test_a_late_answer_is_to_nobody(edge: Edge) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, deletion(), 7)
    await edge.until(1)
    upf.answer(wire.pfcp_peek(upf.got[0]), {"Cause": ACCEPTED})
    await edge.settled()
    assert edge.gateway.counters.unmatched == 1
    assert len(edge.events) == 1


async def test_a_number_that_is_under_way_is_not_sent_again(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, structs.replace(QUICK, t1=30.0)) as edge:
        upf, _ = edge.upfs
        for number in (1, 1, 2, 1):
            await edge.ask(upf, deletion(), number, upf.key)
        await edge.ask(upf, deletion(), 1)
        await edge.ask(upf, deletion(), None)
        await edge.ask(upf, deletion(), None)
        await edge.settled()
        heard = await upf.next(5)
        assert len({peek.sequence for peek in heard}) == 5
        assert edge.gateway.counters.under_way == 2
        upf.answer(heard[0], {"Cause": ACCEPTED})
        await edge.until(1)
        await edge.ask(upf, deletion(), 1, upf.key)
        await upf.next()
        assert upf.got == []


async def test_an_association_setup_under_way_is_sent_again_when_the_upf_shows_itself(
    tmp_path: Path,
) -> None:
    """The core repeats it, because the UPF requests an association. A UPF that has just started has
    missed the first one, and would have no association until the next repetition."""
    async with n4_edge.running(tmp_path, structs.replace(QUICK, t1=30.0)) as edge:
        upf, _ = edge.upfs
        for _ in range(2):
            await edge.ask(upf, setup("127.0.0.1", 1), 1, upf.key)
        first, second = await upf.next(2)
        assert first.message == "AssociationSetupRequest"
        assert first.sequence == second.sequence, "it is one request (TS 29.244 6.4)"
        assert edge.gateway.counters.under_way == 1


async def test_a_later_request_about_a_session_supersedes_the_earlier_ones(tmp_path: Path) -> None:
    """The session is restored while its first request waits for an answer of the UPF that died."""
    config = structs.replace(QUICK, max_requests=1, t1=0.5, n1=9)
    async with n4_edge.running(tmp_path, config) as edge:
        upf, _ = edge.upfs
        first, second, third = deletion(seid=1), deletion(seid=2), deletion(seid=3)
        await edge.ask(upf, first, 1)
        (asked,) = await upf.next()
        for octets, number in ((second, 2), (first, 1), (third, 3), (second, 2)):
            await edge.ask(upf, octets, number)
        newer = await upf.next(2)
        upf.answer(asked, {"Cause": ACCEPTED})
        upf.answer(newer[1], {"Cause": ACCEPTED})
        await edge.until(1)
        await edge.ask(upf, first, 1)
        await edge.settled()
        assert [one.seid for one in newer] == [2, 3]
        assert [event.sequence for event in edge.events] == [3]
        assert (upf.got, edge.gateway.counters.under_way) == ([], 3)


async def test_a_superseded_request_leaves_the_queue(tmp_path: Path) -> None:
    config = structs.replace(QUICK, max_requests=1, t1=30.0)
    async with n4_edge.running(tmp_path, config) as edge:
        upf, _ = edge.upfs
        await edge.ask(upf, deletion(seid=1), 7, "seid-00000000000000ff")
        (asked,) = await upf.next()
        await edge.ask(upf, deletion(seid=2), 1)
        await edge.ask(upf, deletion(seid=3), 2)
        await edge.settled()
        upf.answer(asked, {"Cause": ACCEPTED}, seid=0xFF)
        (last,) = await upf.next()
        assert last.seid == 3
        upf.answer(last, {"Cause": ACCEPTED})
        await edge.until(2)
        assert upf.got == []


async def test_a_session_number_is_forgotten_before_its_seid_is_given_again() -> None:
    now = [0.0]
    newest = module.NewestRequests(lambda: now[0])
    assert [newest.note("a", number) for number in (5, 3, 6)] == [-1, 5, 5]
    now[0] = module.NEWEST_FOR + 1
    assert newest.note("a", 1) == -1
    assert module.NEWEST_FOR * 1000 < QUARANTINE


async def test_an_answer_that_comes_twice_counts_once(edge: Edge) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, deletion(), 1)
    (asked,) = await upf.next()
    for _ in range(3):
        upf.answer(asked, {"Cause": ACCEPTED})
    await edge.settled()
    await edge.until(1)
    assert len(edge.events) == 1
    assert (edge.gateway.counters.duplicates, edge.gateway.counters.unmatched) == (2, 0)


async def test_an_answer_of_another_upf_or_of_another_kind_is_none(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, structs.replace(QUICK, t1=30.0)) as edge:
        upf, other = edge.upfs
        await edge.ask(upf, deletion(), 1)
        (asked,) = await upf.next()
        other.answer(asked, {"Cause": ACCEPTED})
        upf.send(
            encode("SessionModificationResponse", [{"Cause": ACCEPTED}], asked.sequence, seid=SEID)
        )
        await edge.settled()
        await brokers.until(lambda: edge.gateway.counters.unmatched == 2)
        assert edge.events == []
        upf.answer(asked, {"Cause": ACCEPTED})
        await edge.until(1)


@pytest.mark.parametrize(("cause", "published"), [(ACCEPTED, 1), (64, 0)])
async def test_a_session_that_nobody_waits_for_is_told_its_owner(
    edge: Edge, cause: int, published: int
) -> None:
    """The requesting gateway has died: the UPF has a session that the core may not know."""
    upf, _ = edge.upfs
    f_seid = {"F-SEID": {"seid": 4, "ipv4": "10.0.0.1"}}
    ies = [n4_edge.node("10.0.0.1"), {"Cause": cause}, f_seid]
    upf.send(encode("SessionEstablishmentResponse", ies, 99, seid=SEID))
    await edge.settled()
    await edge.until(published)
    assert len(edge.events) == published
    for event in edge.events:
        assert (event.partitionkey, event.slot) == (KEY, slot_of_seid(SEID))
        assert (event.procedure, event.sequence) == (Procedure.SESSION, None)


async def test_what_waits_for_answers_is_bounded_and_so_is_what_waits_to_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_QUEUE", 3)
    config = structs.replace(QUICK, max_requests=2, t1=30.0)
    async with n4_edge.running(tmp_path, config) as edge:
        upf, other = edge.upfs
        for number in range(10):
            await edge.ask(upf, deletion(seid=number), number, upf.key)
        await edge.settled()
        assert edge.gateway.counters.undeliverable == 5
        assert len(upf.got) == 2
        await edge.ask(other, deletion(), 1)
        await other.next()
        await edge.ask(upf, deletion(), 4, upf.key)
        await edge.settled()
        assert edge.gateway.counters.under_way == 1, "one that waits to be sent is under way"
        seids: list[int | None] = []
        for count in range(5):
            (asked,) = await upf.next()
            seids.append(asked.seid)
            upf.answer(asked, {"Cause": ACCEPTED})
            await edge.until(count + 1)
        assert seids == [0, 1, 2, 3, 4]
        assert [event.sequence for event in edge.events] == seids
        assert upf.got == []


async def test_those_that_wait_have_their_turn_when_one_is_given_up(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, structs.replace(QUICK, max_requests=1)) as edge:
        upf, _ = edge.upfs
        for number in range(2):
            await edge.ask(upf, deletion(), number, upf.key)
        events = await edge.until(2)
        assert [event.sequence for event in events] == [0, 1]
        assert {event.type for event in events} == {EventType.PFCP_UNANSWERED}


async def test_two_upfs_have_no_number_in_common(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, structs.replace(QUICK, t1=30.0)) as edge:
        for number in range(20):
            upf = edge.upfs[number % 2]
            await edge.ask(upf, deletion(), number, upf.key)
        heard = [await upf.next(10) for upf in edge.upfs]
        assert len({peek.sequence for peeks in heard for peek in peeks}) == 20


@pytest.mark.parametrize("octets", [b"", b"hello", deletion()[:-1]])
async def test_octets_that_are_no_message_are_not_sent(edge: Edge, octets: bytes) -> None:
    upf, _ = edge.upfs
    await edge.ask(upf, octets, 1)
    await edge.ask(upf, deletion(), 2)
    (asked,) = await upf.next()
    assert asked.message == "SessionDeletionRequest"
    assert edge.gateway.counters.malformed == 1


async def test_messages_that_come_together_are_each_one(edge: Edge) -> None:
    upf, _ = edge.upfs
    subject = subjects.n4(upf.node_id)
    some = [(b"hello", 1), (deletion(), 2), (deletion(), 3)]
    made = [
        Addressed(subject, edge.event(upf, number, upf.key, data=data)) for data, number in some
    ]
    (message,) = gathered(made, str)
    await edge.core.publish(subject, message.data, headers=message.headers)
    asked = await upf.next(2)
    assert [one.message for one in asked] == ["SessionDeletionRequest"] * 2
    assert edge.gateway.counters.malformed == 1
    assert edge.gateway.counters.downlink == 3


async def test_a_batch_that_cannot_be_read_is_dropped(edge: Edge) -> None:
    upf, _ = edge.upfs
    headers = {"Content-Type": BATCH_MEDIA_TYPE}
    await edge.core.publish(subjects.n4(upf.node_id), b"[1]", headers=headers)
    await edge.ask(upf, deletion(), 2)
    await upf.next()
    assert edge.gateway.counters.malformed == 1


async def test_of_two_gateways_one_sends(tmp_path: Path) -> None:
    """The gateways are a queue group. Each has its own path to the UPF."""
    async with n4_edge.running(tmp_path, structs.replace(QUICK, t1=30.0)) as edge:
        upf, _ = edge.upfs
        async with n4_edge.another(edge, structs.replace(QUICK, t1=30.0)) as other:
            for number in range(30):
                await edge.ask(upf, deletion(), number, upf.key)
            await upf.heard(30)
            mine, others = edge.gateway.counters.downlink, other.counters.downlink
            assert mine + others == 30
            assert len(upf.got) == 30
            assert mine
            assert others


async def test_a_gateway_that_stops_waits_for_answers_a_while(tmp_path: Path) -> None:
    async with n4_edge.running(tmp_path, structs.replace(QUICK, t1=5.0)) as edge:
        upf, _ = edge.upfs
        await edge.ask(upf, deletion(), 1)
        (asked,) = await upf.next()
        stopping = asyncio.ensure_future(edge.gateway.stop())
        await asyncio.sleep(0)
        upf.answer(asked, {"Cause": ACCEPTED})
        await edge.until(1)
        await stopping
