"""Two connections that claim to be one UE: an unauthenticated one does not affect the authenticated
one."""

from collections.abc import Callable
from typing import Any

import pytest

import wire
from functions.decision.connection import MAX_PARKED, MAX_RELEASING
from schemas.gmm.events import Deregistered, RegistrationAborted
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import subscriber

MESSAGE = "message-type"


def attacker_of(phone: Phone, ran_id: int = 99) -> Phone:
    """Return a sender with the UE's 5G-GUTI and without its keys."""
    found = Phone(phone.world)
    found.ran_id, found.guti, found.ngksi = ran_id, phone.guti, phone.ngksi
    found.k = bytes(16)
    return found


def forged(tree: dict[str, Any]) -> bytes:
    """Return a message with a wrong MAC, and with the UE's key set."""
    return b"\x7e\x01\x00\x00\x00\x00\x05" + wire.nas_encode(tree)


def registration(phone: Phone) -> bytes:
    return wire.nas_encode(phone.request())


def mobility(phone: Phone) -> bytes:
    return forged(phone.request("mobility-registration-updating"))


def service(phone: Phone) -> bytes:
    return forged(service_request(phone))


def service_request(phone: Phone, **more: Any) -> dict[str, Any]:
    assert phone.guti is not None
    tmsi = {"amf-set-id": 1, "amf-pointer": 0, "tmsi": phone.guti["tmsi"]}
    return {
        MESSAGE: "service-request",
        "ngksi": {"native": phone.ngksi} if phone.ngksi < 7 else "no-key",
        "service-type": "signalling",
        "5g-s-tmsi": {"s-tmsi": tmsi},
        **more,
    }


def deregistration(phone: Phone) -> bytes:
    return wire.nas_encode(phone.deregistration())


def switching_off(phone: Phone) -> bytes:
    return wire.nas_encode(phone.deregistration(switch_off=True))


def garbage(_: Phone) -> bytes:
    return b"\x7e\x02\x00\x00\x00\x00\x05\x01\x02\x03"


ATTACKS: dict[str, Callable[[Phone], bytes]] = {
    made.__name__: made
    for made in (registration, mobility, service, deregistration, switching_off, garbage)
}


def stmsi(phone: Phone) -> dict[str, Any]:
    assert phone.guti is not None
    return {"FiveG-S-TMSI": {"aMFSetID": 1, "aMFPointer": 0, "fiveG-TMSI": phone.guti["tmsi"]}}


@pytest.fixture
def phone() -> Phone:
    found = Phone(CheckedWorld(subscriber(1), subscriber(2)))
    found.register()
    found.hear()
    return found


def served(phone: Phone) -> None:
    """Check that the UE is served on its connection."""
    phone.hear()
    phone.say(phone.request("mobility-registration-updating"))
    accept = phone.hear()[-1]
    assert accept[MESSAGE] == "registration-accept"
    phone.guti = accept["5g-guti"]["guti"]
    phone.say({MESSAGE: "registration-complete"})
    ue = phone.world.ue()
    assert ue.registered
    assert ue.registration is None
    assert ue.connection is not None
    assert (ue.connection.ran_ue_ngap_id, ue.connection.secured) == (phone.ran_id, True)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_unproved_does_not_take_the_connection(phone: Phone, attack: str) -> None:
    impostor = attacker_of(phone)
    before = phone.world.ue()
    impostor.initial(ATTACKS[attack](phone), **stmsi(phone))
    ue = phone.world.ue()
    assert ue.connection == before.connection
    assert (ue.registration, ue.challenge, ue.pending) == (None, None, None)
    assert not ue.deregistering
    served(phone)
    phone.world.verify()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_flood_of_attacks_does_not_affect_the_ue(phone: Phone, attack: str) -> None:
    """With a gNB that completes no release: 200 messages in 20 s, and the UE is always served."""
    for number in range(200):
        impostor = attacker_of(phone, 100 + number)
        impostor.initial(ATTACKS[attack](phone), **stmsi(phone))
        phone.world.advance(0.1)
        if number % 20 == 0:
            served(phone)
        ue = phone.world.ue()
        assert len(ue.parked) <= MAX_PARKED
        # A UE that proves its identity ends the parked connections at once.
        assert len(ue.stale) <= MAX_RELEASING + MAX_PARKED
    served(phone)
    steps = phone.world.steps[f"ue/{phone.supi}"]
    assert not any(isinstance(e, Deregistered) for step in steps for e in step.events)
    phone.world.advance(120)
    ue = phone.world.ue()
    assert (ue.parked, ue.stale, ue.timers) == ((), (), {})
    assert ue.registered
    phone.world.verify()


def test_both_are_answered_each_on_its_connection(phone: Phone) -> None:
    """A UE without a context is authenticated on a new connection while the previous one is
    served."""
    again = Phone(phone.world)
    again.ran_id, again.sqn = 9, phone.sqn
    request = again.request()
    again.initial(wire.nas_encode(request))
    challenge = again.hear()[-1]
    served(phone)  # it is authenticated: the parked connection is released
    again.hear()
    assert phone.world.ue().parked == ()
    assert challenge[MESSAGE] == "authentication-request"


def test_what_proves_itself_takes_over(phone: Phone) -> None:
    """5.5.1.2.8 f): the genuine UE registers on another connection; then the previous one is
    released."""
    again = Phone(phone.world)
    again.ran_id, again.sqn = 9, phone.sqn
    request = again.request()
    again.initial(wire.nas_encode(request))
    again.authenticate()
    phone.say({MESSAGE: "5gmm-status", "5gmm-cause": 111})
    ue = phone.world.ue()
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == phone.ran_id
    assert len(ue.parked) == 1
    again.secure(request)
    ue = phone.world.ue()
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == 9
    assert [(c.ran_ue_ngap_id, bool(c.releasing)) for c in ue.stale] == [(phone.ran_id, True)]
    assert ue.registered
    assert ue.registration is None
    phone.world.verify()


