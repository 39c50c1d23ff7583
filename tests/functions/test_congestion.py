"""Congestion control (TS 24.501 5.3.9): rejected requests, their back-off time, and exceptions."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from functions.gmm.admission import BACK_OFFS
from schemas.lookups import CongestionLookup
from schemas.network import Congestion
from tests.functions.checked import CheckedWorld
from tests.functions.phone import Phone
from tests.functions.world import EMERGENCY, NETWORK, subscriber

MESSAGE = "message-type"
MOBILITY = "mobility-registration-updating"
SPARED = [
    "emergency",
    "highPriorityAccess",
    "mt-Access",
    "mps-PriorityAccess",
    "mcs-PriorityAccess",
]


class BusyWorld(CheckedWorld):
    """A core with a congested worker."""

    def __init__(self, **policy: Any) -> None:
        network = replace(NETWORK, congestion=Congestion(**policy), emergency_services=EMERGENCY)
        super().__init__(*(subscriber(n) for n in range(1, 40)), network=network)
        self.behind = 0

    def back_off(self) -> int:
        return self.behind


@pytest.fixture
def phone() -> Phone:
    return Phone(BusyWorld())


def busy(phone: Phone, *, behind: int = 90) -> None:
    world = phone.world
    assert isinstance(world, BusyWorld)
    world.behind = behind


def service_request(phone: Phone, kind: str) -> dict[str, Any]:
    assert phone.guti is not None
    tmsi = {"amf-set-id": 1, "amf-pointer": 0, "tmsi": phone.guti["tmsi"]}
    return {
        MESSAGE: "service-request",
        "ngksi": {"native": phone.ngksi},
        "service-type": kind,
        "5g-s-tmsi": {"s-tmsi": tmsi},
    }


def idle(phone: Phone) -> None:
    phone.register()
    phone.idle()


def put_off(phone: Phone, rejection: str, timer: str = "t3346-value") -> int:
    """Check the rejection and return its back-off timer."""
    reject, release = phone.hear()
    assert (reject[MESSAGE], reject["5gmm-cause"]) == (rejection, "congestion")
    assert release[MESSAGE] == "UEContextReleaseCommand"
    assert timer == "t3346-value" or reject["t3346-value"] == 0
    value: int = reject[timer]
    return value


def test_a_registration_is_put_off_before_anything_is_done_for_it(phone: Phone) -> None:
    busy(phone)
    phone.initial(wire.nas_encode(phone.request()))
    assert put_off(phone, "registration-reject", "t3502-value") in (62, 120)
    ue = phone.world.ue()
    assert (ue.challenge, ue.sqn, ue.registration) == (None, 0, None)
    assert phone.world.order[-1][1].lookups == (CongestionLookup(90),)
    phone.world.verify()


def test_an_update_is_put_off_and_the_ue_stays_registered(phone: Phone) -> None:
    idle(phone)
    busy(phone)
    phone.open_again(phone.request(MOBILITY))
    assert put_off(phone, "registration-reject") in (62, 120)
    phone.ngap("UEContextReleaseComplete")
    assert phone.world.ue().registered
    busy(phone, behind=0)
    phone.open_again(phone.request(MOBILITY), ran_id=10)
    phone.finish()
    phone.world.verify()


def test_a_service_request_is_put_off_and_the_ue_stays_registered(phone: Phone) -> None:
    idle(phone)
    busy(phone)
    phone.open_again(service_request(phone, "signalling"))
    assert put_off(phone, "service-reject") in (62, 120)
    assert phone.world.ue().registered
    phone.world.verify()


@pytest.mark.parametrize("cause", SPARED)
def test_establishment_causes_that_are_spared(phone: Phone, cause: str) -> None:
    busy(phone)
    phone.initial(wire.nas_encode(phone.request()), RRCEstablishmentCause=cause)
    assert phone.hear()[-1][MESSAGE] == "authentication-request"
    assert phone.world.order[-1][1].lookups == ()


@pytest.mark.parametrize(
    "kind", ["mobile-terminated-services", "emergency-services", "high-priority-access"]
)
def test_service_types_that_are_spared(phone: Phone, kind: str) -> None:
    idle(phone)
    busy(phone)
    phone.open_again(service_request(phone, kind))
    heard = [m for m in phone.hear() if m.get("5gmm-cause") == "congestion"]
    assert heard == []


def test_an_emergency_registration_is_spared(phone: Phone) -> None:
    busy(phone)
    phone.initial(wire.nas_encode(phone.request("emergency-registration")))
    assert phone.hear()[-1][MESSAGE] == "authentication-request"


def test_a_ue_that_is_connected_is_served(phone: Phone) -> None:
    phone.register()
    busy(phone)
    phone.say(phone.request(MOBILITY))
    assert phone.hear()[-1][MESSAGE] == "registration-accept"


def test_a_question_that_has_no_answer_leaves_nothing_in_the_log(phone: Phone) -> None:
    idle(phone)
    phone.open_again(service_request(phone, "signalling"))
    assert all(step.lookups == () for _, step in phone.world.order)
    phone.world.verify()


def drawn(seconds: int, ues: int = 30, **policy: Any) -> list[int]:
    """Return T3346 of UEs that a worker cannot serve for some seconds."""
    found: list[int] = []
    for number in range(1, ues + 1):
        world = BusyWorld(**policy)
        phone = Phone(world, number)
        idle(phone)
        world.behind = seconds
        phone.open_again(service_request(phone, "signalling"))
        found.append(put_off(phone, "service-reject"))
    return found


def test_t3346_is_the_time_that_the_backlog_needs() -> None:
    assert set(drawn(30, ues=3)) == {30}
    between = drawn(7)
    assert set(between) == {6, 8}
    assert 6.5 <= sum(between) / len(between) <= 7.5


def test_ues_do_not_come_back_together_where_t3346_is_coarse() -> None:
    between = drawn(200)
    assert set(between) == {180, 240}
    assert 185 <= sum(between) / len(between) <= 215


@pytest.mark.parametrize(
    ("seconds", "least", "most", "expected"),
    [(1, 2, 600, 2), (5000, 2, 600, 600), (1, 63, 63, 120), (1, 20_000, 20_000, 11_160)],
)
def test_the_range_of_t3346(seconds: int, least: int, most: int, expected: int) -> None:
    """A range without a value gives the next one that there is."""
    assert drawn(seconds, ues=1, t3346_min=least, t3346_max=most) == [expected]


def test_a_reject_that_the_ue_cannot_check_has_no_t3346() -> None:
    """It would take 15 to 30 minutes for T3346 (TS 24.501 5.5.1.2.5)."""
    phone = Phone(BusyWorld())
    busy(phone, behind=14)
    phone.initial(wire.nas_encode(phone.request()))
    assert put_off(phone, "registration-reject", "t3502-value") == 14


@pytest.mark.parametrize("value", BACK_OFFS)
def test_every_value_can_be_said(value: int) -> None:
    reject = {MESSAGE: "registration-reject", "5gmm-cause": 22, "t3346-value": value}
    assert wire.nas_decode(wire.nas_encode(reject))["t3346-value"] == value
