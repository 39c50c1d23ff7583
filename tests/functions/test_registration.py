"""Registration (TS 24.501 5.5.1.2) from the side of a scripted UE."""

import pytest

import wire
from schemas.identity import slot_of, slot_of_amf_ue_ngap_id, slot_of_tmsi_plaintext
from tests.functions.phone import Phone
from tests.functions.world import NETWORK, TMSI_KEY, World

MESSAGE = "message-type"


@pytest.mark.parametrize("scheme", [None, "A", "B"])
def test_every_suci_scheme_registers(scheme: str | None) -> None:
    world = World()
    phone = Phone(world)
    accept = phone.register(scheme)
    ue = world.ue()
    assert ue.registered
    assert ue.registration is None
    assert ue.timers == {}
    assert ue.pei == "imeisv-4370816125816151"
    assert accept["allowed-nssai"] == [{"sst": 1, "sd": "010203"}]
    assert accept["t3512-value"] == NETWORK.timers.t3512
    assert accept["tai-list"] == [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [1, 2]}}]
    assert phone.security_key == wire.kgnb(phone.kamf, 0)
    assert world.verify() > 0


def test_the_slot_of_the_supi_is_in_both_identities_and_visible_in_one() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    slot = slot_of(phone.supi)
    assert phone.amf_id is not None
    assert slot_of_amf_ue_ngap_id(phone.amf_id) == slot
    tmsi = phone.guti["tmsi"] if phone.guti else 0
    assert slot_of_tmsi_plaintext(wire.TmsiCipher(TMSI_KEY).decrypt(tmsi)) == slot


def test_a_known_guti_with_its_context_needs_no_authentication() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    first, sqn = phone.guti, world.ue().sqn
    phone.ran_id = 9
    assert phone.security is not None
    count = phone.security.uplink
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
    accept = phone.finish()
    assert accept["5g-guti"]["guti"] != first
    assert accept["ngap"] == "InitialContextSetupRequest"
    assert phone.security_key == wire.kgnb(phone.kamf, count or 0)
    assert world.ue().sqn == sqn
    assert not world.ue().tmsi_pending
    world.verify()


def test_a_known_guti_with_a_wrong_mac_is_authenticated() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    phone.ran_id = 9
    assert phone.security is not None
    sealed = bytearray(phone.security.protect_initial(wire.nas_encode(phone.request())))
    sealed[3] ^= 1
    phone.initial(bytes(sealed))
    phone.authenticate()
    command = world.ue().registration
    assert command is not None
    assert command.retransmit
    phone.secure(phone.request())
    assert world.ue().registered
    world.verify()


@pytest.mark.parametrize("scheme", [None, "A", "B"])
def test_a_foreign_guti_is_asked_for_its_suci(scheme: str | None) -> None:
    world = World()
    phone = Phone(world)
    foreign = {"plmn": "999-99", "amf-region-id": 9, "amf-set-id": 9, "amf-pointer": 9, "tmsi": 1}
    phone.guti = foreign
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    asked = phone.hear()[-1]
    assert (asked[MESSAGE], asked["identity-type"]) == ("identity-request", "suci")
    phone.say(
        {MESSAGE: "identity-response", "mobile-identity": phone.identity(scheme or "null")}, 0
    )
    phone.authenticate()
    phone.secure(request)
    ue = world.ue()
    assert ue.registered
    assert ue.connection is not None
    assert ue.connection.context == "set-up"
    unknown = next(name for name in world.steps if "unidentified" in name)
    assert world.states[unknown].successor
    slot = slot_of_amf_ue_ngap_id(ue.connection.amf_ue_ngap_id)
    assert slot == slot_of("a1-1"), "the slot of the connection, not of the SUPI"
    assert {v for k, v in world.owners.items() if k[0] == "ngap"} == {"ue/imsi-001010000000001"}
    world.verify()


def test_an_unknown_tmsi_of_ours_is_asked_too() -> None:
    world = World()
    phone = Phone(world)
    phone.guti = {
        "plmn": "001-01",
        "amf-region-id": 1,
        "amf-set-id": 1,
        "amf-pointer": 0,
        "tmsi": 5,
    }
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[-1][MESSAGE] == "identity-request"
    phone.say({MESSAGE: "identity-response", "mobile-identity": phone.identity("null")}, 0)
    phone.authenticate()
    phone.secure(request)
    assert world.ue().registered


def test_the_identity_request_is_repeated_and_then_given_up() -> None:
    world = World()
    phone = Phone(world)
    phone.guti = {
        "plmn": "001-01",
        "amf-region-id": 1,
        "amf-set-id": 1,
        "amf-pointer": 0,
        "tmsi": 5,
    }
    phone.initial(wire.nas_encode(phone.request()))
    heard: list[str] = []
    for _ in range(5):
        heard += [m[MESSAGE] for m in phone.hear()]
        world.advance(6.1)
    assert heard == ["identity-request"] * 5
    assert phone.hear()[-1][MESSAGE] == "UEContextReleaseCommand"
    world.verify()


def test_the_same_request_again_on_its_connection() -> None:
    """5.5.1.2.8 e) before the accept: ignored; d) after it: the accept is sent again."""
    world = World()
    phone = Phone(world)
    request = wire.nas_encode(phone.request())
    phone.initial(request)
    before = phone.hear()
    phone.uplink(request)
    assert phone.hear() == []
    phone.say(phone.answer(before[-1]), 0)
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[-1][MESSAGE] == "registration-accept"
    phone.uplink(request)
    assert phone.hear() == [], "4.4.4.3: nothing without a MAC once the exchange is secure"
    phone.say(phone.request())
    assert phone.hear()[-1][MESSAGE] == "registration-accept"
    world.verify()


def test_another_request_on_the_connection_restarts_the_registration() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    first = phone.hear()[-1]
    phone.requested = [{"sst": 1, "sd": "010203"}]
    request = phone.request()
    phone.uplink(wire.nas_encode(request))
    second = phone.hear()[-1]
    rand = "authentication-parameter-rand"
    assert second[rand] != first[rand]
    phone.say(phone.answer(second), 0)
    phone.secure(request)
    assert world.ue().registered


def test_registering_again_while_registered() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.ran_id, phone.guti, phone.ngksi = 9, None, 7
    phone.register()
    commands = [m for m in world.names() if m == "UEContextReleaseCommand"]
    assert commands == []  # received earlier
    ue = world.ue()
    assert ue.registered
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == 9
    assert [c.releasing for c in ue.stale] == ["radioNetwork: release-due-to-5gc-generated-reason"]
    world.verify()


def test_a_ran_ue_ngap_id_used_again_frees_the_connection_before() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    first = phone.amf_id
    phone.guti, phone.ngksi = None, 7
    phone.register()
    assert world.ue().stale == ()
    assert phone.amf_id != first
    assert len([1 for kind, _ in world.owners if kind == "gnb"]) == 1
    assert world.ue().released == (first,)
