"""Interface management of RAN nodes (TS 38.413 8.7)."""

from typing import Any

import pytest

import wire
from schemas.gnb import Gnb
from tests.functions.world import ASSOCIATION, GNB, World

SLICE = {"s-NSSAI": {"sST": 1, "sD": "010203"}}


def request(tac: int = 1, plmn: str = "001-01", slice_: Any = SLICE) -> dict[str, Any]:
    gnb_id = {"gNB-ID": {"value": "000001", "length": 24}}
    broadcast = [{"pLMNIdentity": plmn, "tAISliceSupportList": [slice_]}]
    return {
        "message": "NGSetupRequest",
        "ies": [
            {"GlobalRANNodeID": {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": gnb_id}}},
            {"RANNodeName": "gnb-1"},
            {"SupportedTAList": [{"tAC": tac, "broadcastPLMNList": broadcast}]},
            {"DefaultPagingDRX": "v128"},
        ],
    }


def ng_setup(world: World, association: str = ASSOCIATION) -> dict[str, Any]:
    world.uplink(request(), association=association)
    answer = world.sent()[-1]
    assert answer["message"] == "NGSetupResponse"
    return answer


def gnb(world: World) -> Gnb:
    return world.states[f"gnb/{GNB}"]


def ies_of(tree: dict[str, Any]) -> dict[str, Any]:
    return {k: v for item in tree["ies"] for k, v in item.items()}


def test_ng_setup() -> None:
    world = World()
    ies = ies_of(ng_setup(world))
    assert ies["AMFName"] == "test"
    assert ies["ServedGUAMIList"][0]["gUAMI"]["pLMNIdentity"] == "001-01"
    assert ies["PLMNSupportList"] == [
        {"pLMNIdentity": "001-01", "sliceSupportList": [SLICE, {"s-NSSAI": {"sST": 2}}]}
    ]
    assert (gnb(world).name, gnb(world).association) == ("gnb-1", ASSOCIATION)
    assert ("tai", f"001-01-000001/{GNB}") in world.owners
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
    world.uplink(request(**changes))
    failure = world.sent()[-1]
    assert failure["message"] == "NGSetupFailure"
    assert ies_of(failure) == {"Cause": cause, "TimeToWait": "v10s"}
    assert gnb(world).association == ""
    world.verify()


def test_ng_setup_without_its_mandatory_ies() -> None:
    world = World()
    tree = request()
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
    ies = [{"Cause": {"misc": "om-intervention"}}, {"ResetType": {"nG-Interface": "reset-all"}}]
    world.uplink({"message": "NGReset", "ies": ies})
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
    broadcast = [{"pLMNIdentity": "001-01", "tAISliceSupportList": [SLICE]}]
    supported = [{"tAC": 2, "broadcastPLMNList": broadcast}]
    ies = [{"RANNodeName": "renamed"}, {"SupportedTAList": supported}]
    world.uplink({"message": "RANConfigurationUpdate", "ies": ies})
    assert world.names() == ["RANConfigurationUpdateAcknowledge"]
    assert gnb(world).name == "renamed"
    assert gnb(world).paging_drx == "v128"
    assert [ta.tac for ta in gnb(world).supported] == [2]
    supported[0]["tAC"] = 99
    world.uplink({"message": "RANConfigurationUpdate", "ies": [{"SupportedTAList": supported}]})
    assert world.names() == ["RANConfigurationUpdateFailure"]
    assert [ta.tac for ta in gnb(world).supported] == [2]
    world.verify()


def test_an_unsupported_procedure_is_answered() -> None:
    world = World()
    ng_setup(world)
    world.uplink({"message": "UplinkRANConfigurationTransfer", "ies": []})
    sent = world.sent()[-1]
    assert sent["message"] == "ErrorIndication"


def test_error_indications_are_not_answered() -> None:
    world = World()
    ng_setup(world)
    pdu = wire.ngap_encode(
        {"message": "ErrorIndication", "ies": [{"Cause": {"misc": "unspecified"}}]}
    )
    world.uplink_pdu(pdu)
    assert world.sent() == []
