"""Authentication of a UE by EAP-AKA', against the core's implementation."""

from typing import Any

import pytest

import wire
from loadgen.ue.authentication import (
    MAC_FAILURE,
    NON_5G_UNACCEPTABLE,
    SYNCH_FAILURE,
    Authentication,
    Usim,
)
from loadgen.ue.nas_security import NasChannel
from loadgen.violation import Kind

K, OPC, RAND = b"k" * 16, b"o" * 16, b"r" * 16
SN, SUPI = "5G:mnc001.mcc001.3gppnetwork.org", "imsi-001010000000001"
FRESH = 5 << 5


class Side:
    """The network, a UE and its reported violations."""

    def __init__(self, sqn: int = 0) -> None:
        self.reported: list[Kind] = []
        self.ue = Authentication(Usim(K, OPC, sqn), SUPI, SN, self.report)
        self.channel = NasChannel(self.report)
        self.k_aut = self.kausf = self.res = b""

    def report(self, kind: Kind, text: str) -> None:
        assert text
        self.reported.append(kind)

    def request(
        self, sqn: int = FRESH, amf: bytes = b"\x80\x00", name: str = SN, flip: int | None = None
    ) -> dict[str, Any]:
        out = wire.milenage(K, OPC, RAND, sqn, amf)
        concealed = (sqn ^ int.from_bytes(out["f5"], "big")).to_bytes(6, "big")
        autn = concealed + amf + out["f1"]
        keys = wire.eap_aka_keys(out["f3"], out["f4"], name, autn, SUPI.removeprefix("imsi-"))
        self.k_aut, self.kausf, self.res = keys.k_aut, keys.kausf, out["f2"]
        packet = bytearray(wire.eap_aka_challenge(3, RAND, autn, name, keys.k_aut))
        if flip is not None:
            packet[flip] ^= 1
        return {
            "ngksi": {"native": 2},
            "abba": {"octets": "0000"},
            "eap-message": {"octets": packet.hex()},
        }

    def answer(self, request: dict[str, Any]) -> tuple[bytes, int | None]:
        reply = self.ue.challenge(request, self.channel)
        assert reply is not None
        tree = wire.nas_decode(reply.plain)
        assert tree["message-type"] == "authentication-response"
        return bytes.fromhex(tree["eap-message"]["octets"]), reply.cause


def test_a_challenge_is_answered_and_gives_the_key() -> None:
    side = Side()
    packet, cause = side.answer(side.request())
    assert cause is None
    assert wire.eap_aka_mac_is_right(packet, side.k_aut)
    assert wire.eap_decode(packet)["attributes"][3] == b"\x00\x40" + side.res
    kamf = wire.kamf(wire.kseaf(side.kausf, SN), SUPI, b"\x00\x00")
    assert side.channel.partial == (2, kamf)
    assert side.reported == []


def test_the_same_request_gets_the_same_answer() -> None:
    """T3560 repeats a request: its SQN is not fresh any more, but the UE does not check it
    again."""
    side = Side()
    request = side.request()
    assert side.answer(request) == side.answer(request)
    side.ue.delete_response()
    assert side.answer(request)[1] == SYNCH_FAILURE


def test_a_stale_sqn_is_a_synchronisation_failure() -> None:
    side = Side(sqn=FRESH)
    packet, cause = side.answer(side.request(sqn=3 << 5))
    found = wire.eap_decode(packet)
    assert (cause, found["subtype"]) == (SYNCH_FAILURE, 4)
    assert wire.verify_auts(K, OPC, RAND, found["attributes"][4]) == FRESH
    assert side.reported == []


@pytest.mark.parametrize(
    ("change", "cause", "kind"),
    [
        ({"flip": 8 + 20 + 19}, MAC_FAILURE, Kind.AUTN_MAC),
        ({"flip": -1}, MAC_FAILURE, Kind.AUTN_MAC),
        ({"name": "5G:mnc002.mcc001.3gppnetwork.org"}, MAC_FAILURE, Kind.AUTN_MAC),
        ({"amf": b"\x00\x00"}, NON_5G_UNACCEPTABLE, Kind.AUTN_SEPARATION_BIT),
    ],
    ids=["autn", "at-mac", "network", "separation-bit"],
)
def test_what_the_network_has_wrong_is_refused(
    change: dict[str, Any], cause: int, kind: Kind
) -> None:
    side = Side()
    packet, found = side.answer(side.request(**change))
    assert wire.eap_decode(packet)["subtype"] == 2
    assert found == cause
    assert side.reported == [kind]
    assert side.channel.partial is None


@pytest.mark.parametrize(
    "octets", ["", "0101000501", "0101000832010000", "01010009320100000b", "010100083205000000"]
)
def test_what_is_no_challenge(octets: str) -> None:
    side = Side()
    request = {**side.request(), "eap-message": {"octets": octets}}
    assert side.ue.challenge(request, side.channel) is None
    assert side.reported == [Kind.EAP_UNSUPPORTED]
