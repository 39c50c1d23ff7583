"""Interface management of RAN nodes (TS 38.413 8.7)."""

from typing import Any

import pytest

import wire
from functions.messages.ngap.node import target_of
from schemas.cloudevents import CloudEvent, EventType
from schemas.event import Noted
from tests.functions.gnb import (
    OM_INTERVENTION,
    SLICE,
    gnb,
    ies_of,
    ng_setup,
    reset,
    setup_request,
    supported,
    update,
)
from tests.functions.phone import Phone
from tests.functions.world import ASSOCIATION, GNB, World


def test_ng_setup() -> None:
    world = World()
    ies = ies_of(ng_setup(world))
    assert ies["AMFName"] == "test"
    assert ies["ServedGUAMIList"][0]["gUAMI"]["pLMNIdentity"] == "001-01"
    assert ies["PLMNSupportList"] == [
        {"pLMNIdentity": "001-01", "sliceSupportList": [SLICE, {"s-NSSAI": {"sST": 2}}]}
    ]
    assert (gnb(world).name, gnb(world).association) == ("gnb-1", ASSOCIATION)
    assert ("tai", f"001-01-000001/{GNB}/{ASSOCIATION}") in world.owners
    world.verify()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"plmn": "999-99"}, {"misc": "unknown-PLMN-or-SNPN"}),
        ({"tac": 99}, {"misc": "unspecified"}),
        ({"slice_": {"s-NSSAI": {"sST": 77}}}, {"radioNetwork": "slice-not-supported"}),
    ],
)
def test_ng_setup_refused(changes: dict[str, Any], cause: dict[str, str]) -> None:
    world = World()
    world.uplink(setup_request(**changes))
    failure = world.sent()[-1]
    assert failure["message"] == "NGSetupFailure"
    assert ies_of(failure) == {"Cause": cause, "TimeToWait": "v10s"}
    assert gnb(world).association == ""
    world.verify()


def test_ng_setup_without_its_mandatory_ies() -> None:
    world = World()
    tree = setup_request()
    tree["ies"] = tree["ies"][1:2]
    world.uplink(tree)
    failure = world.sent()[-1]
    ies = ies_of(failure)
    assert failure["message"] == "NGSetupFailure"
    assert ies["Cause"] == {"protocol": "abstract-syntax-error-reject"}
    diagnostics = ies["CriticalityDiagnostics"]
    assert "procedureCode" not in diagnostics
    assert [i["iE-ID"] for i in diagnostics["iEsCriticalityDiagnostics"]] == [27, 102]


def test_a_message_before_ng_setup() -> None:
    world = World()
    world.uplink(reset())
    sent = world.sent()[-1]
    assert sent["message"] == "ErrorIndication"
    assert ies_of(sent)["Cause"] == {"protocol": "message-not-compatible-with-receiver-state"}


@pytest.mark.parametrize("octets", [b"", b"\xff", b"\x00\x15\x00", bytes(60), b"\x00" * 4])
def test_octets_that_are_no_pdu(octets: bytes) -> None:
    world = World()
    ng_setup(world)
    world.uplink_pdu(octets)
    assert world.sent()[-1]["message"] == "ErrorIndication"
    world.verify()


def test_configuration_update() -> None:
    world = World()
    ng_setup(world)
    world.uplink(update(RANNodeName="renamed", SupportedTAList=supported(2)))
    assert world.names() == ["RANConfigurationUpdateAcknowledge"]
    assert gnb(world).name == "renamed"
    assert gnb(world).paging_drx == "v128"
    assert [ta.tac for ta in gnb(world).supported] == [2]
    world.uplink(update(SupportedTAList=supported(99)))
    assert world.names() == ["RANConfigurationUpdateFailure"]
    assert [ta.tac for ta in gnb(world).supported] == [2]
    world.verify()


def test_an_unsupported_procedure_is_answered_by_its_criticality() -> None:
    """10.3.4.1: reject and notify get a response with diagnostics, ignore does not."""
    world = World()
    ng_setup(world)
    world.uplink({"message": "DownlinkRANConfigurationTransfer", "ies": []})
    assert world.sent() == [], "its criticality is ignore"
    world.uplink({"message": "AMFConfigurationUpdate", "ies": []})
    ies = ies_of(world.sent()[-1])
    assert ies["Cause"] == {"protocol": "abstract-syntax-error-reject"}
    assert ies["CriticalityDiagnostics"] == {
        "procedureCode": 0,
        "triggeringMessage": "initiating-message",
        "procedureCriticality": "reject",
    }
    world.verify()


