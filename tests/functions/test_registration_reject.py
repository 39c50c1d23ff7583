"""REGISTRATION REJECT and its causes (TS 24.501 5.5.1.2.5)."""

from typing import Any

import pytest

import wire
from schemas.subscriber import SubscribedSlice
from tests.functions.phone import Phone
from tests.functions.world import OTHER_SLICE, World, subscriber

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


def test_an_unknown_subscriber_is_cause_3() -> None:
    world = World()
    phone = Phone(world, 77)
    phone.initial(wire.nas_encode(phone.request()))
    reject = phone.hear()[0]
    assert reject["5gmm-cause"] == "illegal-ue"
    assert reject["security"] == 0


def test_a_suci_that_cannot_be_opened_is_cause_3() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    public = wire.suci_public_key("A", bytes(range(9, 41)))
    suci = wire.suci_conceal("001", "01", phone.msin, profile="A", public_key=public, key_id=1)
    request["5gs-mobile-identity"] = {"octets": suci.hex()}
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "illegal-ue"
    phone.ngap("UEContextReleaseComplete")
    assert [kind for kind, _ in world.owners] == ["ngap"], "only its copies lead to it"
    world.verify()


def test_an_unserved_tracking_area_is_cause_12() -> None:
    world = World()
    phone = Phone(world, tac=99)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[0]["5gmm-cause"] == "tracking-area-not-allowed"


def test_by_imei_is_refused_with_cause_5() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    request["5gs-mobile-identity"] = {"imei": "490154203237518"}
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "pei-not-accepted"


def test_a_plmn_that_is_not_served_is_cause_11() -> None:
    phone = Phone(World())
    phone.plmn = "999-99"
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[0]["5gmm-cause"] == "plmn-not-allowed"
