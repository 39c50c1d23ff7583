"""The life of a UE radio capability in the core (TS 23.501 5.4.4.1, TS 24.501 5.5.2.1)."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import wire
from tests.functions import operator
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ies_of, ng_setup
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import NETWORK

CAPABILITY, OTHER = "c0ffee", "0badcafe"
PAGING = {"uERadioCapabilityForPagingOfNR": "0102", "uERadioCapabilityForPagingOfEUTRA": "03"}
PERIODIC = "periodic-registration-updating"


@pytest.fixture
def phone() -> Phone:
    """Return a registered UE whose gNB has reported both capabilities."""
    found = Phone(CheckedWorld())
    ng_setup(found.world)
    found.register()
    report(found, CAPABILITY)
    return found


def report(phone: Phone, capability: str) -> None:
    ies = {"UERadioCapability": capability, "UERadioCapabilityForPaging": PAGING}
    phone.ngap("UERadioCapabilityInfoIndication", **ies)
    phone.world.sent()


def contexts(phone: Phone) -> list[dict[str, Any]]:
    """Return the IEs of each INITIAL CONTEXT SETUP REQUEST since the last call."""
    found = phone.world.sent()
    return [ies_of(tree) for tree in found if tree["message"] == "InitialContextSetupRequest"]


def register_again(phone: Phone) -> dict[str, Any]:
    """Register with the security context on another connection; return the context setup."""
    phone.open_again(phone.request(), ran_id=phone.ran_id + 1)
    (context,) = contexts(phone)
    return context


def by_ue(phone: Phone) -> None:
    phone.say(phone.deregistration())
    phone.hear()
    phone.ngap("UEContextReleaseComplete")


def switched_off(phone: Phone) -> None:
    phone.say(phone.deregistration(switch_off=True))
    phone.hear()
    phone.ngap("UEContextReleaseComplete")


def by_network(phone: Phone) -> None:
    operator.deregister(phone.world, phone.supi)
    phone.leave()
    phone.hear()
    phone.ngap("UEContextReleaseComplete")


def implicitly(phone: Phone) -> None:
    phone.idle()
    phone.world.advance(2 * (3600 + 240) + 1)


def by_reject(phone: Phone) -> None:
    one = phone.world.subscribers[phone.supi]
    phone.world.subscribers[phone.supi] = replace(one, forbidden_tacs=(1,))
    phone.idle()
    phone.open_again(phone.request(PERIODIC), ran_id=phone.ran_id + 1)
    assert phone.hear()[0]["message-type"] == "registration-reject"
    phone.ngap("UEContextReleaseComplete")
    phone.world.subscribers[phone.supi] = one


@pytest.mark.parametrize("end", [by_ue, switched_off, by_network, implicitly, by_reject])
def test_it_does_not_outlive_a_deregistration(phone: Phone, end: Callable[[Phone], None]) -> None:
    """TS 24.501 5.5.2.1: the AMF deletes it when it enters 5GMM-DEREGISTERED."""
    end(phone)
    ue = phone.world.ue()
    assert not ue.registered
    assert (ue.radio_capability, ue.paging_capability) == (b"", None)
    context = register_again(phone)
    assert not {"UERadioCapability", "UERadioCapabilityForPaging"} & context.keys()


def test_an_update_keeps_it(phone: Phone) -> None:
    phone.idle()
    phone.open_again(phone.request(PERIODIC))
    (context,) = contexts(phone)
    assert context["UERadioCapability"] == CAPABILITY
    assert context["UERadioCapabilityForPaging"] == PAGING
    phone.world.verify()


def test_an_initial_registration_deletes_it(phone: Phone) -> None:
    """The USIM may be in another device: the gNB asks the UE (TS 23.501 5.4.4.1)."""
    phone.idle()
    context = register_again(phone)
    assert not {"UERadioCapability", "UERadioCapabilityForPaging"} & context.keys()
    assert phone.world.ue().paging_capability is None


def test_another_pei_deletes_it(phone: Phone) -> None:
    """An update is authenticated, and the device has another IMEISV."""
    phone.idle()
    phone.world.network = replace(NETWORK, security=replace(NETWORK.security, reuse_context=False))
    phone.open_again(phone.request(PERIODIC))
    phone.authenticate(header=2)
    command = phone.hear()[-1]
    assert command["message-type"] == "security-mode-command"
    complete = {
        "message-type": "security-mode-complete",
        "imeisv": {"imeisv": "9912345678901234"},
        "nas-message-container": phone.request(PERIODIC),
    }
    phone.say(complete, header=4)
    (context,) = contexts(phone)
    assert context["MaskedIMEISV"] == "9912345678ffff34"
    assert not {"UERadioCapability", "UERadioCapabilityForPaging"} & context.keys()


def test_a_report_replaces_both(phone: Phone) -> None:
    """TS 38.413 8.14.1.2."""
    phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability=OTHER)
    ue = phone.world.ue()
    assert (ue.radio_capability.hex(), ue.paging_capability) == (OTHER, None)


def test_the_capability_for_paging_is_in_paging() -> None:
    """TS 38.413 8.5.1.2: the gNB pages the UE on bands that the UE has."""
    site = Site()
    address = site.establish()
    report(site.phone, CAPABILITY)
    site.idle()
    site.upfs.downlink_data(address)
    paging = ies_of(wire.ngap_decode(site.world.pages[-1][2]))
    assert paging["UERadioCapabilityForPaging"] == PAGING
    assert list(paging)[-1] == "UERadioCapabilityForPaging", "after the TAI list (9.2.4.1)"
    site.world.verify()
