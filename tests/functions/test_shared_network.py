"""Several PLMNs at one core (MOCN, TS 23.501 5.18): the UE chooses one of them, and the network
serves it as that one."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.identity import Guami
from schemas.network import Network, TrackingArea
from schemas.subscriber import AuthMethod
from tests.functions.gnb import ies_of, setup_request
from tests.functions.handover_site import Mobile, gnb_id, gnb_of
from tests.functions.phone import Phone
from tests.functions.test_eap import EapPhone
from tests.functions.world import NETWORK, OTHER_SLICE, SLICE, World, subscriber

OWN, OTHER, THIRD = "001-01", "310-410", "999-70"
SHARED = replace(
    NETWORK,
    tracking_areas=(
        *NETWORK.tracking_areas,
        TrackingArea(1, OTHER, (SLICE,)),
        TrackingArea(2, OTHER, (SLICE,)),
        TrackingArea(3, THIRD, (OTHER_SLICE,)),
    ),
)
EQUIVALENT = replace(SHARED, equivalent_plmns=(OTHER, "310-260"))


def phone_in(plmn: str, network: Network = SHARED, phone: type[Phone] = Phone, **more: Any) -> Any:
    """Return a phone of a subscriber of 001-01 that has chosen a PLMN."""
    found = phone(World(subscriber(**more), network=network))
    found.plmn = plmn
    return found


def update(phone: Phone, plmn: str, ran_id: int = 9) -> None:
    """Send a mobility registration update after the selection of another PLMN."""
    phone.idle()
    phone.plmn = plmn
    phone.open_again(phone.request("mobility-registration-updating"), ran_id)


def context_guami(phone: Phone) -> str:
    """Return the PLMN of the GUAMI in the last INITIAL CONTEXT SETUP REQUEST."""
    pdus = [wire.ngap_decode(pdu) for _, _, pdu in phone.world.downlink]
    found = [ies_of(tree) for tree in pdus if tree["message"] == "InitialContextSetupRequest"]
    return found[-1]["GUAMI"]["pLMNIdentity"]


# The serving network


@pytest.mark.parametrize("plmn", [OWN, OTHER])
def test_the_serving_network_is_the_chosen_plmn(plmn: str) -> None:
    """TS 33.501 6.1.1.4: the UE derives its keys with the PLMN that it authenticates to, which is
    not its home network."""
    phone = phone_in(plmn)
    accept = phone.register()
    assert accept["5g-guti"]["guti"]["plmn"] == plmn
    assert {tai["one-plmn-non-consecutive"]["plmn"] for tai in accept["tai-list"]} == {plmn}
    assert accept["tai-list"][0]["one-plmn-non-consecutive"]["tacs"] == [1, 2]
    security = phone.world.ue().security
    assert security is not None
    assert security.plmn == plmn
    phone.world.verify()


def test_with_eap_aka_prime() -> None:
    """TS 33.501 6.1.3.1: CK', IK' and K_SEAF are bound to the serving network name."""
    phone = phone_in(OTHER, phone=EapPhone, auth_method=AuthMethod.EAP_AKA_PRIME)
    phone.register()
    assert phone.world.ue().registered
    phone.world.verify()


def test_the_gnb_has_the_guami_of_the_chosen_plmn() -> None:
    phone = phone_in(OTHER)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.hear()
    phone.say({"message-type": "security-mode-complete"}, 4)
    assert context_guami(phone) == OTHER


@pytest.mark.parametrize("kind", ["suci", "guti"])
def test_a_ue_is_found_by_the_5g_guti_of_each_plmn(kind: str) -> None:
    """TS 23.003 2.10.1: the GUAMI in a 5G-GUTI has the PLMN that assigned it."""
    phone = phone_in(OTHER)
    phone.register()
    phone.idle()
    if kind == "suci":
        phone.security, phone.guti, phone.ngksi = None, None, 7
    phone.ran_id = 9
    phone.initial(wire.nas_encode(phone.request()))
    heard = phone.hear()
    assert heard[-1]["message-type"] == "authentication-request", "and no IDENTITY REQUEST"


def test_a_5g_guti_of_another_network_with_the_same_amf() -> None:
    phone = phone_in(OTHER)
    phone.register()
    phone.idle()
    assert phone.guti is not None
    phone.guti, phone.ran_id = {**phone.guti, "plmn": "262-01"}, 9
    phone.initial(wire.nas_encode(phone.request()))
    assert phone.hear()[-1]["message-type"] == "identity-request"


def test_paging_in_the_tracking_areas_of_the_plmn() -> None:
    phone = phone_in(OTHER)
    phone.register()
    assert [tai.plmn for tai in phone.world.ue().registration_area] == [OTHER, OTHER]


# From one PLMN to another


def test_another_plmn_authenticates_the_ue_again() -> None:
    """TS 33.501 6.1.1.4.1: the anchor key is bound to the serving network."""
    phone = phone_in(OWN)
    phone.register()
    update(phone, OTHER)
    phone.authenticate(2)
    accept = phone.secure(phone.request("mobility-registration-updating"))
    assert accept["5g-guti"]["guti"]["plmn"] == OTHER
    security = phone.world.ue().security
    assert security is not None
    assert security.plmn == OTHER
    phone.world.verify()


def test_an_equivalent_plmn_keeps_the_keys() -> None:
    phone = phone_in(OWN, EQUIVALENT)
    phone.register()
    update(phone, OTHER)
    accept = phone.finish()
    assert accept["5g-guti"]["guti"]["plmn"] == OTHER
    assert accept["equivalent-plmns"] == [OWN, "310-260"]
    phone.world.verify()


def test_a_service_request_in_another_plmn_makes_the_ue_register_there() -> None:
    """TS 24.501 5.5.1.3.2 a: the tracking area is not in the registration area."""
    phone = phone_in(OWN, EQUIVALENT)
    phone.register()
    phone.idle()
    phone.plmn = OTHER
    phone.open_again(phone.service_request())
    reject = phone.hear()[0]
    cause = "ue-identity-cannot-be-derived-by-the-network"
    assert (reject["message-type"], reject["5gmm-cause"]) == ("service-reject", cause)


@pytest.mark.parametrize(
    ("plmn", "equivalents"),
    [(OWN, [OTHER, "310-260"]), (OTHER, [OWN, "310-260"]), (THIRD, None)],
)
def test_equivalent_plmns(plmn: str, equivalents: list[str] | None) -> None:
    """TS 24.501 5.5.1.2.4: the list has no registered PLMN; a UE without the IE deletes its
    list."""
    phone = phone_in(plmn, EQUIVALENT, slices=subscriber().slices)
    phone.tac = 3 if plmn == THIRD else 1
    phone.requested = [{"sst": 2}] if plmn == THIRD else None
    assert phone.register().get("equivalent-plmns") == equivalents


# The gNBs


def test_ng_setup_response_has_a_guami_for_each_plmn() -> None:
    """TS 38.413 9.2.6.2: Served GUAMI List, PLMN Support List."""
    world = World(network=SHARED)
    world.uplink(setup_request())
    ies = ies_of(world.sent()[-1])
    guamis = [item["gUAMI"] for item in ies["ServedGUAMIList"]]
    assert [guami["pLMNIdentity"] for guami in guamis] == [OWN, OTHER, THIRD]
    assert len({(g["aMFRegionID"], g["aMFSetID"], g["aMFPointer"]) for g in guamis}) == 1
    assert [item["pLMNIdentity"] for item in ies["PLMNSupportList"]] == [OWN, OTHER, THIRD]


def test_a_new_plmn_is_told_to_connected_gnbs() -> None:
    """TS 38.413 8.7.3: AMF CONFIGURATION UPDATE; UEs of the PLMN are served at once."""
    world = World()
    world.uplink(setup_request())
    world.sent()
    world.reconfigure(SHARED)
    ies = ies_of(world.sent()[-1])
    assert set(ies) == {"ServedGUAMIList", "PLMNSupportList"}
    guamis = [item["gUAMI"]["pLMNIdentity"] for item in ies["ServedGUAMIList"]]
    assert guamis == [OWN, OTHER, THIRD]
    phone = Phone(world)
    phone.plmn = OTHER
    phone.register()
    phone.idle()
    phone.ran_id = 9
    phone.initial(wire.nas_encode(phone.request()))
    assert phone.hear()[-1]["message-type"] == "authentication-request"


def test_the_guamis_of_a_network() -> None:
    assert SHARED.guamis == tuple(Guami(plmn, 1, 1, 0) for plmn in (OWN, OTHER, THIRD))
    assert SHARED.equivalents(OWN) == ()


# Handovers


def at_two_plmns(equivalent: tuple[str, ...]) -> Mobile:
    """Return a UE with a session at gNB 1 in 001-01; gNB 2 broadcasts another PLMN too."""
    site = Mobile()
    network = site.world.network
    areas = (*network.tracking_areas, TrackingArea(2, OTHER, (SLICE,)))
    site.world.reconfigure(replace(network, tracking_areas=areas, equivalent_plmns=equivalent))
    tree = setup_request(tac=2, plmn=OTHER)
    tree["ies"][0] = {"GlobalRANNodeID": gnb_id(2)}
    site.world.uplink(tree, gnb_of(2), "a2")
    site.world.downlink.clear()
    return site


def target(plmn: str) -> dict[str, Any]:
    node = {"globalRANNodeID": gnb_id(2), "selectedTAI": {"pLMNIdentity": plmn, "tAC": 2}}
    return {"targetRANNodeID": node}


def test_a_handover_to_an_equivalent_plmn() -> None:
    """TS 23.501 5.3.4.1.1: the target gets the GUAMI of the PLMN that it has selected."""
    site = at_two_plmns((OTHER,))
    site.handover_required(2, TargetID=target(OTHER))
    pdus = [wire.ngap_decode(pdu) for _, _, pdu in site.world.downlink]
    (request,) = [ies_of(tree) for tree in pdus if tree["message"] == "HandoverRequest"]
    assert request["GUAMI"]["pLMNIdentity"] == OTHER


def test_no_handover_to_another_plmn() -> None:
    site = at_two_plmns(())
    site.handover_required(2, TargetID=target(OTHER))
    pdus = [wire.ngap_decode(pdu) for _, _, pdu in site.world.downlink]
    (failure,) = [ies_of(t) for t in pdus if t["message"] == "HandoverPreparationFailure"]
    assert failure["Cause"] == {"radioNetwork": "ho-target-not-allowed"}


@pytest.mark.parametrize(("equivalent", "answer"), [((OTHER,), None), ((), "Failure")])
def test_a_path_switch_to_another_plmn(equivalent: tuple[str, ...], answer: str | None) -> None:
    """After the path switch to an equivalent PLMN the UE is served there."""
    site = at_two_plmns(equivalent)
    tai = {"pLMNIdentity": OTHER, "tAC": 2}
    cgi = {"pLMNIdentity": "001-01", "nRCellIdentity": 32}
    location = {"userLocationInformationNR": {"nR-CGI": cgi, "tAI": tai}}
    site.path_switch_request(2, UserLocationInformation=location)
    names = [wire.ngap_peek(pdu).message for _, _, pdu in site.world.downlink]
    assert ("PathSwitchRequestFailure" in names) is (answer == "Failure")
    here = site.world.ue().connection
    assert here is not None
    assert here.tai.plmn == (OTHER if answer is None else OWN)
