"""Initial NAS messages (TS 24.501 4.4.6): cleartext IEs outside, the complete message inside."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.nas_peer import INTEGRITY, KAMF, PAIRS, context, opened, sealed
from tests.wire.profiles import FAST

ALGORITHMS = pytest.mark.parametrize(("nia", "nea"), PAIRS)
GUTI = {
    "plmn": "001-01",
    "amf-region-id": 1,
    "amf-set-id": 1,
    "amf-pointer": 0,
    "tmsi": 0xC0000005,
}
REGISTRATION: dict[str, Any] = {
    "message-type": "registration-request",
    "5gs-registration-type": {"registration-type": "initial-registration"},
    "ngksi": {"native": 1},
    "5gs-mobile-identity": {"guti": GUTI},
    "ue-security-capability": {"octets": "e0e0"},
    "requested-nssai": [{"sst": 1, "sd": "010203"}],
    "last-visited-registered-tai": {"plmn": "001-01", "tac": 1},
}
REGISTRATION["5gs-registration-type"]["follow-on-request"] = True
CLEARTEXT = {
    "message-type",
    "5gs-registration-type",
    "ngksi",
    "5gs-mobile-identity",
    "ue-security-capability",
}
"""The cleartext IEs of REGISTRATION REQUEST in these messages."""
SERVICE = b"\x7e\x00\x4c\x01\x00\x07\xf4\x00\x40\xc0\x00\x00\x05"
DEREGISTRATION = b"\x7e\x00\x45\x11\x00\x0b\xf2\x00\xf1\x10\x01\x00\x40\xc0\x00\x00\x05"
UPLINK_DATA = b"\x40\x02\x20\x00"
"""Uplink data status, which is not a cleartext IE."""


def container_of(outer: bytes) -> bytes:
    """Return the value of the NAS message container IE (IEI 71), the last IE of the message."""
    at = outer.index(b"\x71")
    assert int.from_bytes(outer[at + 1 : at + 3], "big") == len(outer) - at - 3
    return outer[at + 3 :]


@ALGORITHMS
def test_a_registration_request(nia: int, nea: int) -> None:
    plain = wire.nas_encode(REGISTRATION)
    ue, amf = context(300, 0, nia, nea), context(300, 0, nia, nea)
    data = ue.protect_initial(plain)
    assert data[1] == INTEGRITY
    outer = opened(data, 300, downlink=False, nia=nia, nea=nea)
    seen = wire.nas_decode(outer)
    assert set(seen) - {"nas-message-container"} == CLEARTEXT
    assert all(seen[name] == wire.nas_decode(plain)[name] for name in CLEARTEXT)
    # The container is ciphered with the COUNT of the outer message (4.4.6).
    hidden = container_of(outer)
    key = wire.knas_enc(KAMF, nea)
    assert wire.nea(nea, key, 300, 1, hidden, downlink=False) == plain
    assert (nea == 0) == (plain in outer)

    verified = amf.unprotect(data, downlink=False)
    assert (verified.plain, verified.outer) == (plain, outer)
    assert (verified.count, verified.security_header) == (300, INTEGRITY)
    assert (ue.uplink, amf.uplink) == (301, 301)
    # A gateway reads the identity of the cleartext message, without the keys.
    peek = wire.nas_peek(data)
    assert peek.guti == ("001", "01", 1, 1, 0, 0xC0000005)
    assert (peek.message_type, peek.sequence_number) == (0x41, 300 & 0xFF)


@pytest.mark.parametrize(
    "plain", [SERVICE, DEREGISTRATION], ids=["service request", "deregistration request"]
)
def test_a_message_of_cleartext_ies_has_no_container(plain: bytes) -> None:
    ue, amf = context(), context()
    data = ue.protect_initial(plain)
    assert data == sealed(plain, 0, header=INTEGRITY)
    verified = amf.unprotect(data, downlink=False)
    assert (verified.plain, verified.outer) == (plain, None)


def test_a_service_request_with_more() -> None:
    ue, amf = context(), context()
    data = ue.protect_initial(SERVICE + UPLINK_DATA)
    outer = opened(data, 0, downlink=False, nia=2, nea=2)
    assert outer.startswith(SERVICE + b"\x71")
    verified = amf.unprotect(data, downlink=False)
    assert (verified.plain, verified.outer) == (SERVICE + UPLINK_DATA, outer)


@FAST
@given(
    tmsi=st.integers(0, 2**32 - 1),
    slices=st.lists(st.integers(1, 255), min_size=1, max_size=8),
    count=st.integers(0, 2**24 - 1),
)
def test_any_registration_request(tmsi: int, slices: list[int], count: int) -> None:
    tree = REGISTRATION | {
        "5gs-mobile-identity": {"guti": GUTI | {"tmsi": tmsi}},
        "requested-nssai": [{"sst": sst} for sst in slices],
    }
    plain = wire.nas_encode(tree)
    verified = context(count).unprotect(context(count).protect_initial(plain), downlink=False)
    assert (verified.plain, verified.count) == (plain, count)


@pytest.mark.parametrize(
    ("hidden", "cause"),
    [(SERVICE, 111), (b"\x7e\x00\x43", 111), (b"\x7e\x00\x41\x11", 96), (b"garbage", None)],
    ids=["another initial message", "no initial message", "cut short", "no message"],
)
def test_a_container_of_another_message_is_refused(hidden: bytes, cause: int | None) -> None:
    """The container is authentic: its COUNT is used, and the error has the cleartext message."""
    outer = wire.nas_encode({name: REGISTRATION[name] for name in sorted(CLEARTEXT)})
    ciphered = wire.nea(2, wire.knas_enc(KAMF, 2), 0, 1, hidden, downlink=False)
    outer += b"\x71" + len(hidden).to_bytes(2, "big") + ciphered
    receiver = context()
    with pytest.raises(wire.WireError) as refused:
        receiver.unprotect(sealed(outer, 0, header=INTEGRITY), downlink=False)
    assert (refused.value.kind, refused.value.count) == ("nas-refused", 0)
    assert refused.value.cause == cause
    assert receiver.uplink == 1


@pytest.mark.parametrize(
    "plain",
    [b"\x7e\x00\x43", b"\x7e\x00\x5e", b"\x7e\x00\x57", b"", b"\x7e", b"\x7e\x00\x41\x79"],
    ids=lambda plain: plain.hex() or "nothing",
)
def test_what_is_no_initial_message_uses_no_count(plain: bytes) -> None:
    sender = context(5)
    with pytest.raises(wire.WireError) as refused:
        sender.protect_initial(plain)
    assert refused.value.kind in ("nas-encode", "nas-decode")
    assert sender.uplink == 5
