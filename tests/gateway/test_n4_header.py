"""The PFCP header octets that the gateway reads and writes itself, compared with wire."""

from hypothesis import given
from hypothesis import strategies as st

import wire
from gateway.n4 import pfcp
from gateway.n4.requests import PACE, Sequences, first_sequence
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


def test_sequence_numbers_begin_ahead_of_those_of_the_gateway_before() -> None:
    then, now = first_sequence(1e9), first_sequence(1e9 + 10)
    assert (now - then) % pfcp.SEQUENCES == 10 * PACE


@given(sequences, st.lists(st.integers(0, 9), max_size=60))
def test_no_number_is_given_twice_while_it_is_taken(first: int, frees: list[int]) -> None:
    numbers, taken = Sequences(first), list[int]()
    for which in frees:
        number = numbers.take()
        assert number not in taken
        assert 0 <= number < pfcp.SEQUENCES
        taken.append(number)
        if which < len(taken):
            numbers.free(taken.pop(which))


def test_a_number_that_is_taken_is_passed_over_when_they_begin_anew() -> None:
    numbers = Sequences(pfcp.SEQUENCES - 1)
    assert numbers.take() == pfcp.SEQUENCES - 1
    assert numbers.take() == 0
    numbers = Sequences(0)
    kept = numbers.take()
    numbers.free(kept)
    assert numbers.take() == 1, "a number that is free is not given again at once"
