"""Node-level messages of a RAN node (TS 38.413 8.7)."""

from typing import Any

from schemas.ran import Gnb
from tests.functions.world import ASSOCIATION, GNB, World

SLICE = {"s-NSSAI": {"sST": 1, "sD": "010203"}}
OM_INTERVENTION = {"misc": "om-intervention"}


def supported(tac: int = 1, plmn: str = "001-01", slice_: Any = SLICE) -> list[dict[str, Any]]:
    """Return a Supported TA List of one tracking area."""
    broadcast = [{"pLMNIdentity": plmn, "tAISliceSupportList": [slice_]}]
    return [{"tAC": tac, "broadcastPLMNList": broadcast}]


def setup_request(tac: int = 1, plmn: str = "001-01", slice_: Any = SLICE) -> dict[str, Any]:
    gnb_id = {"gNB-ID": {"value": "000001", "length": 24}}
    return {
        "message": "NGSetupRequest",
        "ies": [
            {"GlobalRANNodeID": {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": gnb_id}}},
            {"RANNodeName": "gnb-1"},
            {"SupportedTAList": supported(tac, plmn, slice_)},
            {"DefaultPagingDRX": "v128"},
        ],
    }


def update(**ies: Any) -> dict[str, Any]:
    """Return a RAN CONFIGURATION UPDATE."""
    return {"message": "RANConfigurationUpdate", "ies": [{k: v} for k, v in ies.items()]}


def reset(connections: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Return an NG RESET of the whole interface, or of some connections."""
    part = {"partOfNG-Interface": connections}
    kind = {"nG-Interface": "reset-all"} if connections is None else part
    return {"message": "NGReset", "ies": [{"Cause": OM_INTERVENTION}, {"ResetType": kind}]}


def ng_setup(world: World, association: str = ASSOCIATION) -> dict[str, Any]:
    """Set up the gNB's interface, and return the NG SETUP RESPONSE."""
    world.uplink(setup_request(), association=association)
    answer = world.sent()[-1]
    assert answer["message"] == "NGSetupResponse"
    return answer


def gnb(world: World) -> Gnb:
    return world.states[f"gnb/{GNB}"]


def ies_of(tree: dict[str, Any]) -> dict[str, Any]:
    return {k: v for item in tree["ies"] for k, v in item.items()}