def test_error_indications_are_not_answered() -> None:
    world = World()
    ng_setup(world)
    pdu = wire.ngap_encode(
        {"message": "ErrorIndication", "ies": [{"Cause": {"misc": "unspecified"}}]}
    )
    world.uplink_pdu(pdu)
    assert world.sent() == []


def test_one_tracking_area_in_common_is_enough() -> None:
    """8.7.1.1: other cores may serve the other tracking areas of the node."""
    world = World()
    tree = setup_request()
    tree["ies"][2] = {"SupportedTAList": [*supported(99), *supported(1, "999-99"), *supported(2)]}
    world.uplink(tree)
    assert world.names() == ["NGSetupResponse"]
    assert [ta.tac for ta in gnb(world).supported] == [99, 1, 2]
    world.verify()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"plmn": "999-99"}, {"misc": "unknown-PLMN-or-SNPN"}),
        ({"tac": 99}, {"misc": "unspecified"}),
        ({"slice_": {"s-NSSAI": {"sST": 77}}}, {"radioNetwork": "slice-not-supported"}),
    ],
)
def test_a_configuration_update_refused(changes: dict[str, Any], cause: dict[str, str]) -> None:
    """8.7.2.3: the interface does not change."""
    world = World()
    ng_setup(world)
    before = gnb(world)
    world.uplink(update(RANNodeName="renamed", SupportedTAList=supported(**changes)))
    failure = world.sent()[-1]
    assert failure["message"] == "RANConfigurationUpdateFailure"
    assert ies_of(failure) == {"Cause": cause, "TimeToWait": "v10s"}
    assert gnb(world) == before
    world.verify()


def test_ng_setup_refused_where_the_interface_was_up() -> None:
    """8.7.1.1: the request erased the interface and its UEs."""
    world = World()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    world.uplink(setup_request(tac=99))
    assert gnb(world).association == ""
    assert world.ue().connection is None
    world.verify()


def test_ng_setup_by_a_restarted_gateway() -> None:
    """It numbers its events from 1 again; the previous connections are released all the same."""
    world = World()
    world.count = 1000
    ng_setup(world)
    Phone(world).register()
    world.count = 0
    world.uplink(setup_request(), association="b1")
    assert gnb(world).association == "b1"
    assert world.ue().connection is None
    world.verify()


def test_ng_setup_with_a_fault_where_the_interface_was_up() -> None:
    """10.3.4.2: no part of a rejected message is executed."""
    world = World()
    ng_setup(world)
    tree = setup_request()
    tree["ies"] = tree["ies"][1:2]
    world.uplink(tree)
    assert world.names() == ["NGSetupFailure"]
    assert gnb(world).association == ASSOCIATION


def test_ng_reset_without_a_cause_or_a_kind() -> None:
    """A missing Cause is ignored, a missing Reset Type is not (9.2.6.11)."""
    world = World()
    ng_setup(world)
    world.uplink({"message": "NGReset", "ies": reset()["ies"][1:]})
    assert "NGResetAcknowledge" in world.names()
    world.uplink({"message": "NGReset", "ies": [{"Cause": OM_INTERVENTION}]})
    assert world.names() == ["ErrorIndication"]
    world.verify()


def test_an_event_that_is_not_for_it_is_noted() -> None:
    world = World()
    ng_setup(world)
    before = gnb(world)
    for kind in ("org.evcore.unheard-of", EventType.ASSOCIATION_LOST):
        event = CloudEvent(
            f"x-{kind}", f"/n2/{GNB}/a1", kind, f"gnb/{GNB}", b"\xc1", procedure="ran"
        )
        world.deliver(event)
    assert [type(e) for _, s in world.order[-2:] for e in s.events] == [Noted, Noted]
    assert gnb(world) == before
    world.verify()


# Nodes that the core does not serve, and identities of every length


def wireline(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"choice-Extensions": {name: {"pLMNIdentity": "001-01", **value}}}


