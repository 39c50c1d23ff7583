"""Abnormal cases of registration on the network side (TS 24.501 5.5.1.2.8, 5.5.1.3.8)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.cloudevents import EventType, SubscriptionChanged
from schemas.gmm.events import Deregistered, RegistrationAborted, RegistrationStarted
from tests.functions import operator
from tests.functions.checked import CheckedWorld
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import EMERGENCY, NETWORK, SLICE, subscriber

MESSAGE = "message-type"
MOBILITY, PERIODIC = "mobility-registration-updating", "periodic-registration-updating"
UNKNOWN: Any = {
    "plmn": "001-01",
    "amf-region-id": 1,
    "amf-set-id": 1,
    "amf-pointer": 0,
    "tmsi": 5,
}
"""A 5G-GUTI of this core that no UE has."""
SECOND = [{"sst": 1, "sd": "010203"}]


def fresh(**network: Any) -> Phone:
    world = CheckedWorld(subscriber(1), subscriber(2), network=replace(NETWORK, **network))
    return Phone(world)


def registered(**network: Any) -> Phone:
    phone = fresh(**network)
    phone.register()
    phone.hear()
    return phone


def started(phone: Phone) -> int:
    """Return the number of started registrations."""
    steps = phone.world.steps[f"ue/{phone.supi}"]
    return sum(isinstance(e, RegistrationStarted) for step in steps for e in step.events)


def aborted(phone: Phone) -> list[str]:
    steps = phone.world.steps[f"ue/{phone.supi}"]
    return [e.reason for s in steps for e in s.events if isinstance(e, RegistrationAborted)]


def accepted(phone: Phone, kind: str = MOBILITY, **more: Any) -> dict[str, Any]:
    """Send a request that needs no authentication, and return the accept without completing it."""
    phone.say(phone.request(kind, **more))
    accept = phone.hear()[-1]
    assert accept[MESSAGE] == "registration-accept", accept
    return accept


def _type(kind: Any) -> Any:
    """Return the 5GS registration type of a request."""
    return {"5gs-registration-type": kind}


# a) to i) of 5.5.1.2.8


@pytest.mark.parametrize("new", [False, True])
def test_a_lower_layer_failure_before_the_complete(*, new: bool) -> None:
    """Both 5G-GUTIs lead to the UE until it has used one (5.5.1.2.8 a, 5.5.1.3.8 a)."""
    phone = registered()
    before = phone.guti
    accept = accepted(phone)
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "radio-connection-with-ue-lost"})
    phone.ngap("UEContextReleaseComplete")
    ue = phone.world.ue()
    assert (ue.connection, ue.registration, ue.registered) == (None, None, True)
    assert ue.tmsi_pending
    assert before is not None
    assert {ue.tmsi, ue.old_tmsi} == {before["tmsi"], accept["5g-guti"]["guti"]["tmsi"]}
    phone.guti = accept["5g-guti"]["guti"] if new else before
    phone.open_again(phone.request(MOBILITY), ran_id=20)
    assert phone.finish()[MESSAGE] == "registration-accept"
    assert not phone.world.ue().tmsi_pending
    phone.world.verify()


@pytest.mark.parametrize("cut", [1, 3])
def test_b_protocol_error(cut: int) -> None:
    """A request that cannot be decoded is rejected with the cause of clause 7."""
    phone = fresh()
    request = wire.nas_encode(phone.request())
    phone.initial(request[: 4 + cut])
    reject, release = phone.hear()
    assert reject[MESSAGE] == "registration-reject"
    assert reject["5gmm-cause"] == "invalid-mandatory-information"
    assert release[MESSAGE] == "UEContextReleaseCommand"


def test_c_t3550_time_out() -> None:
    """The accept is repeated four times; then both 5G-GUTIs are valid, and the UE is registered."""
    phone = registered()
    accepted(phone)
    phone.world.advance(40)
    heard = [m[MESSAGE] for m in phone.hear()]
    assert heard.count("registration-accept") == 4
    assert "UEContextReleaseCommand" in heard
    ue = phone.world.ue()
    assert (ue.registration, ue.registered, ue.tmsi_pending) == (None, True, True)
    phone.world.verify()


@pytest.mark.parametrize("kind", ["initial-registration", MOBILITY])
def test_d_after_the_accept_a_different_request_restarts_the_registration(kind: str) -> None:
    phone = registered()
    first = accepted(phone)
    second = accepted(phone, kind, **{"requested-nssai": SECOND})
    assert second["5g-guti"] != first["5g-guti"]
    assert aborted(phone) == ["another REGISTRATION REQUEST"]
    assert started(phone) == 3
    phone.say({MESSAGE: "registration-complete"})
    ue = phone.world.ue()
    assert (ue.registration, ue.tmsi_pending) == (None, False)
    phone.world.verify()


def test_d_after_the_accept_the_same_request_gets_the_accept_again() -> None:
    """T3550 is restarted, and its counter does not change."""
    phone = registered()
    first = accepted(phone)
    phone.world.advance(6.1)
    phone.hear()
    assert phone.world.ue().timers["T3550"].count == 1
    phone.world.advance(3)
    second = accepted(phone)
    assert second["5g-guti"] == first["5g-guti"]
    timer = phone.world.ue().timers["T3550"]
    assert (timer.count, timer.at) == (1, phone.world.now + 6000)
    assert started(phone) == 2
    phone.world.verify()


def test_e_before_the_accept_the_same_request_is_ignored_and_another_restarts() -> None:
    phone = fresh()
    request = wire.nas_encode(phone.request())
    phone.initial(request)
    phone.hear()
    phone.uplink(request)
    assert phone.hear() == []
    phone.requested = SECOND
    tree = phone.request()
    phone.uplink(wire.nas_encode(tree))
    assert aborted(phone) == ["another REGISTRATION REQUEST"]
    phone.authenticate()
    accept = phone.secure(tree)
    assert accept["allowed-nssai"] == SECOND
    phone.world.verify()


def test_f_initial_registration_of_a_ue_that_is_registered_ends_its_sessions() -> None:
    """After the UE is authenticated, and not before."""
    site = Site()
    site.establish()
    phone = site.phone
    again = Phone(site.world)
    again.ran_id, again.sqn = 50, phone.sqn
    request = again.request()
    again.initial(wire.nas_encode(request))
    assert [s.stage for s in site.world.ue().sessions] == ["active"]
    again.authenticate()
    assert [s.stage for s in site.world.ue().sessions] == ["active"]
    again.secure(request)
    site.upfs.serve()
    assert site.world.ue().sessions == ()
    assert site.upfs.rules == 0
    site.world.verify()


@pytest.mark.parametrize("kind", [MOBILITY, PERIODIC])
def test_g_an_update_before_the_complete_of_an_initial_registration(kind: str) -> None:
    """The UE has the accept but has not completed it: its update is processed."""
    phone = fresh()
    tree = phone.request()
    phone.initial(wire.nas_encode(tree))
    phone.authenticate()
    phone.hear()
    complete = {MESSAGE: "security-mode-complete", "nas-message-container": dict(tree)}
    phone.say(complete, header=4)
    accept = phone.hear()[-1]
    phone.guti = accept["5g-guti"]["guti"]
    accepted(phone, kind)
    phone.say({MESSAGE: "registration-complete"})
    ue = phone.world.ue()
    assert (ue.registered, ue.registration, ue.tmsi_pending) == (True, None, False)
    phone.world.verify()


@pytest.mark.parametrize("switch_off", [False, True])
@pytest.mark.parametrize("accept", [False, True])
def test_h_deregistration_before_the_complete(*, accept: bool, switch_off: bool) -> None:
    """The registration is aborted, and the deregistration continues."""
    phone = registered()
    if accept:
        accepted(phone)
    else:
        phone.say(phone.request(MOBILITY, ngksi="no-key"))
        phone.hear()
    phone.say(phone.deregistration(switch_off=switch_off))
    ue = phone.world.ue()
    assert (ue.registered, ue.registration, ue.challenge) == (False, None, None)
    heard = [m[MESSAGE] for m in phone.hear()]
    assert ("deregistration-accept-ue-originating" in heard) != switch_off
    assert ue.timers.keys() == {"ng-release"}
    phone.world.verify()


@pytest.mark.parametrize("octets", ["0000", "e000", "00e0"])
def test_i_security_capabilities_that_nothing_can_be_chosen_from(octets: str) -> None:
    phone = fresh()
    phone.capability = {"octets": octets}
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    assert phone.hear()[0]["5gmm-cause"] == "ue-security-capabilities-mismatch"


# On two connections


def test_registration_during_registration_on_another_connection() -> None:
    """The UE lost its first connection and sends the request again: the second connection
    counts."""
    phone = fresh()
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.hear()
    phone.ran_id = 9
    phone.initial(wire.nas_encode(request))
    assert len(phone.world.ue().parked) == 1
    phone.authenticate()
    phone.secure(request)
    ue = phone.world.ue()
    assert ue.connection is not None
    assert (ue.connection.ran_ue_ngap_id, ue.parked, ue.registered) == (9, (), True)
    assert all(c.releasing for c in ue.stale)
    phone.world.verify()


def test_an_update_on_another_connection_during_an_update() -> None:
    phone = registered()
    accept = accepted(phone)
    phone.guti = accept["5g-guti"]["guti"]
    phone.open_again(phone.request(MOBILITY))
    phone.finish()
    ue = phone.world.ue()
    assert ue.connection is not None
    assert (ue.connection.ran_ue_ngap_id, ue.registration) == (9, None)
    assert aborted(phone) == ["the UE has a new connection"]
    phone.world.verify()


# Updates


def test_an_update_in_connected_mode_with_uplink_data_and_session_status() -> None:
    """5.5.1.3.4: sessions that the UE does not have are released; those with uplink data are
    activated."""
    site = Site()
    site.establish(1)
    site.establish(2)
    phone = site.phone
    status = {"pdu-session-status": [1], "uplink-data-status": [1]}
    phone.say(phone.request(MOBILITY, **status))
    accept = phone.hear()[-1]
    assert accept["pdu-session-status"] == [1]
    assert accept["pdu-session-reactivation-result"] == []
    site.upfs.serve()
    assert [s.id for s in site.world.ue().sessions] == [1]
    site.world.verify()


def test_a_ue_outside_of_its_tai_list_gets_another() -> None:
    phone = fresh()
    phone.tac, phone.requested = 2, [{"sst": 2}]
    accept = phone.register()
    assert accept["tai-list"] == [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [2]}}]
    phone.idle()
    phone.tac, phone.requested = 1, None
    phone.open_again(phone.request(MOBILITY))
    accept = phone.finish()
    assert accept["tai-list"] == [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [1, 2]}}]
    assert phone.world.ue().allowed_nssai == (SLICE,)
    phone.world.verify()


@pytest.mark.parametrize("kind", [MOBILITY, PERIODIC])
def test_an_update_of_a_ue_that_is_deregistered_is_cause_10(kind: str) -> None:
    phone = registered()
    phone.say(phone.deregistration())
    phone.ngap("UEContextReleaseComplete")
    phone.hear()
    phone.open_again(phone.request(kind))
    assert phone.hear()[0]["5gmm-cause"] == "implicitly-deregistered"
    phone.world.verify()


def test_a_periodic_update_of_an_unknown_ue_is_cause_9() -> None:
    phone = fresh()
    phone.guti = UNKNOWN
    phone.initial(wire.nas_encode(phone.request(PERIODIC)))
    assert phone.hear()[0]["5gmm-cause"] == "ue-identity-cannot-be-derived-by-the-network"
    phone.initial(wire.nas_encode(phone.request(MOBILITY)))
    assert phone.hear()[-1][MESSAGE] == "identity-request", "it may come from another AMF"


def test_a_mobility_update_of_an_unknown_ue_without_its_capability_is_cause_9() -> None:
    """8.2.6.4 wants the IE. #9 lets the UE register at once, and #96 only after T3502."""
    phone = fresh()
    phone.guti = UNKNOWN
    request = phone.request(MOBILITY)
    del request["ue-security-capability"]
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "ue-identity-cannot-be-derived-by-the-network"


