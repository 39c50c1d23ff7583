"""Reading the NGAP messages of gNBs about handovers (TS 38.413 9.2.3)."""

from typing import Final, NamedTuple

from functions import ngap, ngap_context
from functions.ngap import Cause
from functions.trees import Tree, subtree
from schemas.identity import Tai
from schemas.session import Tunnel

TRIGGERED: Final = frozenset(
    f"radioNetwork: {name}"
    for name in (
        "ng-intra-system-handover-triggered",
        "ng-inter-system-handover-triggered",
        "xn-handover-triggered",
    )
)
"""The causes, as texts, of a gNB that does not do something because it hands the UE over."""


class Admitted(NamedTuple):
    """A PDU session as a target has taken it, or a gNB asks for it to be switched."""

    psi: int
    access: Tunnel | None
    transfer: Tree


def switched(ies: Tree) -> list[Admitted]:
    """The PDU Session Resource to be Switched in Downlink List of a PATH SWITCH REQUEST."""
    items = ies.get("PDUSessionResourceToBeSwitchedDLList", ())
    return [_admitted(item, "pathSwitchRequestTransfer") for item in items]


def admitted(ies: Tree) -> list[Admitted]:
    """The PDU Session Resource Admitted List of a HANDOVER REQUEST ACKNOWLEDGE."""
    items = ies.get("PDUSessionResourceAdmittedList", ())
    return [_admitted(item, "handoverRequestAcknowledgeTransfer") for item in items]


def _admitted(item: Tree, name: str) -> Admitted:
    transfer = subtree(item, name)
    tunnel = ngap_context.read_tunnel(subtree(transfer, "dL-NGU-UP-TNLInformation"))
    return Admitted(item["pDUSessionID"], tunnel, transfer)


def failures(ies: Tree) -> dict[int, Cause]:
    """Why a target has not set sessions up, by their identities."""
    found: dict[int, Cause] = {}
    for name, transfer in (
        ("PDUSessionResourceFailedToSetupListHOAck", _RESOURCES),
        ("PDUSessionResourceFailedToSetupListPSReq", "pathSwitchRequestSetupFailedTransfer"),
    ):
        for item in ies.get(name, ()):
            cause = subtree(item, transfer).get("cause", ngap.UNSPECIFIED)
            found[item["pDUSessionID"]] = cause
    return found


_RESOURCES: Final = "handoverResourceAllocationUnsuccessfulTransfer"


class Target(NamedTuple):
    """A Target ID: a gNB by the name that its NG SETUP gave it, and the tracking area."""

    gnb: str
    tai: Tai


def target_of(ies: Tree) -> Target | None:
    """The target of a HANDOVER REQUIRED; None for one that is no gNB of the 5GS."""
    node = subtree(subtree(ies, "TargetID"), "targetRANNodeID")
    found = subtree(subtree(node, "globalRANNodeID"), "globalGNB-ID")
    tai, bits = subtree(node, "selectedTAI"), subtree(subtree(found, "gNB-ID"), "gNB-ID")
    if ies.get("HandoverType") != "intra5gs" or not bits:
        return None
    length = bits["length"]
    number = int(bits["value"], 16) >> (-length % 8)
    name = f"{found['pLMNIdentity']}-gnb-{length}-{number:x}"
    return Target(name, Tai(tai["pLMNIdentity"], tai["tAC"]))
