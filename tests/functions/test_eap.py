"""EAP-AKA' from the UE's side (TS 24.501 5.4.1.2, TS 33.501 6.1.3.1)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from loadgen.ue import eap_aka
from schemas.subscriber import AuthMethod
from tests.functions.checked import CheckedWorld
from tests.functions.phone import Phone
from tests.functions.world import subscriber
from tests.wire.hostile import octets

MESSAGE = "message-type"


class EapPhone(Phone):
    """A UE with a subscription for EAP-AKA'."""

    def read(self, challenge: dict[str, Any]) -> eap_aka.Challenge:
        assert challenge[MESSAGE] == "authentication-request", challenge
        assert "authentication-parameter-rand" not in challenge
        return eap_aka.read(bytes.fromhex(challenge["eap-message"]["octets"]))

    def eap(self, packet: bytes, header: int = 0) -> None:
        message = {MESSAGE: "authentication-response", "eap-message": {"octets": packet.hex()}}
        self.say(message, header)

    def answer(self, challenge: dict[str, Any]) -> dict[str, Any]:
        asked = self.read(challenge)
        out = wire.milenage(self.k, self.opc, asked.rand, 0, b"\x80\x00")
        concealed = int.from_bytes(asked.autn[:6], "big")
        sqn = concealed ^ int.from_bytes(out["f5"], "big")
        out = wire.milenage(self.k, self.opc, asked.rand, sqn, asked.autn[6:8])
        assert out["f1"] == asked.autn[8:], "the MAC of AUTN"
        assert asked.autn[6] & 0x80, "the separation bit"
        assert sqn > self.sqn
        self.sqn = sqn
        imsi = self.supi.removeprefix("imsi-")
        keys = eap_aka.keys(out["f3"], out["f4"], asked.network, asked.autn, imsi)
        assert asked.network == self.serving_network
        assert asked.mac_is_right(keys.k_aut)
        abba = bytes.fromhex(challenge["abba"]["octets"])
        self.kamf = wire.kamf(wire.kseaf(keys.kausf, self.serving_network), self.supi, abba)
        packet = eap_aka.response(asked, out["f2"], keys.k_aut)
        return {MESSAGE: "authentication-response", "eap-message": {"octets": packet.hex()}}


@pytest.fixture
def phone() -> EapPhone:
    one = subscriber(1, auth_method=AuthMethod.EAP_AKA_PRIME)
    return EapPhone(CheckedWorld(one, subscriber(2)))


def begin(phone: EapPhone) -> dict[str, Any]:
    phone.initial(wire.nas_encode(phone.request()))
    challenge: dict[str, Any] = phone.hear()[-1]
    return challenge


def rejected(phone: EapPhone, asked: eap_aka.Challenge) -> None:
    """Check for AUTHENTICATION REJECT with the EAP-Failure of the exchange (5.4.1.2.2.11)."""
    reject, release = phone.hear()
    assert reject[MESSAGE] == "authentication-reject"
    assert reject["eap-message"]["octets"] == bytes([4, asked.identifier, 0, 4]).hex()
    assert release[MESSAGE] == "UEContextReleaseCommand"
    ue = phone.world.ue()
    assert (ue.registered, ue.registration, ue.challenge) == (False, None, None)
    phone.world.verify()


@pytest.mark.parametrize("scheme", [None, "A"])
def test_a_subscriber_of_eap_aka_prime_registers(phone: EapPhone, scheme: str | None) -> None:
    phone.register(scheme)
    assert phone.world.ue().registered
    assert phone.security_key == wire.kgnb(phone.kamf, 0)
    phone.world.verify()


def test_eap_success_goes_with_the_security_mode_command(phone: EapPhone) -> None:
    """Also in each repetition of the command (5.4.2.2)."""
    challenge = begin(phone)
    asked = phone.read(challenge)
    phone.say(phone.answer(challenge), 0)
    phone.world.advance(6.1)
    for command in phone.hear():
        assert command[MESSAGE] == "security-mode-command"
        assert command["eap-message"]["octets"] == bytes([3, asked.identifier, 0, 4]).hex()
        assert command["abba"]["octets"] == "0000"
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    security = phone.world.ue().security
    assert security is not None
    assert security.eap_success == b""


def test_5g_aka_has_no_eap(phone: EapPhone) -> None:
    other = Phone(phone.world, 2)
    other.initial(wire.nas_encode(other.request()))
    challenge = other.hear()[-1]
    assert "eap-message" not in challenge
    other.say(other.answer(challenge), 0)
    assert "eap-message" not in other.hear()[-1]


def test_t3560_repeats_the_same_packet(phone: EapPhone) -> None:
    first = begin(phone)
    phone.world.advance(6.1)
    assert phone.hear()[-1]["eap-message"] == first["eap-message"]


