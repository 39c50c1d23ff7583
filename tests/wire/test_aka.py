"""5G-AKA, network against USIM (TS 33.501 6.1.3.2), over the second implementations."""

from dataclasses import astuple, dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import kdf
from tests.wire.reference.milenage import milenage, xor

SN_NAME = "5G:mnc001.mcc001.3gppnetwork.org"

octets16 = st.binary(min_size=16, max_size=16)
sqn = st.integers(0, 2**48 - 1)
amf = st.integers(0, 2**15 - 1).map(lambda low: (0x8000 | low).to_bytes(2, "big"))


@dataclass
class Chain:
    """The values that TS 33.501 6.1.3.2 derives from a subscriber and a challenge, step by step."""

    autn: bytes
    res_star: bytes
    hres_star: bytes
    kausf: bytes
    kseaf: bytes


def chain(k: bytes, opc: bytes, rand: bytes, sqn_: int, amf_: bytes) -> Chain:
    out = milenage(k, opc, rand, sqn_, amf_)
    autn = xor(sqn_.to_bytes(6, "big"), out["f5"]) + amf_ + out["f1"]
    star = kdf.res_star(out["f3"], out["f4"], SN_NAME, rand, out["f2"])
    kausf = kdf.kausf(out["f3"], out["f4"], SN_NAME, autn)
    return Chain(autn, star, kdf.hres_star(rand, star), kausf, kdf.kseaf(kausf, SN_NAME))


@FAST
@given(k=octets16, opc=octets16, rand=octets16, sqn_=sqn, amf_=amf)
def test_the_vector_and_the_answer(
    k: bytes, opc: bytes, rand: bytes, sqn_: int, amf_: bytes
) -> None:
    right = chain(k, opc, rand, sqn_, amf_)
    vector = wire.aka_vector(k, opc, rand, sqn_, amf_, SN_NAME)
    assert vector.rand == rand
    assert astuple(right) == (
        vector.autn,
        vector.xres_star,
        vector.hxres_star,
        vector.kausf,
        vector.kseaf,
    )
    answer = wire.usim_answer(k, opc, rand, vector.autn, SN_NAME)
    assert (answer.sqn, answer.separation_bit) == (sqn_, True)
    assert (answer.res_star, answer.kausf, answer.kseaf) == (
        right.res_star,
        right.kausf,
        right.kseaf,
    )


@FAST
@given(k=octets16, opc=octets16, rand=octets16, sqn_=sqn, bit=st.integers(0, 127))
def test_a_changed_autn_is_refused(k: bytes, opc: bytes, rand: bytes, sqn_: int, bit: int) -> None:
    autn = bytearray(wire.aka_vector(k, opc, rand, sqn_, b"\x80\x00", SN_NAME).autn)
    autn[bit // 8] ^= 1 << bit % 8
    with pytest.raises(wire.WireError) as refused:
        wire.usim_answer(k, opc, rand, bytes(autn), SN_NAME)
    assert refused.value.kind == "aka-mac"


def test_the_separation_bit_is_told() -> None:
    """A UE rejects AUTN of an EPS or UMTS vector with cause #26 (TS 33.501 6.1.3.2.2, step 7)."""
    k, opc, rand = bytes(16), bytes(range(16)), bytes(range(16, 32))
    autn = chain(k, opc, rand, 32, b"\x00\x01").autn
    assert wire.usim_answer(k, opc, rand, autn, SN_NAME).separation_bit is False


def test_a_vector_without_the_separation_bit() -> None:
    """`amf` is put into AUTN unchanged. The caller must set the separation bit."""
    k, opc, rand = bytes(16), bytes(range(16)), bytes(range(16, 32))
    vector = wire.aka_vector(k, opc, rand, 32, b"\x00\x01", SN_NAME)
    assert vector.autn[6:8] == b"\x00\x01"


def test_another_serving_network_gives_other_keys() -> None:
    k, opc, rand = bytes(16), bytes(range(16)), bytes(range(16, 32))
    here = wire.aka_vector(k, opc, rand, 32, b"\x80\x00", SN_NAME)
    there = wire.aka_vector(k, opc, rand, 32, b"\x80\x00", SN_NAME.replace("001", "002"))
    assert here.autn == there.autn
    assert here.xres_star != there.xres_star
    assert here.kausf != there.kausf
    assert here.kseaf != there.kseaf
