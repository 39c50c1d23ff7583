"""AMF CONFIGURATION UPDATE (TS 38.413 8.7.3), and optional IEs of RAN CONFIGURATION UPDATE."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.event import Noted
from schemas.identity import SNssai
from schemas.network import TrackingArea
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import gnb, ies_of, ng_setup, setup_request, supported, update
from tests.functions.ngap_messages import node
from tests.functions.world import ASSOCIATION, NETWORK, SLICE

SLICES = replace(NETWORK, tracking_areas=(TrackingArea(1, "001-01", (SLICE, SNssai(7))),))


def up() -> CheckedWorld:
    world = CheckedWorld()
    ng_setup(world)
    return world


def told(world: CheckedWorld) -> dict[str, Any]:
    """Return the IEs of the only AMF CONFIGURATION UPDATE."""
    (sent,) = world.sent()
    assert sent["message"] == "AMFConfigurationUpdate"
    return ies_of(sent)


def acknowledge(world: CheckedWorld) -> None:
    world.uplink({"message": "AMFConfigurationUpdateAcknowledge", "ies": []})


def refuse(world: CheckedWorld, **more: Any) -> None:
    ies = [{"Cause": {"misc": "unspecified"}}, *({k: v} for k, v in more.items())]
    world.uplink({"message": "AMFConfigurationUpdateFailure", "ies": ies})


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (replace(NETWORK, name="renamed"), {"AMFName": "renamed"}),
        (replace(NETWORK, relative_capacity=10), {"RelativeAMFCapacity": 10}),
        (replace(NETWORK, name="renamed", relative_capacity=0), {"AMFName", "RelativeAMFCapacity"}),
        (SLICES, {"PLMNSupportList"}),
    ],
    ids=["name", "capacity", "both", "slices"],
)
def test_what_has_changed_is_told_and_nothing_else(network: Any, expected: Any) -> None:
    world = up()
    world.reconfigure(network)
    ies = told(world)
    assert ies.keys() == set(expected)
    if isinstance(expected, dict):
        assert ies == expected
    acknowledge(world)
    assert gnb(world).updating is None
    world.advance(3600)
    world.reconfigure(network)
    assert world.sent() == []
    world.verify()


def test_slices_of_a_plmn() -> None:
    world = up()
    world.reconfigure(SLICES)
    (plmn,) = told(world)["PLMNSupportList"]
    found = [item["s-NSSAI"] for item in plmn["sliceSupportList"]]
    assert found == [{"sST": 1, "sD": "010203"}, {"sST": 7}]


@pytest.mark.parametrize("change", [{}, {"timers": replace(NETWORK.timers, t3512=600)}])
def test_what_is_not_of_the_interface_is_not_told(change: dict[str, Any]) -> None:
    world = up()
    world.reconfigure(replace(NETWORK, **change))
    assert world.sent() == []
    world.verify()


def test_without_an_answer_the_same_update_is_repeated_with_growing_pauses() -> None:
    """8.7.3.4; later changes are sent after it."""
    world = up()
    world.reconfigure(replace(NETWORK, name="one"))
    assert told(world) == {"AMFName": "one"}
    world.reconfigure(replace(NETWORK, name="two"))
    assert world.sent() == []
    for seconds in (10, 20, 40, 80):
        world.advance(seconds - 1)
        assert world.sent() == []
        world.advance(1)
        assert told(world) == {"AMFName": "one"}
    acknowledge(world)
    assert told(world) == {"AMFName": "two"}
    acknowledge(world)
    assert world.sent() == []
    assert gnb(world).wake_at == 0
    world.verify()


@pytest.mark.parametrize(("asked", "seconds"), [({}, 10), ({"TimeToWait": "v60s"}, 60)])
def test_a_refused_update_is_repeated_after_the_time_to_wait(
    asked: dict[str, str], seconds: int
) -> None:
    """8.7.3.3. After a refusal the update may change."""
    world = up()
    world.reconfigure(replace(NETWORK, name="one"))
    told(world)
    refuse(world, **asked)
    world.reconfigure(replace(NETWORK, name="two"))
    world.advance(seconds - 1)
    assert world.sent() == []
    world.advance(1)
    assert told(world) == {"AMFName": "two"}
    acknowledge(world)
    assert gnb(world).told is not None
    world.verify()


def test_refused_and_changed_back_it_is_not_told() -> None:
    world = up()
    world.reconfigure(replace(NETWORK, name="one"))
    told(world)
    refuse(world)
    world.reconfigure(NETWORK)
    world.advance(3600)
    assert world.sent() == []
    assert gnb(world).updating is None
    world.verify()


def test_a_node_without_the_procedure_is_not_asked_again() -> None:
    """It responds by the criticality of the procedure (10.3.4.1)."""
    world = up()
    world.reconfigure(replace(NETWORK, name="one"))
    told(world)
    diagnostics = {"procedureCode": 0, "triggeringMessage": "initiating-message"}
    cause = {"protocol": "abstract-syntax-error-reject"}
    ies = [{"Cause": cause}, {"CriticalityDiagnostics": diagnostics}]
    world.uplink({"message": "ErrorIndication", "ies": ies})
    world.advance(3600)
    assert world.sent() == []
    ng_setup(world)
    assert gnb(world).told == world.states["gnb/001-01-gnb-24-1"].told
    world.reconfigure(replace(NETWORK, name="two"))
    assert told(world) == {"AMFName": "two"}
    world.verify()


@pytest.mark.parametrize("answer", ["acknowledge", "refuse"])
def test_an_unexpected_answer(answer: str) -> None:
    world = up()
    before = gnb(world)
    {"acknowledge": acknowledge, "refuse": refuse}[answer](world)
    assert world.sent() == []
    assert gnb(world) == before
    world.verify()


def test_a_lost_or_newly_set_up_node_gets_no_repetition() -> None:
    world = up()
    world.reconfigure(replace(NETWORK, name="one"))
    told(world)
    ng_setup(world, "a2")
    world.advance(100)
    assert world.sent() == []
    world.reconfigure(replace(NETWORK, name="two"))
    told(world)
    world.lose("a2")
    world.advance(100)
    world.reconfigure(replace(NETWORK, name="three"))
    assert world.sent() == []
    world.verify()


def test_a_node_without_a_served_area() -> None:
    """It gets the update, and keeps its interface; a note records it."""
    world = up()
    world.reconfigure(replace(NETWORK, tracking_areas=(TrackingArea(9, "001-01", (SNssai(3),)),)))
    assert told(world).keys() == {"PLMNSupportList"}
    assert gnb(world).association == ASSOCIATION
    notes = [e.text for e in world.order[-1][1].events if isinstance(e, Noted)]
    assert notes == ["the network no longer serves any tracking area of the node"]
    world.verify()


def test_a_plmn_without_slices_is_not_told() -> None:
    """The list of slices has at least one item (9.2.6.2); the GUAMI's PLMN may have no area."""
    area = TrackingArea(1, "002-02", (SLICE,))
    world = CheckedWorld(network=replace(NETWORK, tracking_areas=(area,)))
    tree = setup_request()
    tree["ies"][2] = {"SupportedTAList": supported(1, "002-02")}
    world.uplink(tree)
    (response,) = world.sent()
    assert response["message"] == "NGSetupResponse"
    assert [p["pLMNIdentity"] for p in ies_of(response)["PLMNSupportList"]] == ["002-02"]
    world.verify()


