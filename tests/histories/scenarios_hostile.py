"""Recorded histories of senders that lie: forged first messages, endless refusals, strangers."""

from collections.abc import Callable
from typing import Any, Final

import wire
from tests.functions.gnb import ng_setup, setup_request
from tests.functions.phone import Phone
from tests.functions.registration_requests import in_the_clear
from tests.functions.world import World

Scenario = Callable[[], World]
MESSAGE: Final = "message-type"
OTHER_GNB: Final = "001-01-gnb-24-7"
IN_USE: Final = {MESSAGE: "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"}


def _at_a_gnb() -> Phone:
    world = World()
    ng_setup(world)
    return Phone(world)


def _commanded(phone: Phone, first: dict[str, Any]) -> None:
    """Send a first message in the clear, and go on to the SECURITY MODE COMMAND."""
    phone.initial(wire.nas_encode(first))
    phone.authenticate()
    phone.hear()


def ngksi_refused_without_end() -> World:
    phone = _at_a_gnb()
    phone.initial(wire.nas_encode(phone.request()))
    for _ in range(9):
        phone.hear()
        phone.say(IN_USE, 0)
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def capability_bid_down() -> World:
    """The complete request has other capabilities, and needs other algorithms."""
    phone = _at_a_gnb()
    request = phone.request()
    _commanded(phone, in_the_clear({**request, "ue-security-capability": {"octets": "c0c0"}}))
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    phone.authenticate(2)
    phone.secure(request)
    return phone.world


def capability_changed() -> World:
    """The complete request has other capabilities, and the same algorithms fit."""
    phone = _at_a_gnb()
    request = phone.request()
    _commanded(phone, in_the_clear({**request, "ue-security-capability": {"octets": "f0f0"}}))
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    phone.finish()
    return phone.world


def request_of_another() -> World:
    phone = _at_a_gnb()
    _commanded(phone, in_the_clear(phone.request()))
    container = {**phone.request(), "5gs-mobile-identity": Phone(phone.world, 2).identity()}
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": container}, 4)
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def registration_forged_as_deregistration() -> World:
    phone = _at_a_gnb()
    phone.register()
    phone.idle()
    phone.ran_id, phone.security = 8, None
    _commanded(phone, phone.deregistration())
    request = phone.request()
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    phone.hear()
    return phone.world


def without_a_proof() -> World:
    """A sender that repeats requests, until its connection is released."""
    phone = _at_a_gnb()
    phone.initial(wire.nas_encode(phone.request()))
    for number in range(34):
        phone.hear()
        status = {"octets": f"{number % 2:02x}"}
        phone.uplink(wire.nas_encode(phone.request() | {"ue-status": status}))
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    return phone.world


def strangers() -> World:
    """A SUPI without a subscription twice, and a gNB that is refused before it is accepted."""
    world = World()
    world.uplink(setup_request(plmn="999-99"))
    world.sent()
    ng_setup(world)
    for _ in range(2):
        phone = Phone(world, 77)
        phone.initial(wire.nas_encode(phone.request()))
        phone.hear()
        phone.ngap("UEContextReleaseComplete")
    world.uplink(setup_request(plmn="999-99"), OTHER_GNB, "a7")
    world.sent()
    return world


SCENARIOS: Final[dict[str, Scenario]] = {
    "hostile-ngksi-refused": ngksi_refused_without_end,
    "hostile-capability-bid-down": capability_bid_down,
    "hostile-capability-changed": capability_changed,
    "hostile-request-of-another": request_of_another,
    "hostile-registration-as-deregistration": registration_forged_as_deregistration,
    "hostile-without-a-proof": without_a_proof,
    "hostile-strangers": strangers,
}
