"""A disk that is nearly full (TS 24.501 5.3.9): UEs that are not registered are put off with #22,
and those that are registered go on."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.lookups import CongestionLookup, RoomLookup
from schemas.network import Congestion
from tests.functions.checked import CheckedWorld
from tests.functions.phone import Phone
from tests.functions.test_congestion import MOBILITY, SPARED, put_off, service_request
from tests.functions.world import EMERGENCY, NETWORK, subscriber


class FullWorld(CheckedWorld):
    """A core with little room on the disk of its log."""

    def __init__(self, **policy: Any) -> None:
        network = replace(NETWORK, congestion=Congestion(**policy), emergency_services=EMERGENCY)
        super().__init__(*(subscriber(n) for n in range(1, 40)), network=network)
        self.lacks = 0
        self.behind = 0

    def lack_of_room(self) -> int:
        return self.lacks

    def back_off(self) -> int:
        return self.behind


@pytest.fixture
def phone() -> Phone:
    return Phone(FullWorld())


def full(phone: Phone, seconds: int = 120) -> FullWorld:
    world = phone.world
    assert isinstance(world, FullWorld)
    world.lacks = seconds
    return world


def test_a_ue_that_is_not_registered_is_put_off_before_anything_is_done_for_it(
    phone: Phone,
) -> None:
    full(phone)
    phone.initial(wire.nas_encode(phone.request()))
    assert put_off(phone, "registration-reject", "t3502-value") in (120, 180, 240)
    ue = phone.world.ue()
    assert (ue.challenge, ue.registration, ue.registered) == (None, None, False)
    assert phone.world.order[-1][1].lookups == (RoomLookup(120),)
    phone.world.verify()


def test_ues_come_back_one_after_the_other() -> None:
    waits: set[int] = set()
    for number in range(1, 30):
        phone = Phone(FullWorld(), number)
        full(phone)
        phone.initial(wire.nas_encode(phone.request()))
        waits.add(put_off(phone, "registration-reject", "t3502-value"))
    assert waits == {120, 180, 240}


def test_a_ue_that_was_deregistered_gets_t3346(phone: Phone) -> None:
    """It has a security context, so it can check the reject (5.5.1.2.5)."""
    phone.register()
    phone.say(phone.deregistration())
    assert not phone.world.ue().registered
    phone.ngap("UEContextReleaseComplete")
    phone.hear()
    full(phone)
    phone.open_again(phone.request())
    assert put_off(phone, "registration-reject") in (120, 180, 240)
    phone.world.verify()


def test_updates_of_registered_ues_go_on(phone: Phone) -> None:
    phone.register()
    phone.idle()
    full(phone)
    phone.open_again(phone.request(MOBILITY))
    phone.finish()
    assert phone.world.ue().registered
    phone.world.verify()


def test_service_requests_go_on(phone: Phone) -> None:
    phone.register()
    phone.idle()
    full(phone)
    phone.open_again(service_request(phone, "signalling"))
    assert [m for m in phone.hear() if m.get("5gmm-cause") == "congestion"] == []
    phone.world.verify()


def test_a_registered_ue_that_registers_again_is_served(phone: Phone) -> None:
    phone.register()
    phone.idle()
    full(phone)
    phone.open_again(phone.request())
    phone.finish()
    assert phone.world.ue().registered


def test_congestion_puts_registered_ues_off_all_the_same(phone: Phone) -> None:
    phone.register()
    phone.idle()
    full(phone).behind = 90
    phone.open_again(phone.request(MOBILITY))
    assert put_off(phone, "registration-reject") in (62, 120)
    assert phone.world.order[-1][1].lookups == (CongestionLookup(90),)


@pytest.mark.parametrize("cause", SPARED)
def test_establishment_causes_that_are_spared(phone: Phone, cause: str) -> None:
    full(phone)
    phone.initial(wire.nas_encode(phone.request()), RRCEstablishmentCause=cause)
    assert phone.hear()[-1]["message-type"] == "authentication-request"


def test_an_emergency_registration_is_spared(phone: Phone) -> None:
    full(phone)
    phone.initial(wire.nas_encode(phone.request("emergency-registration")))
    assert phone.hear()[-1]["message-type"] == "authentication-request"


def test_with_room_again_ues_are_served(phone: Phone) -> None:
    full(phone)
    phone.initial(wire.nas_encode(phone.request()))
    put_off(phone, "registration-reject", "t3502-value")
    phone.ngap("UEContextReleaseComplete")
    full(phone, 0)
    phone.initial(wire.nas_encode(phone.request()))
    assert phone.hear()[-1]["message-type"] == "authentication-request"
    phone.world.verify()
