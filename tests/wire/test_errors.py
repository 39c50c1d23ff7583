"""An example of every kind of `WireError`, with the details that wire.pyi documents."""

from collections.abc import Callable
from typing import Any

import pytest

import wire
from tests.wire.nas_peer import KAMF, REGISTRATION_COMPLETE, context, sealed
from tests.wire.sctp_packets import PORT, Pair

Raised = Callable[[], Any]
KEY16 = bytes(16)
DETAILS = ("ie", "offset", "cause", "count", "plain")


def full_send_buffer() -> None:
    pair = Pair(send_buffer=4096, receive_window=8192)
    for _ in range(1000):
        pair.client.send(pair.association, 0, 60, bytes(1000), 1.0)


EXAMPLES: dict[str, list[tuple[Raised, dict[str, Any]]]] = {
    "ngap-decode": [
        (lambda: wire.ngap_decode(b""), {"offset": 0}),
        (lambda: wire.ngap_peek(b"Hello!"), {"offset": 6}),
        (lambda: wire.ngap_check(b"\x00"), {"offset": 1}),
        (lambda: wire.ngap_decode(b"\xff\x15\x00\x00"), {"offset": 0}),
        (lambda: wire.ngap_decode(b"\x00\x15\xc0\x00"), {"offset": 2}),
        # The message ends in the value of IE 27, the Global RAN Node ID.
        (
            lambda: wire.ngap_decode(bytes.fromhex("0015003e000004001b000800")),
            {"ie": "27", "offset": 12},
        ),
        (lambda: wire.ngap_decode(bytes.fromhex("001500040000000000")), {"offset": 7}),
        # AMF-UE-NGAP-ID is IE 10, with a length of 1 to 5 octets.
        (
            lambda: wire.ngap_decode(
                bytes.fromhex("002a4015000003000a0002e00d005500020009000f40020500")
            ),
            {"ie": "10"},
        ),
    ],
    "ngap-encode": [
        (lambda: wire.ngap_encode({"message": "NoMessage", "ies": []}), {}),
        (lambda: wire.ngap_encode({"message": "NGReset", "ies": [{"Cause": {"misc": "x"}}]}), {}),
        (lambda: wire.ngap_encode({}), {}),
    ],
    "pfcp-decode": [
        (lambda: wire.pfcp_decode(b""), {"offset": 0}),
        (lambda: wire.pfcp_peek(b"\x20\x01\x00\x04"), {"offset": 4}),
        # A Recovery Time Stamp has four octets.
        (
            lambda: wire.pfcp_decode(bytes.fromhex("2001000a0000010000600002e875")),
            {"ie": "Recovery Time Stamp", "offset": 12},
        ),
        (
            lambda: wire.pfcp_decode(bytes.fromhex("2001000a0000010000600004e875")),
            {"ie": "Recovery Time Stamp", "offset": 8},
        ),
    ],
    "pfcp-encode": [
        (lambda: wire.pfcp_encode({"message": "NoMessage", "sequence": 1, "ies": []}), {}),
        (
            lambda: wire.pfcp_encode(
                {"message": "HeartbeatRequest", "sequence": 1, "ies": [{"PDR ID": 65536}]}
            ),
            {"ie": "PDR ID"},
        ),
    ],
    "nas-decode": [
        (lambda: wire.nas_decode(b"\x7e\x00\xff"), {"offset": 2, "cause": 97}),
        (lambda: wire.nas_decode(b"\x2e\x01\x02\x00"), {"offset": 3, "cause": 97}),
        (
            lambda: wire.nas_decode(b"\x7e\x00\x41\x79"),
            {"ie": "5gs-mobile-identity", "cause": 96},
        ),
        (
            lambda: wire.nas_decode(b"\x7e\x00\x43\x01\x05\xaa"),
            {"ie": "0x01", "offset": 3, "cause": 96},
        ),
        (lambda: wire.nas_decode(b"\x01\x00"), {"offset": 0}),
        (lambda: wire.nas_decode(b"\x7e\x05\x43"), {"offset": 1}),
        (lambda: wire.nas_decode(b"\x7e\x00"), {"offset": 2}),
        # Offsets of faults in a protected message count from the start of the whole message.
        (
            lambda: wire.nas_decode(sealed(b"\x7e\x00\xff", 0, header=1)),
            {"offset": 9, "cause": 97},
        ),
        (lambda: wire.nas_decode(sealed(b"\x99\x00\x43", 0, header=1)), {"offset": 7}),
        (lambda: wire.nas_peek(b"\x7e"), {"offset": 1}),
        (lambda: context().unprotect(b"\x7e\x02", downlink=False), {"offset": 2}),
    ],
    "nas-encode": [
        (lambda: wire.nas_encode({"message-type": "no-message"}), {}),
        (lambda: wire.nas_encode({"message-type": "5gmm-status"}), {}),
        (lambda: context().protect(REGISTRATION_COMPLETE, 3, downlink=True), {}),
    ],
    "nas-integrity": [
        (
            lambda: context().unprotect(sealed(REGISTRATION_COMPLETE, 0, nia=1), downlink=False),
            {},
        ),
        (lambda: context(1).unprotect(sealed(REGISTRATION_COMPLETE, 0), downlink=False), {}),
    ],
    "nas-refused": [
        (
            lambda: context(300).unprotect(sealed(b"\x7e\x00\xff", 300), downlink=False),
            {"count": 300, "plain": b"\x7e\x00\xff", "offset": 2, "cause": 97},
        ),
        (
            lambda: context().unprotect(sealed(b"\x7e\x00\x64", 0), downlink=False),
            {"count": 0, "plain": b"\x7e\x00\x64", "ie": "5gmm-cause", "cause": 96},
        ),
        (
            lambda: context(2**24 - 1).unprotect(
                sealed(b"\x2e\x01\x02\x00", 2**24 - 1), downlink=False
            ),
            {"count": 2**24 - 1, "plain": b"\x2e\x01\x02\x00", "offset": 3, "cause": 97},
        ),
    ],
    "nas-count": [(lambda: exhausted().protect(REGISTRATION_COMPLETE, 2, downlink=False), {})],
    "security": [
        (lambda: wire.NasSecurity(KAMF, 0, 2), {}),
        (lambda: wire.kgnb(KEY16, 0), {}),
        (lambda: wire.TmsiCipher(KEY16), {}),
        (lambda: wire.Sealer(KEY16), {}),
    ],
    "aka-mac": [
        (lambda: wire.verify_auts(KEY16, KEY16, KEY16, bytes(14)), {}),
        (lambda: wire.usim_answer(KEY16, KEY16, KEY16, KEY16, "5G:mnc001.mcc001"), {}),
    ],
    "eap": [
        (lambda: wire.eap_decode(b"\x01\x02"), {}),
        (lambda: wire.eap_aka_mac_is_right(bytes.fromhex("03010004"), KAMF), {}),
        (lambda: wire.eap_aka_keys(b"", KEY16, "x", KEY16, "1"), {}),
    ],
    "suci": [
        (lambda: wire.suci_scheme(b"\x01"), {}),
        (lambda: wire.suci_conceal("1", "01", "1"), {}),
    ],
    "sctp": [
        (lambda: wire.SctpEndpoint(PORT).send(9, 0, 60, b"x", 0.0), {}),
        (lambda: wire.SctpEndpoint(PORT).connect("nowhere", 9899, PORT, 0.0), {}),
    ],
    "sctp-full": [(full_send_buffer, {})],
    "entropy": [
        (lambda: without_entropy(conceal), {}),
        (lambda: without_entropy(connect), {}),
        (lambda: without_entropy(receive), {}),
    ],
    "sealed": [(lambda: wire.Sealer(bytes(32)).open(bytes(40), b""), {})],
}


