"""The hand-built messages of the UE, compared with the codec."""

from typing import Any

import pytest

import wire
from loadgen.identity import Guami, Guti, SNssai, tais_of
from loadgen.session_model import SessionRequest
from loadgen.ue import messages
from loadgen.ue.profile import Algorithms, algorithm_bits, imeisv_identity, masked_imeisv
from tests.loadgen.amf import PRIVATE_KEYS
from tests.loadgen.world import population

GUTI = Guti(Guami("001-01", 2, 1019, 61), 0xC0FFEE01)
GUTI_TREE = {
    "guti": {
        "plmn": "001-01",
        "amf-region-id": 2,
        "amf-set-id": 1019,
        "amf-pointer": 61,
        "tmsi": 0xC0FFEE01,
    }
}


def decoded(pdu: bytes) -> dict[str, Any]:
    tree = wire.nas_decode(pdu)
    assert wire.nas_encode(tree) == pdu
    return tree


def test_registration_request_entire_and_in_the_clear() -> None:
    slices = (SNssai(1, "010203"), SNssai(2))
    profile = population(slices=slices, algorithms=(Algorithms((0, 2, 3), (1, 3)),)).profile(0)
    entire, cleartext = messages.registration_request(profile, 7, GUTI.identity())
    tree = decoded(cleartext)
    assert tree == {
        "message-type": "registration-request",
        "5gs-registration-type": {
            "registration-type": "initial-registration",
            "follow-on-request": True,
        },
        "ngksi": "no-key",
        "5gs-mobile-identity": GUTI_TREE,
        "ue-security-capability": {"ea": [0, 2, 3], "ia": [1, 3]},
    }
    whole = decoded(entire)
    assert whole.pop("network-slicing-indication") == {"dcni": True, "nssci": False}
    assert whole.pop("requested-nssai") == [{"sst": 1, "sd": "010203"}, {"sst": 2}]
    assert not any(whole.pop("5gmm-capability").values())
    assert whole == tree


def test_at_most_eight_slices_are_requested() -> None:
    value = messages.requested_nssai(tuple(SNssai(n) for n in range(1, 12)))
    assert value == b"\x2f\x10" + b"".join(bytes([1, n]) for n in range(1, 9))


@pytest.mark.parametrize(("scheme", "number"), [("null", (0, 0)), ("A", (1, 1)), ("B", (2, 2))])
def test_a_suci_of_each_scheme_is_an_identity(scheme: str, number: tuple[int, int]) -> None:
    profile = population(schemes=(scheme,)).profile(0)
    assert profile.scheme == scheme
    suci = profile.conceal()
    decoded(messages.identity_response(suci))
    assert wire.suci_scheme(suci) == number
    key = None if scheme == "null" else PRIVATE_KEYS[scheme]
    profile_name = None if scheme == "null" else scheme
    assert wire.suci_deconceal(suci, profile_name, key) == profile.supi
    assert (profile.conceal() == suci) == (scheme == "null")


def test_deregistration_and_service_request() -> None:
    request = messages.deregistration_request(3, GUTI.identity(), switch_off=False)
    kind = {"switch-off": False, "re-registration-required": False, "access-type": "3gpp-access"}
    assert decoded(request) == {
        "message-type": "deregistration-request-ue-originating",
        "de-registration-type": kind,
        "ngksi": {"native": 3},
        "5gs-mobile-identity": GUTI_TREE,
    }
    off = decoded(messages.deregistration_request(3, GUTI.identity(), switch_off=True))
    assert off["de-registration-type"] == {**kind, "switch-off": True}
    assert decoded(messages.service_request(2, GUTI.s_tmsi_identity())) == {
        "message-type": "service-request",
        "ngksi": {"native": 2},
        "service-type": "signalling",
        "5g-s-tmsi": {"s-tmsi": {"amf-set-id": 1019, "amf-pointer": 61, "tmsi": 0xC0FFEE01}},
    }


def test_the_common_procedures_messages() -> None:
    failure = decoded(messages.authentication_failure(21, b"a" * 14))
    assert failure["5gmm-cause"] == "synch-failure"
    assert failure["authentication-failure-parameter"] == {"octets": "61" * 14}
    assert "parameter" not in str(decoded(messages.authentication_failure(20, None)))
    response = decoded(messages.authentication_response(b"r" * 16))
    assert response["authentication-response-parameter"] == {"octets": "72" * 16}
    assert decoded(messages.security_mode_reject(23))["5gmm-cause"] == (
        "ue-security-capabilities-mismatch"
    )
    assert decoded(messages.gmm_status(97))["message-type"] == "5gmm-status"
    assert decoded(messages.REGISTRATION_COMPLETE) == {"message-type": "registration-complete"}
    assert decoded(messages.CONFIGURATION_UPDATE_COMPLETE) == {
        "message-type": "configuration-update-complete"
    }
    assert decoded(messages.DEREGISTRATION_ACCEPT) == {
        "message-type": "deregistration-accept-ue-terminated"
    }


def test_a_periodic_update_has_no_capabilities_and_no_requested_nssai() -> None:
    """TS 24.501 8.2.6.3, 8.2.6.4 and 5.5.1.3.2."""
    profile = population(voice_centric=True).profile(0)
    entire, cleartext = messages.registration_request(profile, 3, GUTI.identity(), 3)
    assert entire == cleartext
    assert set(decoded(entire)) == {
        "message-type",
        "5gs-registration-type",
        "ngksi",
        "5gs-mobile-identity",
    }