# RAN CONFIGURATION UPDATE


def test_the_extended_name_goes_before_the_other() -> None:
    """8.7.2.2."""
    world = up()
    names = {"RANNodeName": "a", "Extended-RANNodeName": {"rANNodeNameUTF8String": "Zürich"}}
    world.uplink(update(**names))
    assert world.names() == ["RANConfigurationUpdateAcknowledge"]
    assert gnb(world).name == "Zürich"
    world.uplink(update(**{"Extended-RANNodeName": {"rANNodeNameVisibleString": "b"}}))
    assert gnb(world).name == "b"
    world.verify()


def test_paging_drx_its_own_id_and_an_association_to_remove() -> None:
    world = up()
    address = {"tNLAssociationTransportLayerAddress": {"endpointIPAddress": "10.0.0.1"}}
    ies = {
        "DefaultPagingDRX": "v64",
        "GlobalRANNodeID": node(),
        "NGRAN-TNLAssociationToRemoveList": [address],
    }
    world.uplink(update(**ies))
    assert world.names() == ["RANConfigurationUpdateAcknowledge"]
    assert (gnb(world).paging_drx, gnb(world).association) == ("v64", ASSOCIATION)
    world.verify()


def test_the_id_of_another_node_is_refused() -> None:
    """8.7.2.2 allows it for an additional association of a node; this core supports one."""
    world = up()
    before = gnb(world)
    world.uplink(update(GlobalRANNodeID=node(2)))
    (failure,) = world.sent()
    assert failure["message"] == "RANConfigurationUpdateFailure"
    cause = {"protocol": "message-not-compatible-with-receiver-state"}
    assert ies_of(failure) == {"Cause": cause, "TimeToWait": "v10s"}
    assert gnb(world) == before
    world.verify()
