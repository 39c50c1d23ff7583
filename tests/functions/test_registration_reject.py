"""REGISTRATION REJECT and its causes (TS 24.501 5.5.1.2.5)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.network import Causes
from schemas.subscriber import SubscribedSlice
from tests.functions.phone import Phone
from tests.functions.world import NETWORK, OTHER_SLICE, World, subscriber

MESSAGE = "message-type"


def test_without_security_capability_is_cause_96() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    del request["ue-security-capability"]
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "invalid-mandatory-information"


REJECTIONS: list[tuple[dict[str, Any], str]] = [
    ({"barred": True}, "5gs-services-not-allowed"),
    ({"nr_allowed": False}, "n1-mode-not-allowed"),
    ({"forbidden_tacs": (1,)}, "tracking-area-not-allowed"),
    ({"slices": (SubscribedSlice(OTHER_SLICE, default=True),)}, "no-network-slices-available"),
]


@pytest.mark.parametrize(("changes", "cause"), REJECTIONS)
def test_rejections_are_protected_and_have_their_causes(
    changes: dict[str, Any], cause: str
) -> None:
    world = World(subscriber(**changes))
    phone = Phone(world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    reject, release = phone.hear()
    assert (reject[MESSAGE], reject["5gmm-cause"]) == ("registration-reject", cause)
    assert reject["security"] == 2
    assert release[MESSAGE] == "UEContextReleaseCommand"
    assert not world.ue().registered
    world.verify()


ELSEWHERE = "no-suitable-cells-in-tracking-area"
OWN = "208-93"
"""A PLMN of an operator. 001-01 is shared by all test networks."""


def of_plmn(plmn: str, **causes: int) -> Phone:
    """Return a UE without a subscription in a PLMN that the core serves."""
    areas = tuple(replace(area, plmn=plmn) for area in NETWORK.tracking_areas)
    network = replace(NETWORK, tracking_areas=areas, causes=Causes(**causes))
    phone = Phone(World(network=network), 77)
    phone.plmn = plmn
    return phone


UNKNOWN: list[tuple[str, int, str]] = [
    (OWN, 0, "illegal-ue"),
    ("001-01", 0, ELSEWHERE),
    ("999-70", 0, ELSEWHERE),
    (OWN, 11, "plmn-not-allowed"),
    ("001-01", 3, "illegal-ue"),
]
"""The chosen PLMN of a UE, the configured cause, and the cause that the UE gets."""


@pytest.mark.parametrize(("plmn", "configured", "cause"), UNKNOWN)
def test_an_unknown_subscriber(plmn: str, configured: int, cause: str) -> None:
    """5.5.1.2.5, annex A: #3 takes the USIM out of service. On a shared PLMN it may be the USIM of
    another network."""
    phone = of_plmn(plmn, unknown_subscriber=configured)
    phone.initial(wire.nas_encode(phone.request()))
    reject = phone.hear()[0]
    assert reject["5gmm-cause"] == cause
    assert reject["security"] == 0


@pytest.mark.parametrize(("plmn", "configured", "cause"), UNKNOWN)
def test_a_suci_that_cannot_be_opened(plmn: str, configured: int, cause: str) -> None:
    phone = of_plmn(plmn, undecipherable_suci=configured)
    world = phone.world
    request = phone.request()
    public = wire.suci_public_key("A", bytes(range(9, 41)))
    suci = wire.suci_conceal("001", "01", phone.msin, profile="A", public_key=public, key_id=1)
    request["5gs-mobile-identity"] = {"octets": suci.hex()}
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == cause
    phone.ngap("UEContextReleaseComplete")
    assert {kind for kind, _ in world.owners} == {"ngap", "stranger"}, "only its copies lead to it"
    world.verify()


@pytest.mark.parametrize(
    ("configured", "cause"), [(0, ELSEWHERE), (12, "tracking-area-not-allowed")]
)
def test_an_unserved_tracking_area(configured: int, cause: str) -> None:
    """After #12 a UE stays in the cell without service; after #15 it looks for another cell."""
    causes = Causes(unknown_tracking_area=configured)
    phone = Phone(World(network=replace(NETWORK, causes=causes)), tac=99)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[0]["5gmm-cause"] == cause


def test_by_imei_is_refused_with_cause_5() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    request["5gs-mobile-identity"] = {"imei": "490154203237518"}
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "pei-not-accepted"


def test_causes_by_plmn() -> None:
    """#11 makes a UE store a PLMN as forbidden, so a shared PLMN does not get it."""
    causes = Causes()
    assert causes.of_unknown_tracking_area(OWN) == 12
    assert causes.of_unknown_tracking_area("999-70") == 15
    assert (causes.of_unknown_plmn(OWN), causes.of_unknown_plmn("999-70")) == (11, 15)
    assert (causes.of_removed_subscriber(OWN), causes.of_removed_subscriber("001-01")) == (7, 15)
    assert Causes(removed_subscriber=3).of_removed_subscriber("001-01") == 3
