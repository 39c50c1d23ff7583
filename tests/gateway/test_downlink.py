"""Downlink PDUs go to their own association, or are dropped."""

from pathlib import Path

import pytest

from eventing import subjects
from eventing.jetstream.messages import Addressed
from eventing.jetstream.sealed import DownlinkSealer
from functions.messages import ngap
from gateway.n2 import sending as module
from loadgen.gnb import messages as ngap_gnb
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import Tai
from tests.functions.world import NETWORK, TMSI_KEY
from tests.gateway import edge as edges
from tests.gateway.edge import Edge, Ran, downlink_nas, ng_setup_response
from transport import Limits

NARROW = Limits(send_buffer=4096, receive_window=4096, max_message=2048)


async def test_each_ue_has_its_stream_and_the_node_the_first(edge: Edge) -> None:
    ran = await edge.ran()
    event = await ran.set_up()
    for ran_id in range(100):
        await edge.answer(event, downlink_nas(ran_id, ran_id))
    heard = await ran.heard.got(101)
    assert heard[0].stream == 0
    assert all(message.stream > 0 for message in heard[1:])
    assert len({message.stream for message in heard}) == ran.association.outbound_streams
    assert {message.ppid for message in heard} == {60}
    assert [message.payload for message in heard[1:]] == [downlink_nas(n, n) for n in range(100)]


async def test_a_message_for_a_gnb_waits_for_the_ng_setup_response(edge: Edge) -> None:
    """A worker may page in a gNB's tracking area before another has sent NG SETUP RESPONSE."""
    ran = await edge.ran()
    event = await ran.sent(setup_request(ran))
    early = [paging(1), downlink_nas(7, 7), paging(2)]
    for pdu in early:
        await edge.answer(event, pdu)
    assert ran.heard.messages == []
    await edge.answer(event, error_indication())
    await edge.answer(event, ng_setup_response())
    await edge.answer(event, paging(3))
    sent = [error_indication(), ng_setup_response(), *early, paging(3)]
    assert [m.payload for m in await ran.heard.got(6)] == sent


