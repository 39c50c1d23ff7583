"""Encryption at rest, against AES-256-GCM of the package `cryptography`."""

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST

KEY = bytes(range(32))
NONCE = bytes(range(100, 112))
SEALER = wire.Sealer(KEY)

key32 = st.binary(min_size=32, max_size=32)
nonce12 = st.binary(min_size=12, max_size=12)
octets = st.binary(max_size=200)


@FAST
@given(key=key32, nonce=nonce12, plain=octets, context=octets)
def test_as_the_reference_has_it(key: bytes, nonce: bytes, plain: bytes, context: bytes) -> None:
    sealed = wire.Sealer(key).seal(nonce, plain, context)
    assert sealed == nonce + AESGCM(key).encrypt(nonce, plain, context)
    assert wire.Sealer(key).open(sealed, context) == plain
    assert AESGCM(key).decrypt(sealed[:12], sealed[12:], context) == plain


@FAST
@given(plain=octets, context=octets, data=st.data())
def test_a_changed_octet_is_refused(plain: bytes, context: bytes, data: st.DataObject) -> None:
    sealed = bytearray(SEALER.seal(NONCE, plain, context))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(wire.WireError) as refused:
        SEALER.open(bytes(sealed), context)
    assert refused.value.kind == "sealed"
    with pytest.raises(InvalidTag):
        AESGCM(KEY).decrypt(bytes(sealed[:12]), bytes(sealed[12:]), context)


@FAST
@given(plain=octets, context=octets, other=octets)
def test_another_context_is_refused(plain: bytes, context: bytes, other: bytes) -> None:
    sealed = SEALER.seal(NONCE, plain, context)
    if other == context:
        assert SEALER.open(sealed, other) == plain
        return
    with pytest.raises(wire.WireError) as refused:
        SEALER.open(sealed, other)
    assert refused.value.kind == "sealed"


def test_another_key_is_refused() -> None:
    sealed = SEALER.seal(NONCE, b"secret", b"ue/imsi-001010000000001")
    with pytest.raises(wire.WireError) as refused:
        wire.Sealer(bytes(32)).open(sealed, b"ue/imsi-001010000000001")
    assert refused.value.kind == "sealed"


@pytest.mark.parametrize("size", [0, 1, 11, 12, 27])
def test_what_is_too_short_is_refused(size: int) -> None:
    """The least size is a nonce of 12 octets and a tag of 16."""
    with pytest.raises(wire.WireError) as refused:
        SEALER.open(SEALER.seal(NONCE, b"", b"")[:size], b"")
    assert refused.value.kind == "sealed"


def test_truncated_and_extended_values_are_refused() -> None:
    sealed = SEALER.seal(NONCE, b"twelve bytes", b"")
    for changed in (sealed[:-1], sealed[1:], sealed + b"\0", b"\0" + sealed):
        with pytest.raises(wire.WireError) as refused:
            SEALER.open(changed, b"")
        assert refused.value.kind == "sealed"


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_has_32_octets(size: int) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.Sealer(bytes(size))
    assert refused.value.kind == "security"


@pytest.mark.parametrize("size", [0, 11, 13, 16])
def test_a_nonce_has_12_octets(size: int) -> None:
    with pytest.raises(wire.WireError) as refused:
        SEALER.seal(bytes(size), b"secret", b"")
    assert refused.value.kind == "security"


def test_the_plain_text_is_not_in_the_sealed_one() -> None:
    sealed = SEALER.seal(NONCE, KEY * 2, b"")
    assert KEY[:8] not in sealed
    assert len(sealed) == 12 + 64 + 16
