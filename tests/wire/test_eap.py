"""EAP-AKA' against the vectors of RFC 9048, and against the peer of the load generator."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from loadgen.ue import eap_aka
from tests.corpus import Entry, entries
from tests.wire.profiles import FAST
from tests.wire.vectors import table

IDENTITY = "0555444333222111"
SN_NAME = "5G:mnc001.mcc001.3gppnetwork.org"
octets16 = st.binary(min_size=16, max_size=16)


class Case(NamedTuple):
    network: str
    rand: bytes
    autn: bytes
    ck: bytes
    ik: bytes
    res: bytes
    material: bytes


CASES = [Case(row[0], *map(bytes.fromhex, row[1:])) for row in table("eap_aka_prime")]


@pytest.mark.parametrize("case", CASES)
def test_the_keys_of_the_rfc(case: Case) -> None:
    found = wire.eap_aka_keys(case.ck, case.ik, case.network, case.autn, IDENTITY)
    whole = found.k_encr + found.k_aut + found.k_re + found.msk + found.emsk
    assert whole == case.material
    assert found.kausf == found.emsk[:32]
    peer = eap_aka.keys(case.ck, case.ik, case.network, case.autn, IDENTITY)
    assert (peer.k_aut, peer.kausf) == (found.k_aut, found.kausf)


@FAST
@given(ck=octets16, ik=octets16, autn=octets16, rand=octets16, identifier=st.integers(0, 255))
def test_a_challenge_and_its_answer(
    ck: bytes, ik: bytes, autn: bytes, rand: bytes, identifier: int
) -> None:
    keys = wire.eap_aka_keys(ck, ik, SN_NAME, autn, "001010000000001")
    peer = eap_aka.keys(ck, ik, SN_NAME, autn, "001010000000001")
    assert (keys.k_aut, keys.kausf) == (peer.k_aut, peer.kausf)
    challenge = wire.eap_aka_challenge(identifier, rand, autn, SN_NAME, keys.k_aut)
    asked = eap_aka.read(challenge)
    assert (asked.identifier, asked.rand, asked.autn) == (identifier, rand, autn)
    assert asked.network == SN_NAME
    assert asked.mac_is_right(peer.k_aut)
    assert wire.eap_aka_mac_is_right(challenge, keys.k_aut)
    answer = eap_aka.response(asked, b"12345678", peer.k_aut)
    assert wire.eap_aka_mac_is_right(answer, keys.k_aut)
    for bit in (0, 8 * len(answer) - 1, 8 * 12):
        changed = bytearray(answer)
        changed[bit // 8] ^= 1 << bit % 8
        assert not wire.eap_aka_mac_is_right(bytes(changed), keys.k_aut)
    found = wire.eap_decode(answer)
    assert (found["code"], found["identifier"]) == (2, identifier)
    assert (found["type"], found["subtype"]) == (50, 1)
    assert found["attributes"][3] == b"\x00\x4012345678"


def test_what_else_a_peer_says() -> None:
    asked = eap_aka.read(wire.eap_aka_challenge(7, bytes(16), bytes(16), "x", bytes(32)))
    synch = wire.eap_decode(eap_aka.synchronization_failure(asked, bytes(range(14))))
    assert (synch["subtype"], synch["attributes"][4]) == (4, bytes(range(14)))
    assert wire.eap_decode(eap_aka.authentication_reject(asked))["subtype"] == 2
    error = wire.eap_decode(eap_aka.client_error(asked))
    assert (error["subtype"], error["attributes"]) == (14, {22: b"\x00\x00"})
    assert not wire.eap_aka_mac_is_right(eap_aka.client_error(asked), bytes(32))


def test_the_end_of_an_exchange() -> None:
    assert wire.eap_result(9, success=True) == bytes([3, 9, 0, 4])
    assert wire.eap_decode(wire.eap_result(9, success=False)) == {"code": 4, "identifier": 9}


@pytest.mark.parametrize(
    "octets",
    ["", "020100", "02010005", "0201000532000000", "0201000632010000", "02010008320100", "0201"],
)
def test_octets_that_are_no_packet(octets: str) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.eap_decode(bytes.fromhex(octets))
    assert refused.value.kind == "eap"


@pytest.mark.parametrize("body", ["0100", "01000000", "0103000000000000", "0301ffff0301ffff"])
def test_attributes_that_are_none(body: str) -> None:
    """A truncated attribute, one without length, one beyond the end, and a repeated one."""
    packet = bytes.fromhex(f"0201{8 + len(body) // 2:04x}32010000{body}")
    with pytest.raises(wire.WireError):
        wire.eap_decode(packet)
    with pytest.raises(wire.WireError):
        wire.eap_aka_mac_is_right(packet, bytes(32))


def test_a_key_derivation_function_may_be_named_twice() -> None:
    packet = bytes.fromhex("02010010320400001801000118010002")
    assert wire.eap_decode(packet)["attributes"] == {24: b"\x00\x02"}


@pytest.mark.parametrize("entry", entries("eap"), ids=lambda entry: entry.name)
def test_the_corpus(entry: Entry) -> None:
    try:
        found = f"code-{wire.eap_decode(entry.octets)['code']}"
    except wire.WireError as error:
        found = error.kind
    assert found == entry.outcome
