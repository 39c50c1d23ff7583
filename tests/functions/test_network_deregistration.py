"""Network-initiated deregistration (TS 24.501 5.5.2.3) and its collisions."""

from typing import Any

import pytest

import wire
from schemas.gmm.events import Deregistered, NetworkDeregistrationAborted
from tests.functions import operator
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.world import World

REQUEST = "deregistration-request-ue-terminated"
RELEASE = "UEContextReleaseCommand"


@pytest.fixture
def phone() -> Phone:
    found = Phone(World())
    ng_setup(found.world)
    found.register()
    found.hear()
    return found


def asked(phone: Phone, **more: Any) -> dict[str, Any]:
    """Deregister a UE in CM-CONNECTED by the operator, and return the DEREGISTRATION REQUEST."""
    operator.deregister(phone.world, phone.supi, **more)
    (request,) = phone.hear()
    assert (request[MESSAGE], request["security"]) == (REQUEST, 2)
    return request


def reasons(world: World) -> list[str]:
    steps = world.steps["ue/imsi-001010000000001"]
    return [e.reason for s in steps for e in s.events if isinstance(e, Deregistered)]


def gone(phone: Phone, why: str = "by the operator") -> None:
    """Check that the UE is deregistered without remains, and that all steps can be decided
    again."""
    ue = phone.world.ue()
    assert not ue.registered
    assert (ue.network_deregistration, ue.connection, ue.timers) == (None, None, {})
    assert reasons(phone.world) == [why]
    phone.world.verify()


@pytest.mark.parametrize("reregister", [False, True])
def test_a_connected_ue_is_asked_and_accepts(phone: Phone, *, reregister: bool) -> None:
    operator.deregister(phone.world, phone.supi, reregister=reregister, cause=22)
    assert phone.world.ue().registered
    request = phone.leave()
    assert request["de-registration-type"]["re-registration-required"] is reregister
    assert request["de-registration-type"]["access-type"] == "3gpp-access"
    assert request["5gmm-cause"] == "congestion"
    (release,) = phone.hear()
    assert (release[MESSAGE], release["Cause"]) == (RELEASE, {"nas": "deregister"})
    phone.ngap("UEContextReleaseComplete")
    gone(phone)


def test_its_sessions_end_at_the_upf() -> None:
    site = Site()
    site.establish()
    operator.deregister(site.world, site.phone.supi)
    site.phone.leave()
    site.upfs.asked.clear()
    site.upfs.serve()
    assert site.upfs.asked == ["SessionDeletionRequest"]
    assert site.upfs.rules == 0
    assert site.world.ue().sessions == ()
    site.phone.ngap("UEContextReleaseComplete")
    gone(site.phone)


def test_the_operator_asks_twice(phone: Phone) -> None:
    asked(phone)
    operator.deregister(phone.world, phone.supi, reregister=True)
    assert phone.hear() == []


def test_a_ue_that_is_not_registered_is_left_alone(phone: Phone) -> None:
    phone.say(phone.deregistration())
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    operator.deregister(phone.world, phone.supi)
    assert phone.world.ue().network_deregistration is None
    assert (phone.hear(), list(phone.world.pages)) == ([], [])


def test_a_subscription_that_is_withdrawn(phone: Phone) -> None:
    operator.withdraw(phone.world, phone.supi)
    assert phone.leave()["5gmm-cause"] == "no-suitable-cells-in-tracking-area"
    phone.ngap("UEContextReleaseComplete")
    assert not phone.world.ue().registered
    assert reasons(phone.world) == ["the subscription is removed"]


# CM-IDLE


def test_an_idle_ue_is_paged_first(phone: Phone) -> None:
    phone.idle()
    operator.deregister(phone.world, phone.supi)
    assert len(phone.world.pages) == 1
    assert phone.world.ue().registered
    phone.open_again(phone.service_request("mobile-terminated-services"))
    assert "T3513" not in phone.world.ue().timers
    phone.leave()
    assert phone.hear()[-1][MESSAGE] == RELEASE
    phone.ngap("UEContextReleaseComplete")
    gone(phone)


def test_paging_in_vain_deregisters_it_all_the_same(phone: Phone) -> None:
    phone.idle()
    operator.deregister(phone.world, phone.supi)
    phone.world.advance(4 + 8 + 12 + 15)
    assert phone.world.ue().registered
    phone.world.advance(2)
    assert len(phone.world.pages) == 4
    gone(phone, "by the operator: the UE cannot be reached")
    phone.open_again(phone.service_request())
    assert phone.hear()[0]["5gmm-cause"] == "implicitly-deregistered"


def test_a_ue_that_should_have_come_by_itself_is_not_paged(phone: Phone) -> None:
    phone.idle()
    phone.world.advance(3600 + 240)
    operator.deregister(phone.world, phone.supi)
    assert not phone.world.pages
    gone(phone, "by the operator: the UE cannot be reached")


def test_a_paging_that_is_under_way_serves_for_it() -> None:
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    operator.deregister(site.world, site.phone.supi)
    assert len(site.world.pages) == 1
    site.service_request("mobile-terminated-services")
    ue = site.world.ue()
    assert ue.network_deregistration is not None
    assert ue.paging is None
    assert "T3522" in ue.timers


# 5.5.2.3.5


def test_a_t3522(phone: Phone) -> None:
    asked(phone)
    phone.world.advance(4 * 6 + 5)
    assert [m[MESSAGE] for m in phone.hear()] == [REQUEST] * 4
    assert phone.world.ue().registered
    phone.world.advance(2)
    assert [m[MESSAGE] for m in phone.hear()] == [RELEASE]
    phone.ngap("UEContextReleaseComplete")
    gone(phone, "by the operator: T3522 expired for the fifth time")


