"""The Mobility Restriction List of a UE at its gNB (TS 38.413 8.3.1.2, 8.6.2.2, 9.3.1.85, TS 23.501
5.3.4.1)."""

from typing import Any

from msgspec.structs import replace

import wire
from functions.messages.ngap import assistance
from schemas.cloudevents import EventType, SubscriptionChanged
from schemas.connection.state import Restrictions
from schemas.identity import Tai
from schemas.network import EmergencyServices, Network, TrackingArea
from tests.functions import operator
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ies_of, ng_setup
from tests.functions.phone import Phone
from tests.functions.world import NETWORK, SLICE, subscriber

SERVICES = EmergencyServices("sos", SLICE)
LIST, TRANSPORT, SETUP = (
    "MobilityRestrictionList",
    "DownlinkNASTransport",
    "InitialContextSetupRequest",
)
FORBIDDEN = {
    "servingPLMN": "001-01",
    "forbiddenAreaInformation": [{"pLMNIdentity": "001-01", "forbiddenTACs": [2, 77]}],
}


def arrived(tacs: tuple[int, ...] = (), network: Network = NETWORK, **more: Any) -> Phone:
    """Return a UE that has sent everything but REGISTRATION COMPLETE."""
    phone = Phone(CheckedWorld(subscriber(forbidden_tacs=tacs), network=network))
    ng_setup(phone.world)
    tree = phone.request()
    phone.initial(wire.nas_encode(tree), **more)
    phone.authenticate()
    command = phone.hear()[-1]
    assert command["message-type"] == "security-mode-command"
    complete = {
        "message-type": "security-mode-complete",
        "imeisv": {"imeisv": "4370816125816151"},
        "nas-message-container": tree,
    }
    phone.say(complete, header=4)
    return phone


def sent(phone: Phone) -> tuple[str, dict[str, Any]]:
    """Return the name and the IEs of the last PDU to the gNB."""
    tree = phone.world.sent()[-1]
    return tree["message"], ies_of(tree)


def change(phone: Phone, *tacs: int) -> None:
    """Write a subscription with other forbidden areas."""
    one = phone.world.subscribers[phone.supi]
    phone.world.subscribers[phone.supi] = replace(one, forbidden_tacs=tacs)
    operator.tell(phone.world, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(2), phone.supi)


def registered(tacs: tuple[int, ...] = (), network: Network = NETWORK) -> Phone:
    phone = arrived(tacs, network)
    phone.finish()
    phone.hear()
    return phone


def test_it_is_in_the_context_setup() -> None:
    message, ies = sent(arrived((2, 77)))
    assert message == SETUP
    assert ies[LIST] == FORBIDDEN


def test_it_is_in_the_transport_of_an_accept_without_a_context() -> None:
    """A gNB that has not requested a context hands over, too (8.6.2.2)."""
    phone = arrived((2, 77), UEContextRequest=None)
    message, ies = sent(phone)
    assert message == TRANSPORT
    assert ies[LIST] == FORBIDDEN
    phone.world.advance(7)
    message, ies = sent(phone)
    assert message == TRANSPORT, "T3550"
    assert LIST not in ies, "the gNB has the list"
    phone.world.verify()


def test_a_ue_without_restrictions_has_none() -> None:
    """8.3.1.2: without the IE, the gNB considers that no restriction applies."""
    _, ies = sent(arrived())
    assert LIST not in ies


def test_the_serving_plmn_and_its_equivalent_plmns() -> None:
    """Roaming restrictions apply to all other PLMNs (9.3.1.85)."""
    network = replace(NETWORK, equivalent_plmns=("001-02",))
    _, ies = sent(arrived((2,), network))
    assert ies[LIST]["servingPLMN"] == "001-01"
    assert ies[LIST]["equivalentPLMNs"] == ["001-02"]
    forbidden = {"forbiddenTACs": [2]}
    assert ies[LIST]["forbiddenAreaInformation"] == [
        {"pLMNIdentity": "001-01", **forbidden},
        {"pLMNIdentity": "001-02", **forbidden},
    ]