@pytest.mark.parametrize(
    ("node", "name"),
    [
        (
            {"globalN3IWF-ID": {"pLMNIdentity": "001-01", "n3IWF-ID": {"n3IWF-ID": "0001"}}},
            "globalN3IWF-ID",
        ),
        (wireline("GlobalTNGF-ID", {"tNGF-ID": {"tNGF-ID": "00000001"}}), "GlobalTNGF-ID"),
        (wireline("GlobalTWIF-ID", {"tWIF-ID": {"tWIF-ID": "00000001"}}), "GlobalTWIF-ID"),
        (wireline("GlobalW-AGF-ID", {"w-AGF-ID": {"w-AGF-ID": "0001"}}), "GlobalW-AGF-ID"),
    ],
)
def test_a_node_of_another_access_is_refused(node: dict[str, Any], name: str) -> None:
    """NG SETUP FAILURE without a time to wait; the log names the kind of node."""
    world = World()
    tree = setup_request()
    tree["ies"][0] = {"GlobalRANNodeID": node}
    world.uplink(tree)
    failure = world.sent()[-1]
    assert failure["message"] == "NGSetupFailure"
    assert ies_of(failure) == {"Cause": {"misc": "unspecified"}}
    assert gnb(world).association == ""
    (noted,) = (e.text for _, step in world.order for e in step.events if isinstance(e, Noted))
    assert noted == f"{name} is not supported: this core serves gNBs and ng-eNBs"
    world.verify()


@pytest.mark.parametrize("length", range(22, 33))
def test_gnb_identities_of_every_length(length: int) -> None:
    """22 to 32 bits (9.3.1.6). The name is the one that a Target ID leads to."""
    value = {"value": ((1 << length) - 3 << (-length % 8)).to_bytes(-(-length // 8), "big").hex()}
    bits = {"gNB-ID": {**value, "length": length}}
    tree = setup_request()
    node = {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": bits}}
    tree["ies"] = [{"GlobalRANNodeID": node}, *tree["ies"][2:]]  # without RAN Node Name
    found = str(wire.ngap_peek(wire.ngap_encode(tree)).global_ran_node_id)
    assert found == f"001-01-gnb-{length}-{(1 << length) - 3:x}"
    place = {"globalRANNodeID": node, "selectedTAI": {"pLMNIdentity": "001-01", "tAC": 1}}
    target = target_of(place)
    assert target is not None
    assert target[0] == found
    world = World()
    world.uplink(tree, found)
    assert world.sent()[-1]["message"] == "NGSetupResponse"


def test_optional_parts_of_an_ng_setup_request() -> None:
    """8.7.1.2: E-UTRA RAT information and UE retention information. UEs are not retained, so the
    response does not have it."""
    world = World()
    tree = setup_request()
    extension = {"RATInformation": "unlicensed", "criticality": "reject"}
    tree["ies"][2]["SupportedTAList"][0]["iE-Extensions"] = [extension]
    tree["ies"] += [
        {"UERetentionInformation": "ues-retained"},
        {"Extended-RANNodeName": {"rANNodeNameUTF8String": "Gerät 1"}},
    ]
    world.uplink(tree)
    answer = world.sent()[-1]
    assert answer["message"] == "NGSetupResponse"
    assert "UERetentionInformation" not in ies_of(answer)
    assert gnb(world).name == "Gerät 1"
    world.verify()


def broadcast(**extension: Any) -> dict[str, Any]:
    """Return an NG SETUP REQUEST with an extension of its Broadcast PLMN Item (9.3.3.4)."""
    tree = setup_request(
        slice_={"s-NSSAI": {"sST": 77}} if "NPN-Support" not in extension else SLICE
    )
    (plmn,) = tree["ies"][2]["SupportedTAList"][0]["broadcastPLMNList"]
    plmn["iE-Extensions"] = [{name: v, "criticality": "reject"} for name, v in extension.items()]
    return tree


def test_a_gnb_of_a_stand_alone_non_public_network() -> None:
    """TS 23.501 5.30.2: a PLMN with a NID is another network (8.7.1.4)."""
    world = World()
    world.uplink(broadcast(**{"NPN-Support": {"sNPN": "001122334450"}}))
    failure = world.sent()[-1]
    assert failure["message"] == "NGSetupFailure"
    assert ies_of(failure)["Cause"] == {"misc": "unknown-PLMN-or-SNPN"}
    world.verify()


def test_slices_in_the_extended_list() -> None:
    """A gNB may list slices in the Extended TAI Slice Support List too."""
    world = World()
    world.uplink(broadcast(ExtendedTAISliceSupportList=[SLICE]))
    assert world.sent()[-1]["message"] == "NGSetupResponse"
    ((found,),) = (ta.broadcast for ta in gnb(world).supported)
    assert [str(one) for one in found.slices] == ["77", "1-010203"]
    world.verify()
