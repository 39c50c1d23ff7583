"""The PFCP header octets that the gateway reads and writes itself, compared with wire."""

import itertools
from array import array
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from gateway.n4 import pfcp
from gateway.n4 import sequences as module
from gateway.n4.sequences import Sequences
from tests.gateway.n4_edge import encode, report

sequences = st.integers(0, pfcp.SEQUENCES - 1)


@given(st.integers(0, (1 << 64) - 1), sequences, st.none() | st.integers(0, 15))
def test_a_header_is_read_as_wire_reads_it(seid: int, sequence: int, priority: int | None) -> None:
    more = {} if priority is None else {"priority": priority}
    octets = encode(
        "SessionReportRequest", [{"Report Type": ["DLDR"]}], sequence, seid=seid, **more
    )
    peek = wire.pfcp_peek(octets)
    assert pfcp.header_of(octets) == (peek.version, peek.message_type, peek.seid, peek.sequence)
    octets = encode("HeartbeatRequest", [], sequence)
    assert pfcp.header_of(octets) == (1, 1, None, sequence)


@given(st.binary(max_size=40), st.integers(0, 3))
def test_any_octets_are_read_or_not(octets: bytes, count: int) -> None:
    pfcp.header_of(octets)
    follows = bytes([report(1)[0] | 4]) + report(1)[1:]
    found = list(pfcp.messages(follows * count + octets))
    assert count <= len(found) <= count + pfcp.MAX_MESSAGES or not octets
    assert all(peek is not None for _, peek in found[:-1])
    assert b"".join(piece for piece, _ in found) == follows * count + octets


@given(st.lists(st.integers(0, 9), max_size=60))
def test_no_number_is_given_twice_while_it_is_taken(frees: list[int]) -> None:
    numbers, taken = Sequences(), list[int]()
    for which in frees:
        number = numbers.take()
        assert number not in taken
        assert 0 <= number < pfcp.SEQUENCES
        taken.append(number)
        if which < len(taken):
            numbers.free(taken.pop(which))


def drawn(*numbers: int) -> Callable[[int], bytes]:
    """Return a source of octets that draws these numbers."""
    octets = array("I", reversed(numbers)).tobytes()
    return lambda _: octets


def test_a_number_is_not_drawn_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A UPF may keep its response to the earlier request (TS 29.244 6.4)."""
    monkeypatch.setattr(module, "GENERATION", 2)
    numbers = Sequences(drawn(5, 5, 6, 5, 6, 7, 8, 5, 9))
    found = list[int]()
    for _ in range(5):
        found.append(numbers.take())
        numbers.free(found[-1])
    assert found == [5, 6, 7, 8, 5], "two generations later"


def test_a_pending_number_is_never_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GENERATION", 1)
    numbers = Sequences(drawn(5, 6, 7, 5, 8))
    assert [numbers.take() for _ in range(4)] == [5, 6, 7, 8]


def test_numbers_cannot_be_foreseen() -> None:
    """Two gateway processes, and one after the other number, have nothing in common."""
    first, second = Sequences(), Sequences()
    one, two = ([numbers.take() for _ in range(2000)] for numbers in (first, second))
    assert len(set(one) & set(two)) < 10
    steps = {(b - a) % pfcp.SEQUENCES for a, b in itertools.pairwise(one)}
    assert len(steps) > 1900
    assert 0.4 < sum(number < pfcp.SEQUENCES // 2 for number in one) / len(one) < 0.6