def test_its_timers_are_its_own(phone: Phone) -> None:
    """T3560 expires on the parked connection; the UE's own registration continues."""
    phone.say(phone.request("mobility-registration-updating", ngksi="no-key"))
    attacker_of(phone).initial(registration(phone))
    ue = phone.world.ue()
    assert len(ue.parked) == 1
    assert {name.partition("/")[0] for name in ue.timers} >= {"T3560"}
    assert len([name for name in ue.timers if name.startswith("T3560")]) == 2
    phone.world.advance(5)
    phone.world.advance(26)
    ue = phone.world.ue()
    assert ue.parked == ()
    assert ue.registered
    phone.world.advance(60)
    assert phone.world.ue().timers.keys() <= {"mobile-reachable"}
    phone.world.verify()


def test_its_registration_is_not_the_one_of_the_ue(phone: Phone) -> None:
    """The response to the UE's own challenge counts, even if another sender is challenged too."""
    request = phone.request("mobility-registration-updating", ngksi="no-key")
    phone.say(request)
    challenge = phone.hear()[-1]
    for ran_id in (97, 98, 99):
        attacker_of(phone, ran_id).initial(registration(phone))
    phone.say(phone.answer(challenge))
    phone.hear()
    ue = phone.world.ue()
    assert ue.pending is not None
    assert len(ue.parked) == 3
    phone.world.verify()


def test_an_unproved_registration_does_not_end_another_unproved_one() -> None:
    """Neither is authenticated yet: both registrations continue."""
    world = CheckedWorld()
    phone = Phone(world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    challenge = phone.hear()[-1]
    impostor = Phone(world)
    impostor.ran_id, impostor.k = 99, bytes(16)
    impostor.initial(wire.nas_encode(impostor.request()))
    impostor.hear()
    phone.say(phone.answer(challenge), 0)
    phone.secure(request)
    ue = world.ue()
    assert ue.registered
    assert ue.parked == ()
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == phone.ran_id
    world.advance(60)
    steps = world.steps[f"ue/{phone.supi}"]
    assert not any(isinstance(e, RegistrationAborted) for step in steps for e in step.events)
    assert world.ue().stale == ()
    world.verify()


def test_a_service_request_with_its_mac_ends_the_attempts_of_others(phone: Phone) -> None:
    phone.idle()
    for ran_id in (97, 98, 99):
        attacker_of(phone, ran_id).initial(registration(phone))
    phone.open_again(service_request(phone))
    accept = next(m for m in phone.hear() if m[MESSAGE] == "service-accept")
    assert accept["ngap"] == "InitialContextSetupRequest"
    ue = phone.world.ue()
    assert ue.connection is not None
    assert (ue.connection.ran_ue_ngap_id, ue.parked) == (9, ())
    assert all(c.releasing for c in ue.stale)
    phone.world.verify()


def test_a_ue_is_paged_though_another_has_come_in_its_name() -> None:
    site = Site()
    address = site.establish()
    site.idle()
    attacker_of(site.phone).initial(registration(site.phone))
    ue = site.world.ue()
    assert ue.connection is not None
    assert not ue.connection.secured
    site.upfs.downlink_data(address)
    assert len(site.world.pages) == 1
    site.service_request("mobile-terminated-services")
    ue = site.world.ue()
    assert ue.connection is not None
    assert (ue.connection.ran_ue_ngap_id, ue.parked) == (site.phone.ran_id, ())
    assert ue.paging is None
    site.world.verify()


def test_a_parked_connection_that_its_gnb_releases(phone: Phone) -> None:
    impostor = attacker_of(phone)
    impostor.initial(registration(phone))
    impostor.hear()
    impostor.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    impostor.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert (ue.parked, ue.stale, ue.timers) == ((), (), {})
    served(phone)
    phone.world.verify()


def test_it_tells_nothing_of_the_radio_of_the_ue(phone: Phone) -> None:
    impostor = attacker_of(phone)
    impostor.initial(registration(phone))
    impostor.hear()
    before = phone.world.ue().radio_capability
    impostor.ngap("UERadioCapabilityInfoIndication", UERadioCapability="0bad")
    assert phone.world.ue().radio_capability == before
    served(phone)
    phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="c0ffee")
    assert phone.world.ue().radio_capability == b"\xc0\xff\xee"


def test_a_lost_association_deletes_the_parked_connections() -> None:
    world = CheckedWorld()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    attacker_of(phone).initial(registration(phone))
    phone.world.lose()
    ue = phone.world.ue()
    assert (ue.connection, ue.parked, ue.stale) == (None, (), ())
    assert ue.timers.keys() <= {"mobile-reachable"}
    phone.world.verify()


def test_another_ue_that_sends_its_suci_takes_its_connection_with_it(phone: Phone) -> None:
    """A 5G-GUTI of another UE: the new connection is transferred, and the UE keeps its own."""
    other = Phone(phone.world, 2)
    other.ran_id, other.guti, other.ngksi = 99, phone.guti, phone.ngksi
    request = other.request()
    other.initial(wire.nas_encode(request))
    other.hear()
    other.say({MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"}, 0)
    assert other.hear()[-1][MESSAGE] == "identity-request"
    assert phone.world.ue().successor == ""
    other.say({MESSAGE: "identity-response", "mobile-identity": other.identity("A")}, 0)
    other.authenticate()
    other.secure(request)
    assert phone.world.ue(2).registered
    assert phone.world.ue(1).parked == ()
    served(phone)
    phone.world.verify()
