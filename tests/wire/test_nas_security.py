"""NAS protection (TS 24.501 4.4.4, 4.4.5) in both directions, with each pair of algorithms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.nas_peer import (
    AUTHENTICATION_REJECT,
    CIPHERED,
    INTEGRITY,
    KAMF,
    NEW,
    NEW_CIPHERED,
    PAIRS,
    REGISTRATION_COMPLETE,
    context,
    opened,
    sealed,
)
from tests.wire.profiles import FAST

COMMAND = wire.nas_encode(
    {
        "message-type": "security-mode-command",
        "selected-nas-security-algorithms": {"ciphering": "nea2", "integrity": "nia2"},
        "ngksi": {"native": 0},
        "replayed-ue-security-capabilities": {"octets": "e0e0"},
    }
)
COMPLETE = b"\x7e\x00\x5e"
ALGORITHMS = pytest.mark.parametrize(("nia", "nea"), PAIRS)
MESSAGES = {
    (False, INTEGRITY): REGISTRATION_COMPLETE,
    (False, CIPHERED): REGISTRATION_COMPLETE,
    (False, NEW_CIPHERED): COMPLETE,
    (True, INTEGRITY): AUTHENTICATION_REJECT,
    (True, CIPHERED): AUTHENTICATION_REJECT,
    (True, NEW): COMMAND,
}


@ALGORITHMS
@pytest.mark.parametrize(("downlink", "header"), MESSAGES)
def test_protected_as_the_specification_has_it(
    nia: int, nea: int, downlink: bool, header: int
) -> None:
    plain = MESSAGES[downlink, header]
    sender, receiver = context(7, 9, nia, nea), context(7, 9, nia, nea)
    count = 9 if downlink else 7
    data = sender.protect(plain, header, downlink=downlink)
    assert data == sealed(plain, count, downlink=downlink, header=header, nia=nia, nea=nea)
    assert opened(data, count, downlink=downlink, nia=nia, nea=nea) == plain
    verified = receiver.unprotect(data, downlink=downlink)
    assert (verified.plain, verified.security_header) == (plain, header)
    assert (verified.count, verified.outer) == (count, None)
    after = (7, 10) if downlink else (8, 9)
    assert (sender.uplink, sender.downlink) == after
    assert (receiver.uplink, receiver.downlink) == after


@ALGORITHMS
@FAST
@given(
    messages=st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from([INTEGRITY, CIPHERED]),
            st.binary(min_size=1, max_size=40),
        ),
        min_size=1,
        max_size=5,
    ),
    start=st.integers(0, 2**24 - 10),
)
def test_a_conversation(
    nia: int, nea: int, messages: list[tuple[bool, int, bytes]], start: int
) -> None:
    """Payloads of random octets, in a container (9.11.3.39), from random COUNTs."""
    ue, amf = context(start, start + 3, nia, nea), context(start, start + 3, nia, nea)
    for downlink, header, payload in messages:
        size = len(payload).to_bytes(2, "big")
        plain = bytes([0x7E, 0x00, 0x68 if downlink else 0x67, 0x01]) + size + payload
        sender, receiver = (amf, ue) if downlink else (ue, amf)
        data = sender.protect(plain, header, downlink=downlink)
        assert receiver.unprotect(data, downlink=downlink).plain == plain
    assert (ue.uplink, ue.downlink) == (amf.uplink, amf.downlink)


def test_a_message_of_the_other_direction_is_refused() -> None:
    data = sealed(REGISTRATION_COMPLETE, 0)
    receiver = context()
    with pytest.raises(wire.WireError) as refused:
        receiver.unprotect(data, downlink=True)
    assert refused.value.kind == "nas-integrity"
    assert (receiver.uplink, receiver.downlink) == (0, 0)


@pytest.mark.parametrize("change", ["kamf", "nia", "nea"])
def test_another_context_does_not_verify(change: str) -> None:
    plain = b"\x7e\x00\x67\x01\x00\x03abc"
    changed = {"kamf": {"kamf": bytes(32)}, "nia": {"nia": 1}, "nea": {"nea": 1}}[change]
    data = sealed(plain, 0, **changed)  # pyright: ignore[reportArgumentType]
    receiver = context()
    if change == "nea":
        # The MAC covers the ciphered octets, so it is right, but the deciphered octets are wrong.
        with pytest.raises(wire.WireError) as refused:
            receiver.unprotect(data, downlink=False)
        assert refused.value.kind == "nas-refused"
        assert refused.value.plain != plain
        return
    with pytest.raises(wire.WireError) as refused:
        receiver.unprotect(data, downlink=False)
    assert refused.value.kind == "nas-integrity"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((KAMF[:31], 2, 2), "32 octets"),
        ((KAMF, 0, 2), "NIA0"),
        ((KAMF, 0, 1), "NIA0"),
        ((KAMF, 4, 2), "reserved"),
        ((KAMF, 2, 4), "reserved"),
        ((KAMF, 2, 7), "reserved"),
        ((KAMF, 255, 2), "reserved"),
        ((KAMF, 2, 2, 2**24), "COUNT"),
        ((KAMF, 2, 2, 0, 2**24), "COUNT"),
    ],
)
def test_a_context_that_there_is_not(arguments: tuple[bytes, int, int], text: str) -> None:
    with pytest.raises(wire.WireError, match=text) as refused:
        wire.NasSecurity(*arguments)
    assert refused.value.kind == "security"


@pytest.mark.parametrize(
    ("plain", "header", "downlink", "kind"),
    [
        (REGISTRATION_COMPLETE, 0, False, "security"),
        (REGISTRATION_COMPLETE, 5, False, "nas-decode"),
        (REGISTRATION_COMPLETE, 15, False, "nas-decode"),
        (REGISTRATION_COMPLETE, NEW, False, "nas-encode"),
        (REGISTRATION_COMPLETE, NEW_CIPHERED, False, "nas-encode"),
        (REGISTRATION_COMPLETE, CIPHERED, True, "nas-encode"),
        (AUTHENTICATION_REJECT, CIPHERED, False, "nas-encode"),
        (COMMAND, CIPHERED, True, "nas-encode"),
        (COMMAND, NEW_CIPHERED, True, "nas-encode"),
        (COMPLETE, CIPHERED, False, "nas-encode"),
        (b"", CIPHERED, False, "nas-decode"),
        (b"\x7e", CIPHERED, False, "nas-decode"),
        (b"\x7e\x00\xff", CIPHERED, False, "nas-decode"),
        (b"\x01\x02\x03", CIPHERED, False, "nas-decode"),
    ],
)
def test_what_may_not_be_sent_uses_no_count(
    plain: bytes, header: int, downlink: bool, kind: str
) -> None:
    """A wrong direction, a header type that table 9.3.1 forbids, or no message."""
    sender = context(5, 6)
    with pytest.raises(wire.WireError) as refused:
        sender.protect(plain, header, downlink=downlink)
    assert refused.value.kind == kind
    assert (sender.uplink, sender.downlink) == (5, 6)
