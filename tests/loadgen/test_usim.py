"""The USIM's check of sequence numbers (TS 33.102 annex C)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from loadgen.ue.authentication import DELTA, Usim

K, OPC, RAND = b"k" * 16, b"o" * 16, b"r" * 16
SN = "5G:mnc001.mcc001.3gppnetwork.org"


def autn(sqn: int, amf: bytes = b"\x80\x00") -> bytes:
    out = wire.milenage(K, OPC, RAND, sqn, amf)
    concealed = bytes(a ^ b for a, b in zip(sqn.to_bytes(6, "big"), out["f5"], strict=True))
    return concealed + amf + out["f1"]


def sqn(seq: int, ind: int = 0) -> int:
    return seq << 5 | ind


def test_a_fresh_challenge_gives_the_keys_of_the_home_network() -> None:
    vector = wire.aka_vector(K, OPC, RAND, sqn(1), b"\x80\x00", SN)
    found = Usim(K, OPC).challenge(RAND, vector.autn, SN)
    assert (found.cause, found.res_star, found.kseaf) == (None, vector.xres_star, vector.kseaf)


def test_a_wrong_mac_is_the_first_thing_to_be_found() -> None:
    broken = autn(sqn(0), b"\0\0")[:-1] + b"\0"
    assert Usim(K, OPC).challenge(RAND, broken, SN).cause == 20


def test_a_challenge_without_the_separation_bit_is_not_for_5g() -> None:
    assert Usim(K, OPC).challenge(RAND, autn(sqn(1), b"\0\0"), SN).cause == 26


@pytest.mark.parametrize("stale", [sqn(7), sqn(6), sqn(0)])
def test_a_stale_sqn_is_answered_with_the_usims_own(stale: int) -> None:
    usim = Usim(K, OPC, sqn(7))
    found = usim.challenge(RAND, autn(stale), SN)
    assert found.cause == 21
    assert found.auts is not None
    assert wire.verify_auts(K, OPC, RAND, found.auts) == sqn(7)
    assert usim.challenge(RAND, autn(sqn(8)), SN).cause is None


def test_sequence_numbers_may_come_out_of_order_under_another_index() -> None:
    usim = Usim(K, OPC)
    assert usim.challenge(RAND, autn(sqn(9, 1)), SN).cause is None
    assert usim.challenge(RAND, autn(sqn(5, 2)), SN).cause is None
    assert usim.challenge(RAND, autn(sqn(5, 2)), SN).cause == 21
    assert usim.challenge(RAND, autn(sqn(8, 1)), SN).cause == 21
    assert usim.sqn_ms == sqn(9, 1)


def test_a_sequence_number_may_not_jump_too_far() -> None:
    usim = Usim(K, OPC)
    assert usim.challenge(RAND, autn(sqn(DELTA + 1)), SN).cause == 21
    assert usim.challenge(RAND, autn(sqn(DELTA)), SN).cause is None


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 31)), max_size=12))
def test_no_sequence_number_is_ever_accepted_twice(numbers: list[tuple[int, int]]) -> None:
    usim, accepted = Usim(K, OPC), set[int]()
    for seq, ind in numbers:
        one = sqn(seq, ind)
        if usim.challenge(RAND, autn(one), SN).cause is None:
            assert one not in accepted
            accepted.add(one)
    assert usim.sqn_ms == max(accepted, default=0)