def test_a_shared_network_tells_the_serving_plmn() -> None:
    other = TrackingArea(9, "001-02", (SLICE,))
    network = replace(NETWORK, tracking_areas=(*NETWORK.tracking_areas, other))
    _, ies = sent(arrived(network=network))
    assert ies[LIST] == {"servingPLMN": "001-01"}


def test_emergency_services_have_no_restrictions() -> None:
    """TS 24.501 5.5.1.2.4, TS 23.501 5.16.4.3: also in a forbidden area."""
    phone = Phone(
        CheckedWorld(
            subscriber(forbidden_tacs=(1, 2)), network=replace(NETWORK, emergency_services=SERVICES)
        )
    )
    ng_setup(phone.world)
    phone.register(kind="emergency-registration")
    here = phone.world.ue().connection
    assert here is not None
    assert here.restrictions is None


def test_a_change_of_the_subscription_reaches_the_gnb_and_the_ue() -> None:
    """TS 23.502 4.2.4.2: with a UE configuration update, which has the new TAI list."""
    phone = registered()
    assert phone.world.ue().registration_area == (Tai("001-01", 1), Tai("001-01", 2))
    change(phone, 2, 77)
    ((_, _, pdu),) = phone.world.downlink

    tree = wire.ngap_decode(pdu)
    assert (tree["message"], ies_of(tree)[LIST]) == (TRANSPORT, FORBIDDEN)
    command = phone.update()
    (area,) = command["tai-list"]
    assert area["one-plmn-non-consecutive"] == {"plmn": "001-01", "tacs": [1]}
    ue = phone.world.ue()
    assert ue.registration_area == (Tai("001-01", 1),)
    assert ue.update is None
    (modification,) = phone.hear()
    assert modification["message-type"] == "UEContextModificationRequest"
    told = modification["CoreNetworkAssistanceInformationForInactive"]["tAIListForInactive"]
    assert told == [{"tAI": {"pLMNIdentity": "001-01", "tAC": 1}}]
    phone.ngap("UEContextModificationResponse")
    assert phone.hear() == []


def test_restrictions_that_end_are_overwritten() -> None:
    """8.6.2.2: without the IE, the gNB keeps the stored list."""
    phone = registered((2, 77))
    change(phone)
    _, ies = sent(phone)
    assert ies[LIST] == {"servingPLMN": "001-01"}
    phone.say({"message-type": "configuration-update-complete"})
    phone.ngap("UEContextModificationResponse")
    phone.world.sent()
    change(phone)
    assert phone.world.sent() == []


def test_a_ue_without_a_subscription_keeps_its_list() -> None:
    """Between the removal of the subscription and the event about it, the UE gets no command: it
    would have no values."""
    phone = registered((2, 77))
    del phone.world.subscribers[phone.supi]
    phone.say({"message-type": "5gmm-status", "5gmm-cause": "protocol-error-unspecified"})
    assert phone.world.sent() == []


def test_a_ue_in_an_area_that_is_forbidden_now_has_to_register() -> None:
    """The registration is rejected (TS 24.501 5.5.1.3.5)."""
    phone = registered()
    change(phone, 1)
    command = phone.update()
    assert command["configuration-update-indication"] == {"ack": True, "red": True}
    assert "tai-list" not in command
    assert phone.hear()[-1]["message-type"] == "UEContextReleaseCommand"


def test_the_longest_list() -> None:
    """MaxnoofForbTACs is 4096."""
    restrictions = Restrictions("001-01", (), tuple(range(5000)))
    (ie,) = assistance.restriction_ies(restrictions)
    (item,) = ie[LIST]["forbiddenAreaInformation"]
    assert len(item["forbiddenTACs"]) == 4096
