"""MILENAGE and AUTS (TS 35.206, TS 33.102 6.3), against TS 35.208 and a second implementation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import milenage as reference
from tests.wire.vectors import table

SETS = table("milenage")
OUTPUTS = ("f1", "f1*", "f2", "f5", "f3", "f4", "f5*")

key = st.binary(min_size=16, max_size=16)
sqn = st.integers(0, 2**48 - 1)


@pytest.mark.parametrize("row", SETS, ids=lambda row: f"set-{row[0]}")
def test_published_set(row: list[str]) -> None:
    k, rand, sqn_, amf, op, opc = map(bytes.fromhex, row[1:7])
    assert wire.milenage_opc(k, op) == reference.opc(k, op) == opc
    found = wire.milenage(k, opc, rand, int.from_bytes(sqn_, "big"), amf)
    assert {name: found[name].hex() for name in OUTPUTS} == dict(zip(OUTPUTS, row[7:], strict=True))


@FAST
@given(k=key, opc=key, rand=key, sqn_=sqn, amf=st.binary(min_size=2, max_size=2))
def test_as_the_reference_has_it(k: bytes, opc: bytes, rand: bytes, sqn_: int, amf: bytes) -> None:
    assert wire.milenage(k, opc, rand, sqn_, amf) == reference.milenage(k, opc, rand, sqn_, amf)
    assert wire.milenage_opc(k, opc) == reference.opc(k, opc)


@FAST
@given(k=key, opc=key, rand=key, sqn_ms=sqn)
def test_auts_is_made_as_the_reference_makes_it(
    k: bytes, opc: bytes, rand: bytes, sqn_ms: int
) -> None:
    """AUTS = SQN_MS xor AK*, MAC-S; MAC-S with an AMF of zeros (TS 33.102 6.3.3)."""
    outputs = reference.milenage(k, opc, rand, sqn_ms, bytes(2))
    concealed = sqn_ms ^ int.from_bytes(outputs["f5*"], "big")
    auts = wire.auts(k, opc, rand, sqn_ms)
    assert auts == concealed.to_bytes(6, "big") + outputs["f1*"]
    assert wire.verify_auts(k, opc, rand, auts) == sqn_ms


@FAST
@given(k=key, opc=key, rand=key, sqn_ms=sqn, bit=st.integers(0, 14 * 8 - 1))
def test_a_forged_auts_is_refused(k: bytes, opc: bytes, rand: bytes, sqn_ms: int, bit: int) -> None:
    """Every bit matters: the bits of SQN_MS through f1*, the bits of MAC-S directly."""
    forged = bytearray(wire.auts(k, opc, rand, sqn_ms))
    forged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(wire.WireError, match="MAC-S") as refused:
        wire.verify_auts(k, opc, rand, bytes(forged))
    assert refused.value.kind == "aka-mac"


def test_an_auts_of_another_challenge_or_subscriber_is_refused() -> None:
    k, opc, rand = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))
    auts = wire.auts(k, opc, rand, 7)
    for other in ((opc, opc, rand), (k, k, rand), (k, opc, k)):
        with pytest.raises(wire.WireError) as refused:
            wire.verify_auts(*other, auts)
        assert refused.value.kind == "aka-mac"


@pytest.mark.parametrize(
    "arguments",
    [
        (b"k" * 15, b"o" * 16, b"r" * 16, 0, b"ab"),
        (b"k" * 16, b"o" * 17, b"r" * 16, 0, b"ab"),
        (b"k" * 16, b"o" * 16, b"", 0, b"ab"),
        (b"k" * 16, b"o" * 16, b"r" * 16, 2**48, b"ab"),
        (b"k" * 16, b"o" * 16, b"r" * 16, 0, b"abc"),
    ],
    ids=["k", "opc", "rand", "sqn", "amf"],
)
def test_a_value_of_another_size_is_refused(
    arguments: tuple[bytes, bytes, bytes, int, bytes],
) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.milenage(*arguments)
    assert refused.value.kind == "security"
