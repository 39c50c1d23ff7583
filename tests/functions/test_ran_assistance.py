"""Values that help a gNB to serve a UE: RRC INACTIVE (TS 38.413 9.3.1.15, TS 23.501 5.3.3.2.5),
paging DRX (TS 24.501 9.11.3.2A) and the RFSP index (TS 23.501 5.3.4.3)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from functions.messages.ngap import assistance
from schemas.cloudevents import EventType, SubscriptionChanged
from schemas.connection.state import Connection, Inactive
from schemas.identity import Tai
from schemas.network import Network, Timers
from tests.functions import operator
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ies_of, ng_setup
from tests.functions.handover_site import Mobile
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import NETWORK, subscriber

INACTIVE, RFSP = "CoreNetworkAssistanceInformationForInactive", "IndexToRFSP"
SETUP, MODIFICATION = "InitialContextSetupRequest", "UEContextModificationRequest"
DRX = "requested-drx-parameters"
AREA = [
    {"tAI": {"pLMNIdentity": "001-01", "tAC": 1}},
    {"tAI": {"pLMNIdentity": "001-01", "tAC": 2}},
]


def index(tmsi: int | None) -> dict[str, str]:
    """Return the UE Identity Index Value of a 5G-TMSI: 10 bits, left-aligned (TS 38.304 7.1)."""
    assert tmsi is not None
    return {"indexLength10": f"{tmsi % 1024 << 6:04x}"}


def fresh(network: Network = NETWORK, **subscription: Any) -> Phone:
    phone = Phone(CheckedWorld(subscriber(**subscription), network=network))
    ng_setup(phone.world)
    return phone


def setup_of(phone: Phone, **request: Any) -> dict[str, Any]:
    """Register without a context; return the IEs of the INITIAL CONTEXT SETUP REQUEST."""
    tree = phone.request(**request)
    phone.initial(wire.nas_encode(tree))
    phone.authenticate()
    command = phone.hear()[-1]
    assert command["message-type"] == "security-mode-command"
    complete = {"message-type": "security-mode-complete", "nas-message-container": tree}
    phone.say(complete, header=4)
    (_, _, pdu) = phone.world.downlink[-1]
    context = wire.ngap_decode(pdu)
    assert context["message"] == SETUP
    phone.finish()
    phone.hear()
    return ies_of(context)


# RRC INACTIVE


def test_a_context_has_it() -> None:
    phone = fresh()
    context = setup_of(phone)
    assert phone.guti is not None
    assert context[INACTIVE] == {
        "uEIdentityIndexValue": index(phone.guti["tmsi"]),
        "periodicRegistrationUpdateTimer": "06",  # an hour, as T3512
        "tAIListForInactive": AREA,
    }
    assert list(context).index(INACTIVE) < list(context).index("GUAMI"), "9.2.2.1"
    phone.world.verify()


@pytest.mark.parametrize(
    ("seconds", "octet"),
    [(2, 0x61), (62, 0x7F), (90, 0x83), (960, 0xB0), (3600, 0x06), (7200, 0x0C), (36_000, 0x2A)],
)
def test_the_periodic_registration_timer(seconds: int, octet: int) -> None:
    """A GPRS timer 3 (9.3.3.24, TS 24.008 10.5.7.4a)."""
    units = (600, 3600, 36_000, 2, 30, 60)
    told = Inactive(5, 0, seconds, (Tai("001-01", 1),))
    here = Connection("g", "a", 1, 1, 0, Tai("001-01", 1), inactive=told)
    (ie,) = assistance.inactive_ies(here)
    value = int(ie[INACTIVE]["periodicRegistrationUpdateTimer"], 16)
    assert units[value >> 5] * (value & 31) == seconds == units[octet >> 5] * (octet & 31)


def test_an_update_on_the_same_connection_modifies_it() -> None:
    """8.3.4.2: once the UE has confirmed its new 5G-GUTI, the gNB pages by its index."""
    phone = fresh()
    setup_of(phone)
    phone.say(phone.request("mobility-registration-updating"))
    accept = phone.hear()[-1]
    assert accept["message-type"] == "registration-accept"
    assert phone.world.sent() == []
    phone.guti = accept["5g-guti"]["guti"]
    phone.say({"message-type": "registration-complete"})
    (modification,) = phone.world.sent()
    assert modification["message"] == MODIFICATION
    assert phone.guti is not None
    told = ies_of(modification)[INACTIVE]
    assert told["uEIdentityIndexValue"] == index(phone.guti["tmsi"])
    phone.ngap("UEContextModificationFailure", Cause={"radioNetwork": "unspecified"})
    assert phone.world.sent() == [], "it is not sent again"
    assert phone.world.ue().connection is not None
    phone.world.verify()


def test_a_paged_ue_needs_no_modification() -> None:
    """The context setup has the index of the 5G-GUTI that the UE gets next (TS 33.501 6.12.3)."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    (context,) = site.service_request("mobile-terminated-services")
    del context
    here = site.world.ue().connection
    assert here is not None
    assert here.inactive is not None
    site.set_up("InitialContextSetup")
    command = site.phone.update()
    assert here.inactive.identity_index == command["5g-guti"]["guti"]["tmsi"] % 1024
    assert site.hear() == []
    site.world.verify()