def test_a_voice_centric_ue_says_so() -> None:
    profile = population(voice_centric=True).profile(0)
    entire, cleartext = messages.registration_request(profile, 3, GUTI.identity())
    assert decoded(entire)["ue-usage-setting"] == {"data-centric": False}
    assert "ue-usage-setting" not in decoded(cleartext)


def test_security_mode_complete_has_what_was_asked_for() -> None:
    entire, _ = messages.registration_request(population().profile(0), 7, GUTI.identity())
    tree = decoded(messages.security_mode_complete(imeisv_identity("3560920400012301"), entire))
    assert tree["imeisv"] == {"imeisv": "3560920400012301"}
    assert tree["nas-message-container"] == wire.nas_decode(entire)
    assert decoded(messages.security_mode_complete(None, None)) == {
        "message-type": "security-mode-complete"
    }


def test_a_5g_guti_survives_its_octets() -> None:
    tree = wire.nas_decode(messages.identity_response(GUTI.identity()))
    assert Guti.of_nas(tree["mobile-identity"]) == GUTI
    assert Guti.of_nas({"suci": {}}) is None
    assert Guti.of_nas(None) is None
    three = Guti(Guami("310-410", 1, 2, 3), 4)
    tree = wire.nas_decode(messages.identity_response(three.identity()))
    assert Guti.of_nas(tree["mobile-identity"]) == three


def test_ngap_forms_of_a_ues_capabilities() -> None:
    assert algorithm_bits((0, 1, 2, 3)) == "e000"
    assert algorithm_bits((0,)) == "0000"
    assert masked_imeisv("8609720200123401") == "8609720200ffff01"


@pytest.mark.parametrize(
    ("octets", "areas"),
    [
        ("540d0200f110000001000002000009", {("001-01", 1), ("001-01", 2), ("001-01", 9)}),
        ("54072200f110000005", {("001-01", 5), ("001-01", 6), ("001-01", 7)}),
        ("540d4100f11000000102f839000002", {("001-01", 1), ("208-93", 2)}),
    ],
)
def test_the_three_types_of_tai_lists(octets: str, areas: set[tuple[str, int]]) -> None:
    accept = bytes.fromhex("7e00420101" + octets)
    assert tais_of(wire.nas_decode(accept).get("tai-list")) == areas


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ipv4", ["dns-server-ipv4-address-request", "ipv4-link-mtu-request"]),
        ("ipv6", ["dns-server-ipv6-address-request"]),
        (
            "ipv4v6",
            [
                "dns-server-ipv4-address-request",
                "ipv4-link-mtu-request",
                "dns-server-ipv6-address-request",
            ],
        ),
    ],
)
def test_the_session_messages(kind: Any, options: list[str]) -> None:
    request = decoded(messages.establishment_request(3, 7, kind))
    assert request["message-type"] == "pdu-session-establishment-request"
    assert (request["pdu-session-identity"], request["procedure-transaction-identity"]) == (3, 7)
    assert (request["pdu-session-type"], request["ssc-mode"]) == (kind, "ssc1")
    assert request["extended-protocol-configuration-options"] == [
        "ip-address-allocation-via-nas-signalling",
        *options,
    ]
    head = {"pdu-session-identity": 3, "procedure-transaction-identity": 7}
    assert decoded(messages.release_request(3, 7)) == {
        **head,
        "message-type": "pdu-session-release-request",
        "5gsm-cause": "regular-deactivation",
    }
    for octets, name in (
        (messages.release_complete(3, 7), "pdu-session-release-complete"),
        (messages.modification_complete(3, 7), "pdu-session-modification-complete"),
    ):
        assert decoded(octets) == {**head, "message-type": name}
    status = {**head, "message-type": "5gsm-status", "5gsm-cause": "pti-mismatch"}
    assert decoded(messages.gsm_status(3, 7, messages.PTI_MISMATCH)) == status


def test_the_transport_of_a_session_message() -> None:
    message = messages.release_complete(3, 7)
    plain = decoded(messages.ul_nas_transport(3, message))
    assert plain == {
        "message-type": "ul-nas-transport",
        "payload-container-type": "n1-sm-information",
        "payload-container": wire.nas_decode(message),
        "pdu-session-id": 3,
    }
    asked = SessionRequest("internet.example", SNssai(2), "ipv4")
    tree = decoded(messages.ul_nas_transport(3, message, asked))
    assert tree == {
        **plain,
        "request-type": "initial-request",
        "s-nssai": {"sst": 2},
        "dnn": "internet.example",
    }
    assert "dnn" not in decoded(messages.ul_nas_transport(3, message, SessionRequest(None, None)))


@pytest.mark.parametrize("psis", [(), (1,), (5, 7), (8, 15), tuple(range(1, 16))])
def test_the_sessions_of_a_service_request(psis: tuple[int, ...]) -> None:
    request = messages.service_request(2, GUTI.s_tmsi_identity(), 1)
    tree = decoded(request + messages.sessions_ie(0x40, psis) + messages.sessions_ie(0x50, psis))
    assert tree["service-type"] == "data"
    assert tree["uplink-data-status"] == tree["pdu-session-status"] == list(psis)