def test_a_periodic_update_without_a_valid_mac_uses_the_stored_capability() -> None:
    """4.4.4.3: the UE is authenticated. The command repeats the capability it sent before."""
    phone = registered()
    phone.idle()
    assert phone.security is not None
    request = phone.request(PERIODIC)
    assert "ue-security-capability" not in request
    phone.ran_id = 9
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    command = phone.hear()[-1]
    assert command["replayed-ue-security-capabilities"] == {"ea": [0, 1, 2], "ia": [0, 1, 2]}
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    assert phone.finish()[MESSAGE] == "registration-accept"
    phone.world.verify()


def test_a_periodic_update_keeps_the_allowed_nssai() -> None:
    """5.5.1.3.2: it has no requested NSSAI, and so it does not ask for the default slices."""
    phone = fresh()
    phone.tac, phone.requested = 2, [{"sst": 2}]
    assert phone.register()["allowed-nssai"] == [{"sst": 2}]
    phone.idle()
    phone.open_again(phone.request(PERIODIC))
    accept = phone.finish()
    assert accept["allowed-nssai"] == [{"sst": 2}]
    assert "rejected-nssai" not in accept
    phone.world.verify()


def test_a_radio_capability_that_is_another_is_forgotten() -> None:
    """5.5.1.3.4, NG-RAN-RCU: the gNB gets no capability, and requests it from the UE."""
    phone = registered()
    phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="0102")
    assert phone.world.ue().radio_capability == b"\x01\x02"
    accepted(phone, MOBILITY)
    phone.say({MESSAGE: "registration-complete"})
    assert phone.world.ue().radio_capability == b"\x01\x02"
    accepted(phone, MOBILITY, **{"5gs-update-type": {"octets": "02"}})
    assert phone.world.ue().radio_capability == b""
    phone.world.verify()