async def test_messages_that_wait_for_ng_setup_response_have_a_bound(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DOWNLINK", 4)
    ran = await edge.ran()
    event = await ran.sent(setup_request(ran))
    for tmsi in (1, 2, 3):
        await edge.answer(event, paging(tmsi))
    assert edge.gateway.counters.undeliverable == 1
    await edge.answer(event, ng_setup_response())
    heard = await ran.heard.got(3)
    assert [m.payload for m in heard] == [ng_setup_response(), paging(1), paging(2)]


async def test_messages_that_wait_for_ng_setup_response_end_with_the_association(
    edge: Edge,
) -> None:
    old = await edge.ran(7)
    event = await old.sent(setup_request(old))
    await edge.answer(event, paging(1))
    await old.transport.close()
    await edge.got(2)  # the association is lost
    new = await edge.gnb(7)
    await edge.answer(edge.events[2], paging(2))
    assert [m.payload for m in await new.heard.got(2)] == [ng_setup_response(), paging(2)]


async def test_an_answer_goes_to_the_association_that_the_question_came_by(edge: Edge) -> None:
    one, other = await edge.ran(), await edge.ran()
    first, second = await one.set_up(), await other.set_up()
    await edge.answer(second, downlink_nas(2, 2))
    await edge.answer(first, downlink_nas(1, 1))
    assert (await one.heard.got(2))[1].payload == downlink_nas(1, 1)
    assert (await other.heard.got(2))[1].payload == downlink_nas(2, 2)


async def test_what_comes_for_an_association_that_is_gone_reaches_nobody(edge: Edge) -> None:
    """Not to the next association of the same gNB: its RAN-UE-NGAP-IDs belong to other UEs."""
    old = await edge.ran(7)
    event = await old.set_up()
    await old.transport.close()
    await edge.got(2)  # the association is lost
    new = await edge.gnb(7)
    await edge.answer(event, downlink_nas(1, 1))
    await edge.answer(edge.events[2], downlink_nas(2, 2))
    assert [m.payload for m in await new.heard.got(2)] == [ng_setup_response(), downlink_nas(2, 2)]
    assert edge.gateway.counters.downlink == 3


async def test_octets_that_are_no_pdu_are_not_sent(edge: Edge) -> None:
    ran = await edge.ran()
    event = await ran.set_up()
    await edge.answer(event, b"hello")
    await edge.answer(event, downlink_nas(1, 1))
    assert (await ran.heard.got(2))[1].payload == downlink_nas(1, 1)


async def test_what_its_worker_sends_out_again_leaves_once(edge: Edge) -> None:
    ran = await edge.ran()
    event = await ran.set_up()
    await edge.answer(event, downlink_nas(1, 1), identifier="ue/1/2/0")
    await edge.answer(event, downlink_nas(1, 1), identifier="ue/1/3/0")
    await edge.answer(event, downlink_nas(1, 1), identifier="ue/1/2/0")
    await edge.answer(event, downlink_nas(2, 2))
    heard = await ran.heard.got(4)
    assert [m.payload for m in heard[1:]] == [downlink_nas(n, n) for n in (1, 1, 2)]
    assert edge.gateway.counters.repeated == 1


async def test_pdus_that_come_together_leave_as_if_each_had_come_alone(edge: Edge) -> None:
    ran, other = await edge.ran(), await edge.ran()
    event, _ = await ran.set_up(), await other.set_up()
    await ran.sent(ran.initial(b"\x7e\x00\x41", ran_id=9))
    subject = subjects.downlink(*event.source.split("/")[2:])
    some = [(1, 4), (9, 3), (9, 5), (9, 4), (9, 4), (2, 0)]
    made = [
        Addressed(subject, told(f"ue/{ran_id}/{number}/0", pdu(ran_id, number)), str(number))
        for ran_id, number in some
    ]
    assert len(edge.downlinks.messages(made)) == 1
    await edge.downlinks.send(made)
    heard = await ran.heard.got(6)
    assert [m.payload for m in heard[1:]] == [
        pdu(*n) for n in (some[0], some[1], some[3], some[2], some[5])
    ]
    assert edge.gateway.counters.repeated == 1
    assert len(await other.heard.got(1)) == 1


@pytest.mark.parametrize("plain", [b"[1]", b"[]", b"not a batch"])
async def test_a_sealed_message_without_events_changes_nothing(edge: Edge, plain: bytes) -> None:
    ran = await edge.ran()
    event = await ran.set_up()
    subject = subjects.downlink(*event.source.split("/")[2:])
    await edge.core.publish(subject, DownlinkSealer(TMSI_KEY).seal(subject, plain))
    await edge.answer(event, downlink_nas(1, 1))
    assert (await ran.heard.got(2))[1].payload == downlink_nas(1, 1)
    assert edge.gateway.counters.refused == 1


def setup_request(ran: Ran) -> bytes:
    return ngap_gnb.ng_setup_request(ran.config)


def paging(tmsi: int) -> bytes:
    tai = Tai("001-01", 1)
    return ngap.paging(NETWORK.guami, tmsi, (tai,))


def error_indication() -> bytes:
    return ngap.error_indication(ngap.UNSPECIFIED)


def told(identifier: str, data: bytes) -> CloudEvent:
    return CloudEvent(identifier, "/test", EventType.NGAP_DOWNLINK, "gnb", data)


def pdu(ran_id: int, number: int) -> bytes:
    return downlink_nas(1, ran_id, b"%d" % number)


async def fill(edge: Edge, event: CloudEvent, count: int) -> list[bytes]:
    sent = [downlink_nas(1, n, b"\x7e\x00\x64" + bytes(500)) for n in range(count)]
    for pdu in sent:
        await edge.answer(event, pdu)
    return sent


async def test_what_a_gnb_does_not_take_yet_waits_for_it(tmp_path: Path) -> None:
    async with edges.running(tmp_path, limits=NARROW) as edge:
        ran = await edge.ran(limits=NARROW)
        event = await ran.set_up()
        ran.transport.pause()
        sent = await fill(edge, event, 50)
        await edge.answered(51)
        ran.transport.resume()
        heard = await ran.heard.got(51)
        assert [message.payload for message in heard[1:]] == sent
        assert edge.gateway.counters.undeliverable == 0


async def test_an_association_without_room_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost request would have no answer, and NGAP has no timer for it. Other gNBs stay."""
    monkeypatch.setattr(module, "MAX_DOWNLINK", 5)
    async with edges.running(tmp_path, limits=NARROW) as edge:
        ran, other = await edge.ran(limits=NARROW), await edge.ran()
        event, others = await ran.set_up(), await other.set_up()
        ran.transport.pause()
        await fill(edge, event, 50)
        lost = (await edge.got(3))[2]
        assert (lost.type, lost.source) == (EventType.ASSOCIATION_LOST, event.source)
        await ran.heard.downs()
        await edge.answer(others, downlink_nas(9, 9))
        await other.heard.got(2)
        assert edge.gateway.gnbs == [other.id]


async def test_paging_without_room_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T3513 repeats it."""
    monkeypatch.setattr(module, "MAX_DOWNLINK", 6)
    async with edges.running(tmp_path, limits=NARROW) as edge:
        ran = await edge.ran(limits=NARROW)
        event = await ran.set_up()
        ran.transport.pause()
        full = 0
        while not edge.gateway.backlog:
            full += 1
            await edge.answer(event, paging(full))
            await edge.answered(1 + full)
        for tmsi in range(1, 8):
            await edge.answer(event, paging(full + tmsi))
        await edge.answer(event, downlink_nas(9, 9))
        await edge.answered(9 + full)
        assert edge.gateway.counters.undeliverable == 5
        ran.transport.resume()
        heard = await ran.heard.got(full + 4)
        sent = [ng_setup_response(), *map(paging, range(1, full + 3)), downlink_nas(9, 9)]
        assert [m.payload for m in heard] == sent
        assert ran.heard.down_ == []


async def test_an_association_that_reads_nothing_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCTP itself lets a peer keep its window closed for ever (RFC 9260 6.1 A)."""
    monkeypatch.setattr(module, "STALLED", 0.5)
    async with edges.running(tmp_path, limits=NARROW) as edge:
        ran, slow = await edge.ran(limits=NARROW), await edge.ran(limits=NARROW)
        event, other = await ran.set_up(), await slow.set_up()
        ran.transport.pause()
        slow.transport.pause()
        await fill(edge, event, 50)
        await fill(edge, other, 50)
        slow.transport.resume()
        await slow.heard.got(51)
        await ran.heard.downs()
        assert edge.gateway.gnbs == [slow.id]
        assert slow.heard.down_ == []
