"""UE-initiated deregistration (TS 24.501 5.5.2.2)."""

import pytest

import wire
from schemas.gmm.events import Deregistered
from tests.functions.phone import Phone
from tests.functions.world import World

MESSAGE = "message-type"


@pytest.fixture
def phone() -> Phone:
    found = Phone(World())
    found.register()
    return found


def test_normal_is_accepted_and_released(phone: Phone) -> None:
    phone.say(phone.deregistration())
    accept, release = phone.hear()
    assert accept[MESSAGE] == "deregistration-accept-ue-originating"
    assert accept["security"] == 2
    assert release["Cause"] == {"nas": "deregister"}
    phone.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert not ue.registered
    assert ue.connection is None
    assert ue.timers == {}
    assert ue.security is not None, "the native context outlives the registration"
    phone.world.verify()


def test_switch_off_has_no_answer(phone: Phone) -> None:
    phone.say(phone.deregistration(switch_off=True))
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    assert not phone.world.ue().registered


def test_from_idle(phone: Phone) -> None:
    phone.idle()
    phone.ran_id = 5
    assert phone.security is not None
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.deregistration())))
    heard = [m[MESSAGE] for m in phone.hear()]
    assert heard == ["deregistration-accept-ue-originating", "UEContextReleaseCommand"]
    phone.ngap("UEContextReleaseComplete")
    assert {kind for kind, _ in phone.world.owners} == {"tmsi", "ngap"}
    phone.world.verify()


def test_it_ends_a_registration_under_way() -> None:
    phone = Phone(World())
    phone.register()
    phone.idle()
    phone.ran_id = 5
    assert phone.security is not None
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
    phone.hear()
    phone.say(phone.deregistration())
    assert phone.hear()[0][MESSAGE] == "deregistration-accept-ue-originating"
    assert phone.world.ue().registration is None
    assert phone.world.ue().timers.keys() == {"ng-release"}


def test_without_a_mac_at_switch_off_is_ignored(phone: Phone) -> None:
    phone.idle()
    phone.ran_id = 5
    phone.initial(wire.nas_encode(phone.deregistration(switch_off=True)))
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    assert phone.world.ue().registered


def test_without_a_mac_the_ue_is_authenticated_first(phone: Phone) -> None:
    phone.idle()
    phone.ran_id = 5
    phone.initial(wire.nas_encode(phone.deregistration()))
    phone.authenticate()
    assert phone.world.ue().registered
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[0][MESSAGE] == "deregistration-accept-ue-originating"
    assert not phone.world.ue().registered
    phone.world.verify()


def test_an_impostor_deregisters_no_ue(phone: Phone) -> None:
    impostor = Phone(phone.world)
    impostor.ran_id, impostor.guti, impostor.ngksi = 99, phone.guti, phone.ngksi
    impostor.initial(wire.nas_encode(impostor.deregistration()))
    impostor.hear()
    failure = {MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"}
    impostor.say(failure, 0)
    impostor.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert ue.registered
    assert not ue.deregistering
    steps = phone.world.steps["ue/imsi-001010000000001"]
    assert not any(isinstance(e, Deregistered) for s in steps for e in s.events)
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == phone.ran_id
    phone.world.verify()


def test_a_deregistration_of_an_unknown_ue_is_accepted() -> None:
    phone = Phone(World())
    phone.guti = {
        "plmn": "001-01",
        "amf-region-id": 1,
        "amf-set-id": 1,
        "amf-pointer": 0,
        "tmsi": 5,
    }
    phone.ngksi = 0
    phone.initial(wire.nas_encode(phone.deregistration()))
    accept, release = phone.hear()
    assert (accept[MESSAGE], accept["security"]) == ("deregistration-accept-ue-originating", 0)
    assert release[MESSAGE] == "UEContextReleaseCommand"