@pytest.mark.parametrize("follow_on", [False, True])
def test_a_connection_stays_after_a_registration(*, follow_on: bool) -> None:
    """5.5.1.2.4: with a follow-on request it is not released at once; without one, the gNB releases
    it."""
    phone = fresh()
    kind: Any = {"registration-type": "initial-registration", "follow-on-request": follow_on}
    phone.register(**_type(kind))
    here = phone.world.ue().connection
    assert here is not None
    assert not here.releasing


# Types of registration


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("disaster-roaming-initial-registration", 80),
        ("disaster-roaming-mobility-registration-updating", 80),
        ("snpn-onboarding-registration", 111),
        ("emergency-registration", 111),
    ],
)
def test_types_that_the_network_does_not_have(kind: str, cause: int) -> None:
    phone = fresh()
    phone.initial(wire.nas_encode(phone.request(kind)))
    reject = wire.nas_decode(wire.nas_encode({MESSAGE: "registration-reject", "5gmm-cause": cause}))
    assert phone.hear()[0]["5gmm-cause"] == reject["5gmm-cause"]


def test_emergency_registration_where_it_is_configured() -> None:
    """An authenticated UE, even if its subscription is barred (5.5.1.2.4)."""
    phone = fresh(emergency_services=EMERGENCY)
    phone.world.subscribers[phone.supi] = subscriber(1, barred=True)
    kind: Any = {"registration-type": "emergency-registration", "follow-on-request": False}
    accept = phone.register(**_type(kind))
    assert accept["5gs-registration-result"]["emergency-registered"]
    assert accept["5gs-network-feature-support"]["emc"] == "nr-only"
    assert phone.world.ue().emergency
    phone.idle()
    phone.open_again(phone.request(MOBILITY))
    assert phone.finish()["5gs-registration-result"]["emergency-registered"]
    other = fresh(emergency_services=EMERGENCY)
    other.world.subscribers[other.supi] = subscriber(1, barred=True)
    request = other.request()
    other.initial(wire.nas_encode(request))
    other.authenticate()
    other.hear()
    other.say({MESSAGE: "security-mode-complete"}, 4)
    assert other.hear()[0]["5gmm-cause"] == "5gs-services-not-allowed"


