"""Recorded histories of several PLMNs, and of the NSSAIs that a UE is told."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from schemas.network import Network, TrackingArea
from schemas.subscriber import AuthMethod, Subscriber
from tests.functions.gnb import setup_request
from tests.functions.phone import Phone
from tests.functions.test_eap import EapPhone
from tests.functions.world import NETWORK, SLICE, World, subscriber

Scenario = Callable[[], World]

OTHER: Final = "310-410"
BOTH: Final[list[dict[str, Any]]] = [{"sst": 1, "sd": "010203"}, {"sst": 2}]
SHARED: Final = replace(
    NETWORK, tracking_areas=(*NETWORK.tracking_areas, TrackingArea(1, OTHER, (SLICE,)))
)
EQUIVALENT: Final = replace(SHARED, equivalent_plmns=(OTHER,))


def registered(
    network: Network, plmn: str, one: Subscriber | None = None, phone: type[Phone] = Phone
) -> Phone:
    """Return a UE of 001-01 that is registered in a PLMN."""
    found = phone(World(one or subscriber(), network=network))
    found.plmn = plmn
    found.world.uplink(setup_request(plmn=plmn))
    found.world.sent()
    found.register()
    return found


def moved(network: Network) -> Phone:
    """Return a UE that has sent a mobility registration update in another PLMN."""
    phone = registered(network, "001-01")
    phone.idle()
    phone.plmn = OTHER
    phone.open_again(phone.request("mobility-registration-updating"))
    return phone


def second_plmn() -> World:
    return registered(SHARED, OTHER).world


def second_plmn_by_eap() -> World:
    one = subscriber(auth_method=AuthMethod.EAP_AKA_PRIME)
    return registered(SHARED, OTHER, one, EapPhone).world


def another_plmn() -> World:
    """The UE is authenticated again."""
    phone = moved(SHARED)
    phone.authenticate(2)
    phone.secure(phone.request("mobility-registration-updating"))
    return phone.world


def equivalent_plmn() -> World:
    """The UE keeps its keys."""
    phone = moved(EQUIVALENT)
    phone.finish()
    return phone.world


def slices_of_the_gnb() -> World:
    """The gNB supports one of two slices of the tracking area."""
    phone = Phone(World(), tac=2)
    phone.requested = BOTH
    phone.world.uplink(setup_request(tac=2))
    phone.world.sent()
    phone.register()
    return phone.world


def configured_nssai() -> World:
    """A UE is told it once, and again when it uses the default configured NSSAI."""
    phone = registered(NETWORK, "001-01")
    phone.idle()
    phone.requested = [*BOTH, {"sst": 3}]
    default: Any = {"network-slicing-indication": {"dcni": True, "nssci": False}}
    phone.open_again(phone.request(**default))
    phone.finish()
    return phone.world


SCENARIOS: Final[dict[str, Scenario]] = {
    "second-plmn": second_plmn,
    "second-plmn-eap": second_plmn_by_eap,
    "another-plmn": another_plmn,
    "equivalent-plmn": equivalent_plmn,
    "slices-of-the-gnb": slices_of_the_gnb,
    "configured-nssai": configured_nssai,
}
