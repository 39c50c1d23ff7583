"""The order of a UE's downlink messages, for any order of arrival at the gateway."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventing.cloudevents.nats_binding import counted, counts
from gateway.n2 import downlink
from gateway.n2.downlink import DownlinkOrder, DownlinkPdu
from tests.gateway.edge import Edge, downlink_nas


def said(*numbers: int | None) -> list[DownlinkPdu]:
    """Return messages with the given COUNTs; None for no COUNT."""
    return [DownlinkPdu(1, b"%d" % at, n, n) for at, n in enumerate(numbers)]


def order(messages: list[DownlinkPdu]) -> list[int | None]:
    return [message.first for message in messages]


def test_what_comes_in_order_goes_at_once() -> None:
    it = DownlinkOrder()
    assert [order(it.add(m)) for m in said(None, 7, None, 8, 8, 9)] == [
        [None],
        [7],
        [None],
        [8],
        [8],
        [9],
    ]


def test_what_is_early_waits_for_what_is_missing() -> None:
    it = DownlinkOrder()
    first, fourth, end, third, second = said(4, 7, None, 6, 5)
    assert it.add(first) == [first]
    assert it.add(fourth) == it.add(end) == it.add(third) == []
    assert it.held == 3
    assert it.add(second) == [second, third, fourth, end]
    assert it.held == 0


def test_what_does_not_come_is_not_waited_for_for_ever() -> None:
    it = DownlinkOrder()
    first, fourth, end, third = said(4, 7, None, 6)
    it.add(first)
    for message in (fourth, end, third):
        it.add(message)
    assert it.flush() == [third, fourth, end]
    assert order(it.add(said(8)[0])) == [8]


def test_an_old_message_and_a_new_context_are_no_gap() -> None:
    it = DownlinkOrder()
    assert [order(it.add(m)) for m in said(4, 5, 4, 6)] == [[4], [5], [4], [6]]
    assert [order(it.add(m)) for m in said(0, 1, 2)] == [[0], [1], [2]]
    assert order(it.add(said(2 + downlink.FAR + 5)[0])) == [2 + downlink.FAR + 5]


@given(st.integers(0, 300), st.permutations(range(8)))
def test_nothing_is_lost_and_all_is_in_order(start: int, places: list[int]) -> None:
    it = DownlinkOrder()
    sent = it.add(DownlinkPdu(1, b"", start, start))
    for place in places:
        number = start + 1 + place
        sent += it.add(DownlinkPdu(1, b"", number, number))
    assert order(sent) == [*range(start, start + 9)]
    assert it.held == 0


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=100))
def test_nothing_is_lost_whatever_comes(numbers: list[int | None]) -> None:
    it = DownlinkOrder()
    messages = said(*numbers)
    sent = [one for message in messages for one in it.add(message)] + it.flush()
    assert sorted(m.pdu for m in sent) == sorted(m.pdu for m in messages)


@pytest.mark.parametrize(("first", "last", "text"), [(5, 5, "5"), (5, 7, "5-7")])
def test_counts_as_text(first: int, last: int, text: str) -> None:
    assert counted(first, last) == text
    assert counts(text) == (first, last)
    assert counts("") == counts("x") == (None, None)


async def test_a_gnb_gets_them_in_order(edge: Edge) -> None:
    ran = await edge.ran()
    event = await ran.set_up()
    await ran.sent(ran.initial(b"\x7e\x00\x41", ran_id=9))
    for nas_count in (3, 5, 4, 7):
        pdu = downlink_nas(1, 9, b"%d" % nas_count)
        await edge.answer(event, pdu, "registration", nas_count)
    heard = await ran.heard.got(5)
    assert [m.payload for m in heard[1:]] == [downlink_nas(1, 9, b"%d" % n) for n in (3, 4, 5, 7)]