def test_emergency_registration_without_a_slice_that_is_allowed() -> None:
    phone = fresh(emergency_services=EMERGENCY)
    phone.world.subscribers[phone.supi] = subscriber(1, slices=())
    kind: Any = {"registration-type": "emergency-registration", "follow-on-request": False}
    phone.register(**_type(kind))
    assert phone.world.ue().allowed_nssai == (SLICE,)
    assert phone.world.ue().emergency
    assert phone.hear() == []  # and no request to register for another allowed NSSAI
    phone.world.verify()


def test_emergency_registration_in_the_container_alone() -> None:
    """If it is not configured, it is also refused in the complete request."""
    phone = fresh()
    phone.world.subscribers[phone.supi] = subscriber(1, barred=True)
    kind: Any = {"registration-type": "emergency-registration", "follow-on-request": False}
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    whole = phone.request(**_type(kind))
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": whole}, 4)
    reject = phone.hear()[0]
    assert (reject[MESSAGE], reject["5gmm-cause"]) == (
        "registration-reject",
        "protocol-error-unspecified",
    )
    assert not phone.world.ue().registered
    phone.world.verify()


def test_an_emergency_registration_outlives_a_change_of_a_barred_subscription() -> None:
    phone = fresh(emergency_services=EMERGENCY)
    phone.world.subscribers[phone.supi] = subscriber(1, barred=True)
    kind: Any = {"registration-type": "emergency-registration", "follow-on-request": False}
    phone.register(**_type(kind))
    operator.tell(phone.world, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(2), phone.supi)
    assert phone.hear() == []
    assert phone.world.ue().registered
    phone.world.verify()


