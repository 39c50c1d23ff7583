"""`nas_read` keeps containers as octets and omits capabilities; the rest equals `nas_decode`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.corpus import Entry, entries
from tests.wire.hostile import attempt, octets
from tests.wire.profiles import FAST, MORE

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


CLOSED = {
    "security-mode-complete": "nas-message-container",
    "ul-nas-transport": "payload-container",
}
LEFT_OUT = ("5gmm-capability", "ue-security-capability")


def agrees(data: bytes) -> None:
    read, decoded = wire.nas_read(data), attempt(wire.nas_decode, data)
    assert read.answer == attempt(wire.nas_answer, data)
    if isinstance(decoded, wire.WireError):
        assert (read.tree, read.fault) == (None, str(decoded))
        return
    assert read.fault == ""
    kind = "" if "security-header" in decoded else decoded.get("message-type", "")
    if read.container is not None:
        container = decoded.pop(CLOSED[kind])
        if "octets" not in container:
            assert wire.nas_encode(container) == read.container
    if kind == "registration-request":
        for capability in LEFT_OUT:
            decoded.pop(capability, None)
    assert read.tree == decoded
    assert list(read.tree or ()) == list(decoded)


@pytest.mark.parametrize("entry", entries("nas"), ids=lambda entry: entry.name)
def test_every_recorded_message(entry: Entry) -> None:
    agrees(entry.octets)


@MORE
@given(octets("nas"))
def test_any_octets(data: bytes) -> None:
    agrees(data)


@FAST
@given(st.binary(min_size=1, max_size=80))
def test_n1_sm_information_stays_closed(container: bytes) -> None:
    data = wire.nas_encode(transport({"octets": container.hex()}))
    read, decoded = wire.nas_read(data), wire.nas_decode(data)
    del decoded["payload-container"]
    assert (read.tree, read.container, read.fault) == (decoded, container, "")
    assert read.answer == wire.nas_answer(data)


def test_the_message_in_it_is_that_of_its_octets() -> None:
    data = wire.nas_encode(transport(REQUEST))
    read = wire.nas_read(data)
    assert read.container == wire.nas_encode(REQUEST)
    assert wire.nas_decode(read.container or b"") == wire.nas_decode(data)["payload-container"]


@pytest.mark.parametrize("kind", ["sms", "lte-pp"])
def test_other_payloads_are_in_the_tree(kind: str) -> None:
    data = wire.nas_encode(transport({"octets": "0102"}, kind))
    read, decoded = wire.nas_read(data), wire.nas_decode(data)
    assert (read.container, read.tree) == (None, decoded)
    assert decoded["payload-container"] == {"octets": "0102"}


def test_spare_bits_of_the_container_type_say_nothing() -> None:
    data = bytearray(wire.nas_encode(transport(REQUEST)))
    data[3] |= 0xF0
    assert wire.nas_read(bytes(data)).container == wire.nas_encode(REQUEST)


def test_the_container_of_a_security_mode_complete_stays_closed() -> None:
    data = bytes.fromhex("7e005e71000401020304")
    read = wire.nas_read(data)
    assert read.container == bytes.fromhex("01020304")
    assert read.tree == {"message-type": "security-mode-complete"}


@FAST
@given(
    head=st.sampled_from(["7e004c10", "7e004579", "7e004171", "7e005c"]),
    identity=st.one_of(
        st.binary(min_size=7, max_size=7),
        st.binary(min_size=6, max_size=6).map(lambda rest: b"\xf4" + rest),
        st.binary(min_size=6, max_size=6).map(lambda rest: b"\x04" + rest),
        st.binary(min_size=11, max_size=11),
        st.binary(min_size=10, max_size=10).map(lambda rest: b"\xf2" + rest),
        st.binary(min_size=7, max_size=7).map(lambda rest: b"\xf2\x02\xf8\x39" + rest),
        st.binary(min_size=8, max_size=8).map(lambda rest: b"\xf2\x02\xf8\x39" + rest),
    ),
)
def test_who_the_ue_says_it_is(head: str, identity: bytes) -> None:
    """With random bits: an identity that the core has assigned is read."""
    agrees(bytes.fromhex(head) + len(identity).to_bytes(2) + identity)


CAPABLE = "2e04f0f0f0f0"  # the UE security capability


def test_the_capabilities_of_a_ue_are_left_out() -> None:
    data = bytes.fromhex("7e004171000bf202f839020003c0000001" + "100101" + CAPABLE + "2f020101")
    agrees(data)
    decoded = wire.nas_decode(data)
    assert decoded.pop("5gmm-capability")["s1-mode"] is True
    assert decoded.pop("ue-security-capability")
    assert decoded["requested-nssai"] == [{"sst": 1}]
    assert wire.nas_read(data).tree == decoded
    assert wire.ue_security_capability(data) == bytes.fromhex(CAPABLE)[2:]
