"""Recorded histories of first contact: emergency services, updates without
capabilities, and the causes on a PLMN of an operator."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

import wire
from schemas.network import SecurityPolicy, TrackingArea
from tests.functions import test_emergency as emergency
from tests.functions.phone import Phone
from tests.functions.test_room import FullWorld
from tests.functions.world import NETWORK, SLICE, World

Scenario = Callable[[], World]

OWN: Final = "208-93"
UNKNOWN_GUTI: Final = {
    "plmn": "001-01",
    "amf-region-id": 1,
    "amf-set-id": 1,
    "amf-pointer": 0,
    "tmsi": 5,
}


def emergency_session() -> World:
    """A UE that is registered gets an emergency PDU session, and another in place of it."""
    site = emergency.at()
    for psi in (5, 6):
        emergency.ask(site, psi)
        site.set_up("PDUSessionResourceSetup", psi)
    return site.world


def emergency_registration() -> World:
    """A UE registers for emergency services, and is deregistered after T3512."""
    site = emergency.at()
    phone = site.phone
    phone.say(phone.deregistration())
    phone.ngap("UEContextReleaseComplete")
    phone.hear()
    phone.guti, phone.ngksi, phone.ran_id, phone.security = None, 7, 9, None
    phone.register(kind="emergency-registration")
    emergency.ask(site)
    site.set_up("PDUSessionResourceSetup", 5)
    site.idle()
    site.world.advance(emergency.NETWORK.timers.t3512 + 5)
    return site.world


def periodic_update_unknown() -> World:
    """An unknown UE sends a periodic update, which has no UE security capability."""
    phone = Phone(World())
    phone.guti = dict(UNKNOWN_GUTI)
    phone.initial(wire.nas_encode(phone.request("periodic-registration-updating")))
    return phone.world


def periodic_update_in_two_areas() -> World:
    """Only one of two tracking areas has IMS voice; a periodic update keeps the allowed NSSAI."""
    one, two = NETWORK.tracking_areas
    areas = (replace(one, ims_vops=False), two)
    phone = Phone(World(network=replace(NETWORK, tracking_areas=areas)), tac=2)
    phone.requested = [{"sst": 2}]
    phone.register()
    phone.idle()
    phone.open_again(phone.request("periodic-registration-updating"))
    phone.finish()
    return phone.world


def unknown_at_an_operator() -> World:
    """A UE without a subscription, on a PLMN that belongs to an operator."""
    areas = (TrackingArea(1, OWN, (SLICE,)),)
    phone = Phone(World(network=replace(NETWORK, tracking_areas=areas)), 77)
    phone.plmn = OWN
    phone.initial(wire.nas_encode(phone.request()))
    return phone.world


def service_request_in_security_mode() -> World:
    """A SERVICE REQUEST ends the security mode control of a UE that is authenticated again."""
    policy = SecurityPolicy(reauthenticate_after=6)
    phone = Phone(World(network=replace(NETWORK, security=policy)))
    phone.register()
    phone.hear()
    challenges = []
    while not challenges:
        phone.say({"message-type": "5gmm-status", "5gmm-cause": 111})
        challenges = phone.hear()
    phone.say(phone.answer(challenges[-1]))
    phone.world.sent()  # the UE does not process the SECURITY MODE COMMAND
    phone.say(phone.service_request())
    return phone.world


def disk_nearly_full() -> World:
    """A registered UE goes on, and two others are put off: without a security context, and with."""
    world = FullWorld()
    here, left, stranger = (Phone(world, number) for number in (1, 2, 3))
    here.register()
    here.idle()
    left.register()
    left.say(left.deregistration())
    left.ngap("UEContextReleaseComplete")
    left.hear()
    world.lacks = 120
    here.open_again(here.request("mobility-registration-updating"))
    here.finish()
    left.open_again(left.request())
    stranger.initial(wire.nas_encode(stranger.request()))
    return world


SCENARIOS: Final[dict[str, Scenario]] = {
    "emergency-session": emergency_session,
    "emergency-registration": emergency_registration,
    "periodic-update-unknown": periodic_update_unknown,
    "periodic-update-ims-vops": periodic_update_in_two_areas,
    "cause-3-operator": unknown_at_an_operator,
    "service-request-security-mode": service_request_in_security_mode,
    "disk-nearly-full": disk_nearly_full,
}