def without_entropy(draw: Callable[[], object]) -> None:
    """Draw entropy while it is forbidden. A null SUCI needs none."""
    before = wire.forbid_entropy(True)
    try:
        wire.suci_conceal("001", "01", "0000000001")
        draw()
    finally:
        assert wire.forbid_entropy(before)


def conceal() -> bytes:
    key = wire.suci_public_key("A", bytes(range(32)))
    return wire.suci_conceal("001", "01", "0000000001", profile="A", public_key=key, key_id=1)


def connect() -> int:
    return wire.SctpEndpoint(PORT).connect("127.0.0.1", 9899, PORT, 0.0)


def receive() -> None:
    wire.SctpEndpoint(PORT, accept=True).receive(b"", "127.0.0.1", 9899, 0.0)


def exhausted() -> wire.NasSecurity:
    last = context(2**24 - 1)
    last.protect(REGISTRATION_COMPLETE, 2, downlink=False)
    return last


def test_every_kind_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(wire.ERROR_KINDS)
    assert len(set(wire.ERROR_KINDS)) == len(wire.ERROR_KINDS)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize(
    ("kind", "call", "details"),
    [(kind, *example) for kind, examples in EXAMPLES.items() for example in examples],
)
def test_example(kind: str, call: Raised, details: dict[str, Any]) -> None:
    with pytest.raises(wire.WireError) as raised:
        call()
    error = raised.value
    assert error.kind == kind
    assert {name: getattr(error, name) for name in DETAILS} == dict.fromkeys(DETAILS) | details
    assert isinstance(error, ValueError)
    # One sentence for a log: no line break, and no secret of more than a few octets.
    assert str(error)
    assert "\n" not in str(error)


def test_keys_are_not_in_the_text() -> None:
    secret = bytes(range(200, 216))
    for call in (
        lambda: wire.kgnb(secret, 0),
        lambda: wire.verify_auts(secret, KEY16, KEY16, bytes(14)),
        lambda: wire.Sealer(secret),
        lambda: wire.NasSecurity(secret, 1, 1),
        lambda: wire.suci_public_key("A", secret),
    ):
        with pytest.raises(wire.WireError) as raised:
            call()
        text = repr(raised.value)
        assert secret.hex() not in text.lower().replace(" ", "")
        assert str(list(secret))[1:-1] not in text
