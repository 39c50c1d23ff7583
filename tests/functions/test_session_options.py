"""Extended protocol configuration options (TS 24.008 10.5.6.3), as octets of phones."""

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import wire
from functions.messages.nas import options
from schemas.network import DataNetwork
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK

NETWORK = DataNetwork(
    "internet",
    ("10.0.0.53", "2001:db8::53", "10.0.0.54"),
    1400,
    ("10.1.1.1", "2001:db8::c5cf", "10.1.1.2"),
)
DNS4, DNS4_2 = "0a000035", "0a000036"
P_CSCF4 = ["000c040a010101", "000c040a010102"]
P_CSCF6 = ["000110" + ipaddress.ip_address("2001:db8::c5cf").packed.hex()]
IPCP_HEAD = "802110"
NAME = b"\x04user\x04pass".hex()


def request(octets: str) -> dict[str, Any]:
    """Return a PDU SESSION ESTABLISHMENT REQUEST with the octets of the IE."""
    value = bytes.fromhex(octets)
    message = bytes.fromhex("2e0101c1ffff917b") + len(value).to_bytes(2, "big") + value
    return wire.nas_decode(message)


def answer(octets: str, network: DataNetwork = NETWORK) -> list[str]:
    """Return the units of the response, in hexadecimal, in the IE that the UE gets."""
    units = options.response(request(octets), network)
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 1}
    command = wire.nas_encode(
        {"message-type": "pdu-session-modification-command", **head, options.IE: units}
    )
    _, _, ie = command.partition(b"\x7b")
    assert ie[:3] == (len(ie) - 2).to_bytes(2, "big") + b"\x80"
    found, rest = list[str](), ie[3:]
    while rest:
        end = 3 + rest[2]
        found.append(rest[:end].hex())
        rest = rest[end:]
    return found


@pytest.mark.parametrize(
    ("asked", "given_"),
    [
        ("80 000c00", P_CSCF4),
        ("80 000100", P_CSCF6),
        ("80 000100 000c00", P_CSCF4 + P_CSCF6),
        ("80 000200", []),  # IM CN subsystem signalling flag alone
        ("80 001000", ["0010020578"]),
        ("80 000d00", [f"000d04{DNS4}", f"000d04{DNS4_2}"]),
        ("80 ff0000 001a0105", []),  # operator specific, PDU session ID
        ("80", []),
        # PAP (RFC 1334): an Authenticate-Ack with an empty message.
        (f"80 c0230e 0107000e {NAME}", ["c023050207000500"]),
        # CHAP (RFC 1994): a Success with the identifier of the response, not of the challenge.
        (
            f"80 c22316 01010016 10{'11' * 16}41 c22316 02020016 10{'22' * 16}42",
            ["c2230403020004"],
        ),
        # IPCP (RFC 1877): the values to ask for, in a Configure-Nak.
        (
            f"80 {IPCP_HEAD} 01050010 810600000000 830600000000",
            [f"{IPCP_HEAD}030500108106{DNS4}8306{DNS4_2}"],
        ),
        ("80 80210a 0105000a 810600000000", [f"80210a0305000a8106{DNS4}"]),
        # The right values, an address that NAS assigns, and an option that nothing supports.
        (
            f"80 {IPCP_HEAD} 01060010 8106{DNS4} 8306{DNS4_2}",
            [f"{IPCP_HEAD}020600108106{DNS4}8306{DNS4_2}"],
        ),
        ("80 80210a 0101000a 030600000000", ["80210a0201000a030600000000"]),
        ("80 80210a 0101000a 820600000000", ["80210a0401000a820600000000"]),
        # Packets that need no response: Configure-Ack, a challenge, LCP.
        ("80 80210a 0201000a 030600000000", []),
        (f"80 c22316 01010016 10{'11' * 16}41", []),
        ("80 c02104 01010004", []),
    ],
)
def test_response(asked: str, given_: list[str]) -> None:
    assert answer(asked.replace(" ", "")) == given_


def test_a_data_network_without_them() -> None:
    assert answer("80000c00000100000d00001000", DataNetwork("internet")) == []
    refused = answer("80802110010500108106000000008306 00000000".replace(" ", ""), DataNetwork("i"))
    assert refused == ["802110040500108106000000008306" + "00000000"]


@pytest.mark.parametrize(
    "asked",
    [
        "80000d0105000c00",  # contents where there must be none
        "80000c00000d",  # the length is missing
        "80000c00000d0501",  # the contents are cut off
        "88000c00",  # a spare bit
        "81000c00",  # another configuration protocol
    ],
)
def test_what_cannot_be_read_is_ignored(asked: str) -> None:
    """10.5.6.3: the rest of the options is answered."""
    assert answer(asked) == P_CSCF4


@given(st.binary(max_size=300))
def test_no_options_make_a_response_fail(octets: bytes) -> None:
    answer("80" + octets.hex())


_PACKET = st.builds(
    lambda code, number, data: bytes([code, number, 0, 4 + len(data)]) + data,
    st.integers(0, 9),
    st.integers(0, 255),
    st.binary(max_size=30),
)
_UNIT = st.builds(
    lambda number, data: number.to_bytes(2, "big") + bytes([len(data)]) + data,
    st.sampled_from([0x8021, 0xC023, 0xC223, 0xC021, 1, 3, 12, 13, 16, 0xFF00]),
    st.one_of(st.just(b""), st.binary(max_size=20), _PACKET),
)


@given(st.lists(_UNIT, max_size=20))
def test_no_units_make_a_response_fail(units: list[bytes]) -> None:
    answer("80" + b"".join(units).hex())


def test_many_packets() -> None:
    """The answers to 9,000 PAP packets would not fit into the IE."""
    assert answer("80" + "c0230701010007020000" * 6_500) == ["c023050201000500"]


def test_an_accept_has_the_addresses_of_the_p_cscfs() -> None:
    network = replace(N4_NETWORK, data_networks=(NETWORK,))
    site = Site(network=network)
    asked: Any = {options.IE: ["p-cscf-ipv4-address-request", "p-cscf-ipv6-address-request"]}
    site.ask(**asked)
    accept = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]["nas"]
    assert accept[options.IE] == [
        {"p-cscf-ipv4-address": "10.1.1.1"},
        {"p-cscf-ipv4-address": "10.1.1.2"},
        {"p-cscf-ipv6-address": "2001:db8::c5cf"},
    ]
    site.set_up()
    site.world.verify()


def test_options_without_a_reading_are_answered_in_the_accept() -> None:
    site = Site(network=replace(N4_NETWORK, data_networks=(NETWORK,)))
    asked: Any = {options.IE: {"octets": "80000d0105000c00"}}
    site.ask(**asked)
    accept = site.hear()[-1]["PDUSessionResourceSetupListSUReq"][0]["nas"]
    assert [list(unit) for unit in accept[options.IE]] == [["p-cscf-ipv4-address"]] * 2