def test_the_target_of_a_handover_gets_it() -> None:
    site = Mobile()
    tmsi = site.world.ue().tmsi
    site.handover_required(2)
    request = site.one("a2", "HandoverRequest")
    assert request[INACTIVE]["uEIdentityIndexValue"] == index(tmsi)
    assert request[INACTIVE]["tAIListForInactive"] == AREA
    assert list(request).index(INACTIVE) + 1 == list(request).index("UESecurityCapabilities")


def test_a_path_switch_is_acknowledged_with_it() -> None:
    """8.4.4.2: the gNBs do not exchange it."""
    site = Mobile()
    site.path_switch_request(2, 21)
    site.upfs.serve()
    acknowledge = site.one("a2", "PathSwitchRequestAcknowledge")
    assert acknowledge[INACTIVE]["uEIdentityIndexValue"] == index(site.world.ue().tmsi)
    here = site.world.ue().connection
    assert here is not None
    assert here.inactive is not None
    site.world.verify()


# DRX


@pytest.mark.parametrize(
    ("requested", "negotiated", "paging"),
    [
        ("cycle32", "cycle32", "v32"),
        ("cycle256", "cycle256", "v256"),
        ("not-specified", "not-specified", None),
        ({"octets": "0f"}, "not-specified", None),
        (None, None, None),
    ],
)
def test_the_requested_drx(
    requested: str | dict[str, str] | None, negotiated: str | None, paging: str | None
) -> None:
    """TS 24.501 5.5.1.2.4: the accept has the negotiated DRX if the UE requested one."""
    phone = fresh()
    more: dict[str, Any] = {} if requested is None else {DRX: requested}
    tree = phone.request(**more)
    phone.initial(wire.nas_encode(tree))
    phone.authenticate()
    accept = phone.secure(tree)
    assert accept.get("negotiated-drx-parameters") == negotiated
    here = phone.world.ue().connection
    assert here is not None
    (ie,) = assistance.inactive_ies(here)
    assert ie[INACTIVE].get("uESpecificDRX") == paging
    phone.world.verify()


def test_paging_has_the_negotiated_drx() -> None:
    site = Site()
    address = site.establish()
    phone = site.phone
    phone.say(phone.request("mobility-registration-updating", **{DRX: "cycle64"}))
    phone.finish()
    phone.ngap("UEContextModificationResponse")
    site.idle()
    site.upfs.downlink_data(address)
    paging = ies_of(wire.ngap_decode(site.world.pages[-1][2]))
    assert paging["PagingDRX"] == "v64"
    assert list(paging) == ["UEPagingIdentity", "PagingDRX", "TAIListForPaging"]


def test_an_update_without_drx_keeps_it_and_an_initial_registration_does_not() -> None:
    phone = fresh()
    setup_of(phone, **{DRX: "cycle64"})
    phone.say(phone.request("periodic-registration-updating"))
    phone.finish()
    assert phone.world.ue().drx == 64
    phone.say(phone.request())
    phone.finish()
    assert phone.world.ue().drx == 0


# RFSP


def test_the_subscribed_index_wins() -> None:
    network = replace(NETWORK, rfsp=9)
    context = setup_of(fresh(network, rfsp=5))
    assert context[RFSP] == 5
    assert setup_of(fresh(network))[RFSP] == 9
    assert RFSP not in setup_of(fresh())
    names = [name for name in context if name in ("UERadioCapability", RFSP, "NAS-PDU")]
    assert names == [RFSP, "NAS-PDU"]


def test_a_changed_index_modifies_the_context() -> None:
    """8.3.4.2."""
    phone = fresh(rfsp=5)
    setup_of(phone)
    one = phone.world.subscribers[phone.supi]
    phone.world.subscribers[phone.supi] = replace(one, rfsp=256)
    operator.tell(phone.world, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(2), phone.supi)
    (modification,) = phone.world.sent()
    assert modification["message"] == MODIFICATION
    assert ies_of(modification) == {
        "AMF-UE-NGAP-ID": phone.amf_id,
        "RAN-UE-NGAP-ID": phone.ran_id,
        RFSP: 256,
    }
    phone.ngap("UEContextModificationResponse")
    assert phone.world.sent() == []


def test_an_accept_without_a_context_has_the_index() -> None:
    """8.6.2.2: in DOWNLINK NAS TRANSPORT."""
    phone = fresh(rfsp=5)
    phone.initial(wire.nas_encode(phone.request()), UEContextRequest=None)
    phone.authenticate()
    phone.hear()
    complete = {"message-type": "security-mode-complete", "nas-message-container": phone.request()}
    phone.say(complete, header=4)
    (accept,) = phone.world.sent()
    assert (accept["message"], ies_of(accept)[RFSP]) == ("DownlinkNASTransport", 5)
    phone.world.verify()


def test_t3512_of_the_configuration() -> None:
    context = setup_of(fresh(replace(NETWORK, timers=Timers(t3512=60))))
    assert context[INACTIVE]["periodicRegistrationUpdateTimer"] in ("82", "7e", "a1")