def test_b_lower_layer_failure(phone: Phone) -> None:
    asked(phone)
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "radio-connection-with-ue-lost"})
    assert [m[MESSAGE] for m in phone.hear()] == [RELEASE]
    phone.ngap("UEContextReleaseComplete")
    gone(phone, "by the operator: lower layer failure")


def test_b_its_association_is_lost(phone: Phone) -> None:
    asked(phone)
    phone.world.lose()
    gone(phone, "by the operator: lower layer failure")


@pytest.mark.parametrize("switch_off", [False, True])
def test_c_the_ue_deregisters(phone: Phone, *, switch_off: bool) -> None:
    asked(phone)
    phone.say(phone.deregistration(switch_off=switch_off))
    heard = [m[MESSAGE] for m in phone.hear()]
    answer = [] if switch_off else ["deregistration-accept-ue-originating"]
    assert heard == [*answer, RELEASE]
    phone.say({MESSAGE: "deregistration-accept-ue-terminated"})
    phone.ngap("UEContextReleaseComplete")
    gone(phone, "UE switched off" if switch_off else "requested by the UE")


def test_d_an_initial_registration() -> None:
    site = Site()
    site.establish()
    phone = site.phone
    asked(phone)
    phone.say(phone.request())
    assert phone.world.ue().network_deregistration is None
    phone.finish()
    site.upfs.serve()
    ue = site.world.ue()
    assert ue.registered
    assert ue.sessions == ()
    events = [e for s in site.world.steps[f"ue/{phone.supi}"] for e in s.events]
    assert any(isinstance(e, NetworkDeregistrationAborted) for e in events)
    phone.world.advance(60)
    (modification,) = phone.hear()
    index = modification["CoreNetworkAssistanceInformationForInactive"]["uEIdentityIndexValue"]
    assert ue.tmsi is not None
    assert index["indexLength10"] == f"{ue.tmsi % 1024 << 6:04x}", "of the new 5G-GUTI"
    assert site.world.ue().registered
    site.world.verify()


def test_d_an_unproved_initial_registration_changes_nothing(phone: Phone) -> None:
    asked(phone)
    impostor = Phone(phone.world)
    impostor.ran_id = 99
    impostor.initial(wire.nas_encode(impostor.request()))
    impostor.hear()
    impostor.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    impostor.hear()
    impostor.ngap("UEContextReleaseComplete")
    phone.say({MESSAGE: "deregistration-accept-ue-terminated"})
    assert phone.hear()[-1][MESSAGE] == RELEASE
    phone.ngap("UEContextReleaseComplete")
    gone(phone)


@pytest.mark.parametrize(
    "kind", ["mobility-registration-updating", "periodic-registration-updating"]
)
def test_e_an_update_is_ignored(phone: Phone, kind: str) -> None:
    asked(phone)
    phone.say(phone.request(kind))
    assert phone.hear() == []
    phone.say({MESSAGE: "deregistration-accept-ue-terminated"})
    assert phone.hear()[-1][MESSAGE] == RELEASE
    phone.ngap("UEContextReleaseComplete")
    gone(phone)


def test_e_an_update_goes_on_where_the_cause_is_of_the_place(phone: Phone) -> None:
    request = asked(phone, cause=12)
    assert request["5gmm-cause"] == "tracking-area-not-allowed"
    phone.say(phone.request("mobility-registration-updating"))
    phone.finish()
    assert phone.world.ue().registered
    assert phone.world.timers() == set()
    phone.world.verify()


def test_e_an_idle_ue_that_comes_for_an_update_is_asked_at_once(phone: Phone) -> None:
    phone.idle()
    operator.deregister(phone.world, phone.supi)
    phone.open_again(phone.request("periodic-registration-updating"))
    phone.leave()
    assert phone.hear()[-1][MESSAGE] == RELEASE
    phone.ngap("UEContextReleaseComplete")
    gone(phone)


def test_f_a_service_request_is_not_answered(phone: Phone) -> None:
    asked(phone)
    phone.say(phone.service_request())
    assert phone.hear() == []
    phone.say({MESSAGE: "deregistration-accept-ue-terminated"})
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    gone(phone)


def test_f_a_service_request_on_a_new_connection_has_it_sent_again(phone: Phone) -> None:
    asked(phone)
    old = phone.ran_id
    phone.open_again(phone.service_request())
    heard = phone.hear()
    assert [m[MESSAGE] for m in heard] == [RELEASE, REQUEST]
    assert heard[0]["UE-NGAP-IDs"]["uE-NGAP-ID-pair"]["rAN-UE-NGAP-ID"] == old
    phone.say({MESSAGE: "deregistration-accept-ue-terminated"})
    assert not phone.world.ue().registered


def test_a_deregistration_accept_without_a_request_is_noted(phone: Phone) -> None:
    phone.say({MESSAGE: "deregistration-accept-ue-terminated"})
    assert phone.hear() == []
    assert phone.world.ue().registered


def test_it_waits_for_an_authentication(phone: Phone) -> None:
    """The UE returns without its keys: it is authenticated first, and then deregistered."""
    phone.idle()
    operator.deregister(phone.world, phone.supi)
    phone.security, phone.ngksi, phone.ran_id = None, 7, 9
    request = phone.request("mobility-registration-updating")
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.secure(request)
    phone.leave()
    assert phone.hear()[-1][MESSAGE] == RELEASE
    phone.ngap("UEContextReleaseComplete")
    gone(phone)