def test_a_type_without_a_meaning_is_an_initial_registration() -> None:
    """9.11.3.7."""
    phone = fresh()
    kind: Any = {"registration-type": 0, "follow-on-request": False}
    assert phone.register(**_type(kind))[MESSAGE] == "registration-accept"


# 5GMM STATUS


@pytest.mark.parametrize("when", ["challenged", "securing", "accepted", "registered"])
def test_a_5gmm_status_changes_nothing(when: str) -> None:
    """5.4.6: the reaction of the network is implementation specific; the core does nothing."""
    phone = fresh() if when in ("challenged", "securing") else registered()
    if when in ("challenged", "securing"):
        phone.initial(wire.nas_encode(phone.request()))
    if when == "securing":
        phone.authenticate()
    if when == "accepted":
        accepted(phone)
    before = phone.world.ue()
    phone.hear()
    phone.say({MESSAGE: "5gmm-status", "5gmm-cause": 111}, 2 if when != "challenged" else 0)
    after = phone.world.ue()
    assert (after.registration, after.challenge) == (before.registration, before.challenge)
    assert after.registered == before.registered
    assert phone.hear() == []
    steps = phone.world.steps[f"ue/{phone.supi}"]
    assert not any(isinstance(e, Deregistered) for step in steps for e in step.events)
    phone.world.verify()
