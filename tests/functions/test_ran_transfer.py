"""Transfers between RAN nodes (TS 38.413 8.8, 8.16)."""

from typing import Any

import pytest

from schemas.event import Noted
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ng_setup, setup_request
from tests.functions.ngap_messages import node, place, rim, son
from tests.functions.world import GNB

OTHER = "001-01-gnb-24-2"


def two_nodes() -> CheckedWorld:
    """Return a world with two gNBs; the second serves tracking area 2."""
    world = CheckedWorld()
    ng_setup(world)
    request = setup_request(tac=2)
    request["ies"][0] = {"GlobalRANNodeID": node(2)}
    world.uplink(request, gnb=OTHER, association="b1")
    assert world.names() == ["NGSetupResponse"]
    return world


def relayed(world: CheckedWorld) -> list[tuple[str, str]]:
    return [(gnb, association) for gnb, association, _ in world.downlink]


@pytest.mark.parametrize(
    ("message", "ie", "expected", "content"),
    [
        (
            "UplinkRANConfigurationTransfer",
            "SONConfigurationTransferUL",
            ("DownlinkRANConfigurationTransfer", "SONConfigurationTransferDL"),
            son(2, 2),
        ),
        (
            "UplinkRIMInformationTransfer",
            "RIMInformationTransfer",
            ("DownlinkRIMInformationTransfer", "RIMInformationTransfer"),
            {**rim(2), "targetRANNodeID-RIM": place(2, 2)},
        ),
    ],
)
def test_it_goes_to_the_node_that_it_names_as_it_is(
    message: str, ie: str, expected: tuple[str, str], content: dict[str, Any]
) -> None:
    world = two_nodes()
    world.uplink({"message": message, "ies": [{ie: content}]})
    assert relayed(world) == [(OTHER, "b1")]
    (sent,) = world.sent()
    assert (sent["message"], sent["ies"]) == (expected[0], [{expected[1]: content}])
    world.verify()


def test_and_the_answer_comes_back() -> None:
    world = two_nodes()
    reply = {
        "targetRANNodeID-SON": place(1, 1),
        "sourceRANNodeID": place(2, 2),
        "sONInformation": {
            "sONInformationReply": {
                "xnTNLConfigurationInfo": {"xnTransportLayerAddresses": ["10.0.0.2"]}
            }
        },
    }
    message = "UplinkRANConfigurationTransfer"
    tree = {"message": message, "ies": [{"SONConfigurationTransferUL": reply}]}
    world.uplink(tree, gnb=OTHER, association="b1")
    assert relayed(world) == [(GNB, "a1")]
    assert world.sent()[0]["ies"] == [{"SONConfigurationTransferDL": reply}]
    world.verify()


@pytest.mark.parametrize("content", [son(3, 2), son(2, 1)], ids=["another node", "another area"])
def test_to_a_node_that_is_not_there_it_goes_nowhere(content: dict[str, Any]) -> None:
    """Without a response: the procedure has none, and the message is valid."""
    world = two_nodes()
    message = "UplinkRANConfigurationTransfer"
    world.uplink({"message": message, "ies": [{"SONConfigurationTransferUL": content}]})
    assert world.sent() == []
    (note,) = [e.text for e in world.order[-1][1].events if isinstance(e, Noted)]
    assert "does not serve" in note
    world.verify()


@pytest.mark.parametrize(
    ("ng_enb", "name"),
    [
        ({"macroNgENB-ID": "000010"}, "001-01-ngenb-20-1"),
        ({"shortMacroNgENB-ID": "000040"}, "001-01-ngenb-18-1"),
        ({"longMacroNgENB-ID": "000008"}, "001-01-ngenb-21-1"),
    ],
)
def test_an_ng_enb_is_found_by_the_name_of_its_ng_setup(ng_enb: dict[str, str], name: str) -> None:
    world = CheckedWorld()
    ng_setup(world)
    identity = {"globalNgENB-ID": {"pLMNIdentity": "001-01", "ngENB-ID": ng_enb}}
    request = setup_request()
    request["ies"][0] = {"GlobalRANNodeID": identity}
    world.uplink(request, gnb=name, association="b1")
    assert world.states[f"gnb/{name}"].id == name
    world.sent()
    content = {**son(), "targetRANNodeID-SON": {**place(), "globalRANNodeID": identity}}
    message = "UplinkRANConfigurationTransfer"
    world.uplink({"message": message, "ies": [{"SONConfigurationTransferUL": content}]})
    assert relayed(world) == [(name, "b1")]
    world.verify()


def test_what_is_for_an_enb_goes_nowhere() -> None:
    """There is no MME (8.8.1.2)."""
    world = two_nodes()
    n3iwf = {"globalN3IWF-ID": {"pLMNIdentity": "001-01", "n3IWF-ID": {"n3IWF-ID": "0005"}}}
    content = {**son(), "targetRANNodeID-SON": {**place(), "globalRANNodeID": n3iwf}}
    message = "UplinkRANConfigurationTransfer"
    ies = [
        {"SONConfigurationTransferUL": content},
        {"ENDC-SONConfigurationTransferUL": "00"},
    ]
    world.uplink({"message": message, "ies": ies})
    assert world.sent() == []
    notes = [e.text for e in world.order[-1][1].events if isinstance(e, Noted)]
    assert notes == [
        "a transfer to a node outside the 5GS is dropped",
        "ENDC-SONConfigurationTransferUL is dropped: there is no MME",
    ]
    world.verify()