def test_a_synchronisation_failure_is_re_synchronised_once(phone: EapPhone) -> None:
    phone.sqn = 10_000_000
    asked = phone.read(begin(phone))
    auts = wire.auts(phone.k, phone.opc, asked.rand, phone.sqn)
    phone.eap(eap_aka.synchronization_failure(asked, auts))
    assert phone.world.ue().sqn > phone.sqn
    second = phone.hear()[-1]
    again = phone.read(second)
    assert again.rand != asked.rand
    assert again.identifier == (asked.identifier + 1) % 256
    auts = wire.auts(phone.k, phone.opc, again.rand, 20_000_000)
    phone.eap(eap_aka.synchronization_failure(again, auts))
    rejected(phone, again)


def test_a_ue_that_was_re_synchronised_registers(phone: EapPhone) -> None:
    phone.sqn = 10_000_000
    asked = phone.read(begin(phone))
    auts = wire.auts(phone.k, phone.opc, asked.rand, phone.sqn)
    phone.eap(eap_aka.synchronization_failure(asked, auts))
    phone.authenticate()
    phone.secure(phone.request())
    assert phone.world.ue().registered
    phone.world.verify()


@pytest.mark.parametrize("auts", [b"", bytes(14)])
def test_a_forged_auts(phone: EapPhone, auts: bytes) -> None:
    asked = phone.read(begin(phone))
    phone.eap(eap_aka.synchronization_failure(asked, auts))
    rejected(phone, asked)


@pytest.mark.parametrize("say", [eap_aka.authentication_reject, eap_aka.client_error])
def test_a_ue_that_refuses(phone: EapPhone, say: Any) -> None:
    asked = phone.read(begin(phone))
    phone.eap(say(asked))
    rejected(phone, asked)


@pytest.mark.parametrize("what", ["res", "mac", "nak", "5g-aka"])
def test_a_wrong_answer(phone: EapPhone, what: str) -> None:
    challenge = begin(phone)
    asked = phone.read(challenge)
    right = bytearray.fromhex(phone.answer(challenge)["eap-message"]["octets"])
    match what:
        case "res":
            phone.eap(eap_aka.response(asked, bytes(8), bytes(32)))
        case "mac":
            right[-1] ^= 1
            phone.eap(bytes(right))
        case "nak":
            phone.eap(bytes([2, asked.identifier, 0, 6, 3, 23]))
        case _:
            star = {"octets": "00" * 16}
            response = {
                MESSAGE: "authentication-response",
                "authentication-response-parameter": star,
                "eap-message": {"octets": eap_aka.authentication_reject(asked).hex()},
            }
            phone.say(response, 0)
    rejected(phone, asked)


@pytest.mark.parametrize("octets", ["", "02", "0201000c32030000", "010100083201000000"])
def test_what_is_no_answer_is_discarded(phone: EapPhone, octets: str) -> None:
    """RFC 3748 4.1: another code or identifier, or not a packet. The UE can still respond."""
    challenge = begin(phone)
    phone.eap(bytes.fromhex(octets or "ffffffff"))
    assert phone.hear() == []
    assert phone.world.ue().challenge is not None
    phone.say(phone.answer(challenge), 0)
    phone.secure(phone.request())
    assert phone.world.ue().registered
    phone.world.verify()


def test_ngksi_in_use_gets_the_same_challenge_under_another(phone: EapPhone) -> None:
    first = begin(phone)
    phone.say({MESSAGE: "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"}, 0)
    second = phone.hear()[-1]
    assert second["eap-message"] == first["eap-message"]
    assert second["ngksi"] != first["ngksi"]
    phone.say(phone.answer(second), 0)
    phone.secure(phone.request())
    assert phone.world.ue().registered


def test_a_guti_of_another_is_asked_for_its_suci(phone: EapPhone) -> None:
    """5.4.1.2.2.11: the identity may be another UE's; EAP-Failure is sent if it is not."""
    phone.register()
    phone.idle()
    impostor = EapPhone(phone.world)
    impostor.ran_id, impostor.guti = 99, phone.guti
    asked = impostor.read(begin(impostor))
    impostor.eap(eap_aka.authentication_reject(asked))
    assert impostor.hear()[-1][MESSAGE] == "identity-request"
    identity = impostor.identity("null")
    impostor.say({MESSAGE: "identity-response", "mobile-identity": identity}, 0)
    assert impostor.hear()[-2][MESSAGE] == "authentication-reject"
    assert phone.world.ue().registered
    phone.world.verify()


@settings(max_examples=60, deadline=None)
@given(packets=st.lists(octets("eap"), min_size=1, max_size=3), secured=st.booleans())
def test_any_octets_of_a_ue(packets: list[bytes], *, secured: bool) -> None:
    """No exception, no remains, and the UE can register."""
    one = subscriber(1, auth_method=AuthMethod.EAP_AKA_PRIME)
    phone = EapPhone(CheckedWorld(one))
    if secured:
        phone.register()
        phone.say(phone.request("mobility-registration-updating", ngksi="no-key"))
    else:
        phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    for packet in packets:
        if phone.world.ue().connection is not None:
            phone.eap(packet or b"\x00", 2 if secured else 0)
    phone.world.advance(120)
    again = EapPhone(phone.world)
    again.ran_id = 77
    phone.world.downlink.clear()
    again.register()
    assert phone.world.ue().registered
    phone.world.verify()
