"""NAS COUNTs (TS 24.501 4.4.3): 16 bits of overflow and the 8-bit sequence number of a message.

A receiver estimates the overflow, and accepts a COUNT only once and only with a right MAC. Cores
that changed their COUNT before the MAC check, or accepted one twice, are described in
open5gs/open5gs#4591 and #4690.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.nas_peer import (
    AUTHENTICATION_REJECT,
    CIPHERED,
    INTEGRITY,
    REGISTRATION_COMPLETE,
    context,
    sealed,
)
from tests.wire.profiles import FAST

LAST = 2**24 - 1
DIRECTIONS = pytest.mark.parametrize("downlink", [False, True], ids=["uplink", "downlink"])


def plain_of(downlink: bool) -> bytes:
    return AUTHENTICATION_REJECT if downlink else REGISTRATION_COMPLETE


def receiver_at(count: int, downlink: bool) -> wire.NasSecurity:
    return context(0, count) if downlink else context(count, 0)


def next_of(receiver: wire.NasSecurity, downlink: bool) -> int | None:
    return receiver.downlink if downlink else receiver.uplink


def refused_as(receiver: wire.NasSecurity, data: bytes, downlink: bool) -> str:
    """Return the kind of the refusal, and assert that the COUNTs are unchanged."""
    before = receiver.uplink, receiver.downlink
    with pytest.raises(wire.WireError) as refused:
        receiver.unprotect(data, downlink=downlink)
    assert (receiver.uplink, receiver.downlink) == before
    return refused.value.kind


@DIRECTIONS
def test_the_sequence_number_overflows(downlink: bool) -> None:
    plain = plain_of(downlink)
    sender, receiver = receiver_at(254, downlink), receiver_at(254, downlink)
    counts: list[int] = []
    for _ in range(4):
        data = sender.protect(plain, CIPHERED, downlink=downlink)
        counts.append(receiver.unprotect(data, downlink=downlink).count)
        assert data[6] == counts[-1] & 0xFF
    assert counts == [254, 255, 256, 257]


@DIRECTIONS
@FAST
@given(expected=st.integers(0, LAST), ahead=st.integers(0, 255))
def test_lost_messages_are_passed_over(downlink: bool, expected: int, ahead: int) -> None:
    """Up to the range of the sequence number: 255 messages after the expected one."""
    count = expected + ahead
    if count > LAST:
        return
    receiver = receiver_at(expected, downlink)
    data = sealed(plain_of(downlink), count, downlink=downlink)
    assert receiver.unprotect(data, downlink=downlink).count == count
    assert next_of(receiver, downlink) == (count + 1 if count < LAST else None)


@DIRECTIONS
@FAST
@given(expected=st.integers(0, LAST), count=st.integers(0, LAST))
def test_a_count_out_of_reach_is_refused(downlink: bool, expected: int, count: int) -> None:
    """An old message, and one so far ahead that the estimate of its overflow is wrong."""
    receiver = receiver_at(expected, downlink)
    data = sealed(plain_of(downlink), count, downlink=downlink)
    if expected <= count < expected + 256:
        assert receiver.unprotect(data, downlink=downlink).count == count
        return
    assert refused_as(receiver, data, downlink) in ("nas-integrity", "nas-count")


@DIRECTIONS
def test_a_message_is_taken_once(downlink: bool) -> None:
    plain, receiver = plain_of(downlink), receiver_at(10, downlink)
    messages = [sealed(plain, count, downlink=downlink) for count in (10, 11, 12)]
    receiver.unprotect(messages[0], downlink=downlink)
    receiver.unprotect(messages[2], downlink=downlink)
    for replayed in (messages[0], messages[1], messages[2]):
        assert refused_as(receiver, replayed, downlink) == "nas-integrity"
    assert next_of(receiver, downlink) == 13
    # The next message is accepted as usual.
    late = sealed(plain, 13, downlink=downlink)
    assert receiver.unprotect(late, downlink=downlink).count == 13


@DIRECTIONS
@FAST
@given(bit=st.integers(16, 10 * 8 - 1), header=st.sampled_from([INTEGRITY, CIPHERED]))
def test_a_changed_message_moves_no_count(downlink: bool, bit: int, header: int) -> None:
    """Each bit of the MAC, the sequence number and the message."""
    receiver = receiver_at(77, downlink)
    data = bytearray(sealed(plain_of(downlink), 77, downlink=downlink, header=header))
    assert len(data) == 10
    data[bit // 8] ^= 0x80 >> bit % 8
    assert refused_as(receiver, bytes(data), downlink) == "nas-integrity"
    untouched = sealed(plain_of(downlink), 77, downlink=downlink, header=header)
    assert receiver.unprotect(untouched, downlink=downlink).count == 77


def test_an_attacker_cannot_push_the_count_ahead() -> None:
    receiver = context()
    for sequence in range(256):
        forged = bytes([0x7E, CIPHERED]) + bytes(4) + bytes([sequence]) + b"\x00\x01\x02"
        assert refused_as(receiver, forged, downlink=False) == "nas-integrity"
    assert receiver.unprotect(sealed(REGISTRATION_COMPLETE, 0), downlink=False).count == 0


@DIRECTIONS
def test_the_last_count(downlink: bool) -> None:
    plain = plain_of(downlink)
    sender, receiver = receiver_at(LAST, downlink), receiver_at(LAST, downlink)
    data = sender.protect(plain, CIPHERED, downlink=downlink)
    assert receiver.unprotect(data, downlink=downlink).count == LAST
    assert next_of(sender, downlink) is None
    assert next_of(receiver, downlink) is None
    with pytest.raises(wire.WireError) as refused:
        sender.protect(plain, CIPHERED, downlink=downlink)
    assert refused.value.kind == "nas-count"
    assert refused_as(receiver, data, downlink) in ("nas-integrity", "nas-count")
    # The other direction has separate COUNTs.
    other = sender.protect(plain_of(not downlink), CIPHERED, downlink=not downlink)
    assert receiver.unprotect(other, downlink=not downlink).count == 0


@DIRECTIONS
def test_the_overflow_does_not_wrap(downlink: bool) -> None:
    """After FFFFF0, sequence number 05 belongs to no COUNT of 24 bits."""
    receiver = receiver_at(0xFFFFF0, downlink)
    data = sealed(plain_of(downlink), 5, downlink=downlink)
    assert refused_as(receiver, data, downlink) in ("nas-integrity", "nas-count")


def test_the_last_initial_message() -> None:
    request = b"\x7e\x00\x4c\x01\x00\x07\xf4\x00\x40\x00\x00\x00\x05"
    sender = context(LAST)
    assert context(LAST).unprotect(sender.protect_initial(request), downlink=False).count == LAST
    with pytest.raises(wire.WireError) as refused:
        sender.protect_initial(request)
    assert refused.value.kind == "nas-count"


# Authentic messages that are refused

REFUSED = {
    b"\x7e\x00\xff": (97, None, 2),
    b"\x7e\x00\x64": (96, "5gmm-cause", None),
    b"\x7e\x00\x41\x79": (96, "5gs-mobile-identity", None),
    b"\x7e\x00\x41\x79\x00\x0d\x01": (96, "5gs-mobile-identity", None),
    b"\x2e\x01\x02\x00": (97, None, 3),
    b"\x7e\x05\x43": (None, None, 1),
    b"\x7e\x00": (None, None, 2),
    b"\x99\x00\x43": (None, None, 0),
    b"\x7e\x00\x5e": (111, None, None),
    b"\x7e\x00\x5d\x22\x00\x02\xe0\xe0": (111, None, None),
    AUTHENTICATION_REJECT: (111, None, None),
}


@pytest.mark.parametrize("plain", REFUSED, ids=lambda plain: plain.hex())
@pytest.mark.parametrize("header", [INTEGRITY, CIPHERED])
@pytest.mark.parametrize("count", [0, 300, LAST])
def test_a_refused_message_uses_its_count(plain: bytes, header: int, count: int) -> None:
    """The MAC was right. The error has the plain message, and the COUNT is not accepted again."""
    receiver = context(count)
    data = sealed(plain, count, header=header)
    with pytest.raises(wire.WireError) as refused:
        receiver.unprotect(data, downlink=False)
    error = refused.value
    assert (error.kind, error.plain, error.count) == ("nas-refused", plain, count)
    assert (error.cause, error.ie, error.offset) == REFUSED[plain]
    assert receiver.uplink == (count + 1 if count < LAST else None)
    assert refused_as(receiver, data, downlink=False) in ("nas-integrity", "nas-count")


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"", 0),
        (b"\x7e\x02", 2),
        (sealed(REGISTRATION_COMPLETE, 0)[:6], 6),
        (sealed(REGISTRATION_COMPLETE, 0)[:7], 7),
        (REGISTRATION_COMPLETE, 3),
        (b"\x7e\x00" + bytes(10), None),
        (b"\x7e\x05" + bytes(10), 1),
        (b"\x2e\x02" + bytes(10), None),
    ],
    ids=lambda value: value.hex() if isinstance(value, bytes) else str(value),
)
def test_what_is_no_protected_message(data: bytes, offset: int | None) -> None:
    receiver = context()
    with pytest.raises(wire.WireError) as refused:
        receiver.unprotect(data, downlink=False)
    assert (refused.value.kind, refused.value.offset) == ("nas-decode", offset)
    assert (receiver.uplink, receiver.downlink) == (0, 0)
