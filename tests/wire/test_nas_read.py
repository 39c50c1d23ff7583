"""`nas_read` leaves containers closed, and the rest of a message as `nas_decode` has it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST

Tree = dict[str, Any]

REQUEST: Tree = {
    "message-type": "pdu-session-establishment-request",
    "pdu-session-identity": 5,
    "procedure-transaction-identity": 7,
    "integrity-protection-maximum-data-rate": {"ul": "full-rate", "dl": "full-rate"},
    "pdu-session-type": "ipv4",
    "extended-protocol-configuration-options": ["dns-server-ipv4-address-request"],
}


def transport(container: Tree, kind: str = "n1-sm-information") -> Tree:
    return {
        "message-type": "ul-nas-transport",
        "payload-container-type": kind,
        "payload-container": container,
        "pdu-session-id": 5,
        "request-type": "initial-request",
        "dnn": "internet",
    }


@FAST
@given(st.binary(min_size=1, max_size=80))
def test_n1_sm_information_stays_closed(container: bytes) -> None:
    octets = wire.nas_encode(transport({"octets": container.hex()}))
    read, decoded = wire.nas_read(octets), wire.nas_decode(octets)
    del decoded["payload-container"]
    assert (read.tree, read.container, read.fault) == (decoded, container, "")
    assert read.answer == wire.nas_answer(octets)


def test_the_message_in_it_is_that_of_its_octets() -> None:
    octets = wire.nas_encode(transport(REQUEST))
    read = wire.nas_read(octets)
    assert read.container == wire.nas_encode(REQUEST)
    assert wire.nas_decode(read.container or b"") == wire.nas_decode(octets)["payload-container"]


@pytest.mark.parametrize("kind", ["sms", "lte-pp"])
def test_other_payloads_are_in_the_tree(kind: str) -> None:
    octets = wire.nas_encode(transport({"octets": "0102"}, kind))
    read, decoded = wire.nas_read(octets), wire.nas_decode(octets)
    assert (read.container, read.tree) == (None, decoded)
    assert decoded["payload-container"] == {"octets": "0102"}


def test_spare_bits_of_the_container_type_say_nothing() -> None:
    octets = bytearray(wire.nas_encode(transport(REQUEST)))
    octets[3] |= 0xF0
    assert wire.nas_read(bytes(octets)).container == wire.nas_encode(REQUEST)


def test_the_container_of_a_security_mode_complete_stays_closed() -> None:
    octets = bytes.fromhex("7e005e71000401020304")
    read = wire.nas_read(octets)
    assert read.container == bytes.fromhex("01020304")
    assert read.tree == {"message-type": "security-mode-complete"}
