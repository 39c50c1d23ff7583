"""The service request procedure (TS 24.501 5.6.1)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.gmm.events import Deregistered
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.world import World

RELEASE = "UEContextReleaseCommand"
TYPES = (
    "signalling",
    "data",
    "mobile-terminated-services",
    "emergency-services",
    "high-priority-access",
    "elevated-signalling",
)


@pytest.fixture
def phone() -> Phone:
    found = Phone(World())
    ng_setup(found.world)
    found.register()
    found.hear()
    return found


@pytest.fixture
def site() -> Site:
    found = Site()
    found.establish()
    return found


def resubscribe(phone: Phone, **changes: Any) -> None:
    one = phone.world.subscribers[phone.supi]
    phone.world.subscribers[phone.supi] = replace(one, **changes)


@pytest.mark.parametrize("kind", TYPES)
def test_every_service_type_is_served(phone: Phone, kind: str) -> None:
    phone.idle()
    phone.open_again(phone.service_request(kind))
    (accept,) = phone.hear()
    assert (accept[MESSAGE], accept["ngap"]) == ("service-accept", "InitialContextSetupRequest")
    assert phone.world.ue().registered
    phone.world.verify()


def test_one_that_names_mobile_terminated_services_has_another_guti(phone: Phone) -> None:
    """It may answer a paging that this core has forgotten (TS 33.501 6.12.3)."""
    phone.idle()
    phone.open_again(phone.service_request("mobile-terminated-services"))
    phone.hear()
    phone.ngap("InitialContextSetupResponse")
    assert "5g-guti" in phone.update()


@pytest.mark.parametrize("psis", [[1], []])
def test_in_connected_mode_the_user_plane_comes_up(site: Site, psis: list[int]) -> None:
    transfer = {"cause": {"radioNetwork": "user-inactivity"}}
    item = {"pDUSessionID": 1, "pDUSessionResourceNotifyReleasedTransfer": transfer}
    site.phone.ngap("PDUSessionResourceNotify", PDUSessionResourceReleasedListNot=[item])
    site.upfs.serve()
    assert site.session().user_plane == "off"
    site.phone.say(site.phone.service_request("data", **{"uplink-data-status": psis}))
    heard = site.hear()
    assert heard[0][MESSAGE] == "service-accept"
    assert heard[0]["ngap"] == "DownlinkNASTransport"
    assert heard[0]["pdu-session-reactivation-result"] == []
    assert [m[MESSAGE] for m in heard[1:]] == ["PDUSessionResourceSetupRequest"] * len(psis)
    site.world.verify()


def test_a_session_that_is_not_there_is_not_reactivated(site: Site) -> None:
    site.idle()
    accept = site.service_request("data", **{"uplink-data-status": [1, 5]})[-1]
    assert accept["pdu-session-reactivation-result"] == [5]


def test_an_allowed_pdu_session_status_changes_nothing(site: Site) -> None:
    """There are no sessions of another access to transfer."""
    site.idle()
    accept = site.service_request("signalling", **{"allowed-pdu-session-status": [1]})[-1]
    assert "pdu-session-reactivation-result" not in accept
    assert site.session().user_plane == "off"


def test_what_the_ue_does_not_have_is_released(site: Site) -> None:
    site.idle()
    accept = site.service_request("signalling", **{"pdu-session-status": []})[-1]
    site.upfs.serve()
    assert accept["pdu-session-status"] == []
    assert site.upfs.rules == 0


@pytest.mark.parametrize("octets", ["0200", "0300", "0200" + "00" * 30, "0200" + "ff" * 2])
def test_spare_bits_of_a_status_are_ignored(site: Site, octets: str) -> None:
    """The IEs have up to 32 octets (9.11.3.44, 9.11.3.57)."""
    site.idle()
    status = {"octets": octets}
    accept = site.service_request(
        "data", **{"uplink-data-status": status, "pdu-session-status": status}
    )[-1]
    assert accept["pdu-session-status"] == [1]
    assert accept["pdu-session-reactivation-result"] == []
    assert site.session().user_plane == "requested"
    site.world.verify()


# 4.4.6


def test_the_outside_of_an_initial_message_has_cleartext_ies_alone(site: Site) -> None:
    """The ciphered IEs in the container count."""
    site.idle()
    site.phone.ran_id += 1
    whole = site.phone.service_request("data", **{"uplink-data-status": [1]})
    security = site.phone.security
    assert security is not None
    sent = security.protect_initial(wire.nas_encode(whole))
    outside = wire.nas_decode(sent[7:])
    assert set(outside) == {
        MESSAGE,
        "ngksi",
        "service-type",
        "5g-s-tmsi",
        "nas-message-container",
    }
    site.phone.initial(sent)
    site.upfs.serve()
    accept = site.hear()[-1]
    assert accept["pdu-session-reactivation-result"] == []
    assert site.session().user_plane == "requested"


def test_one_without_other_ies_needs_no_container(phone: Phone) -> None:
    phone.idle()
    assert phone.security is not None
    sent = phone.security.protect_initial(wire.nas_encode(phone.service_request()))
    assert "nas-message-container" not in wire.nas_decode(sent[7:])
    phone.ran_id = 9
    phone.initial(sent)
    assert phone.hear()[0][MESSAGE] == "service-accept"


def test_a_container_with_another_message_is_refused(phone: Phone) -> None:
    phone.idle()
    phone.ran_id = 9
    assert phone.security is not None
    other = wire.nas_encode(phone.deregistration(switch_off=True))
    outside = {
        **phone.service_request(),
        "nas-message-container": {"octets": other.hex()},
    }
    # NEA of this UE's context ciphers the container: the header says that the rest is plain.
    plain = wire.nas_encode(outside)
    phone.initial(phone.security.protect(plain, 1, downlink=False))
    assert phone.hear()[-1][MESSAGE] == RELEASE
    assert phone.world.ue().registered
    phone.world.verify()


# 5.6.1.5


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"barred": True}, "5gs-services-not-allowed"),
        ({"nr_allowed": False}, "n1-mode-not-allowed"),
        ({"forbidden_tacs": (1,)}, "tracking-area-not-allowed"),
    ],
)
def test_a_subscription_that_has_changed(site: Site, changes: dict[str, Any], cause: str) -> None:
    site.idle()
    resubscribe(site.phone, **changes)
    reject, release = site.service_request("signalling", **{"pdu-session-status": [1]})
    assert (reject[MESSAGE], reject["5gmm-cause"]) == ("service-reject", cause)
    assert reject["pdu-session-status"] == []
    assert release[MESSAGE] == RELEASE
    site.upfs.serve()
    ue = site.world.ue()
    assert (ue.registered, ue.sessions) == (False, ())


def test_without_a_subscription(site: Site) -> None:
    site.idle()
    del site.world.subscribers[site.phone.supi]
    reject = site.service_request()[0]
    assert reject["5gmm-cause"] == "no-suitable-cells-in-tracking-area"
    assert not site.world.ue().registered


def test_a_ue_that_is_not_registered(phone: Phone) -> None:
    phone.say(phone.deregistration())
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    phone.open_again(phone.service_request())
    reject, release = phone.hear()
    assert (reject["5gmm-cause"], reject["security"]) == ("implicitly-deregistered", 2)
    assert release[MESSAGE] == RELEASE
    phone.world.verify()


def test_outside_of_its_registration_area(phone: Phone) -> None:
    phone.idle()
    phone.tac = 9
    phone.open_again(phone.service_request())
    assert phone.hear()[0]["5gmm-cause"] == "ue-identity-cannot-be-derived-by-the-network"
    steps = phone.world.steps[f"ue/{phone.supi}"]
    assert any(isinstance(e, Deregistered) for e in steps[-1].events)


def test_without_a_valid_mac_it_deregisters_no_ue(phone: Phone) -> None:
    phone.idle()
    phone.ran_id = 9
    phone.initial(wire.nas_encode(phone.service_request()))
    reject, release = phone.hear()
    assert (reject["5gmm-cause"], reject["security"]) == (
        "ue-identity-cannot-be-derived-by-the-network",
        0,
    )
    assert release[MESSAGE] == RELEASE
    assert phone.world.ue().registered


def test_emergency_services_fallback_in_connected_mode(phone: Phone) -> None:
    """The core does not announce it to UEs. The UE stays registered and connected (5.6.1.7)."""
    phone.say(phone.service_request("emergency-services-fallback"))
    (reject,) = phone.hear()
    assert reject["5gmm-cause"] == "protocol-error-unspecified"
    assert phone.world.ue().registered
    phone.idle()
    phone.open_again(phone.service_request("emergency-services-fallback"))
    assert [m[MESSAGE] for m in phone.hear()] == ["service-reject", RELEASE]
    assert phone.world.ue().registered


def test_the_ue_wants_its_connection_released(phone: Phone) -> None:
    phone.idle()
    more = {"ue-request-type": "nas-signalling-connection-release"}
    phone.open_again(phone.service_request("signalling", **more))
    assert [m[MESSAGE] for m in phone.hear()] == ["service-accept", RELEASE]
    phone.ngap("UEContextReleaseComplete")
    assert phone.world.ue().connection is None
    phone.world.verify()


def test_two_in_a_row_are_both_answered(phone: Phone) -> None:
    """Each completes at once, so there is no ongoing one to collide with (5.6.1.8 c)."""
    phone.say(phone.service_request())
    phone.say(phone.service_request())
    assert [m[MESSAGE] for m in phone.hear()] == ["service-accept"] * 2


# CIoT


def test_a_control_plane_service_request_is_not_implemented(phone: Phone) -> None:
    """The core does not announce control plane CIoT optimization to UEs (7.4)."""
    phone.idle()
    phone.ran_id = 9
    assert phone.security is not None
    plain = bytes([0x7E, 0, 0x4F, phone.ngksi << 4])  # for mobile originating requests
    guti = phone.guti
    assert guti is not None
    s_tmsi = {"aMFSetID": 1, "aMFPointer": 0, "fiveG-TMSI": guti["tmsi"]}
    about = {"UEContextRequest": None, "FiveG-S-TMSI": s_tmsi}
    phone.initial(phone.security.protect_initial(plain), **about)
    status, release = phone.hear()
    assert status[MESSAGE] == "5gmm-status"
    assert status["5gmm-cause"] == "message-type-non-existent-or-not-implemented"
    assert release[MESSAGE] == RELEASE
    assert phone.world.ue().registered
    phone.world.verify()
