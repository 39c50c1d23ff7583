"""Transfers between RAN nodes (TS 38.413 8.8, 8.16).

The core does not read their contents. gNBs use them to find each other's Xn addresses.
"""

from collections.abc import Callable

import wire
from functions.messages.ngap import node as ngap_node
from functions.messages.trees import Tree, subtree
from functions.ran.decision import GnbDecision
from schemas.step import SendNgap


def configuration(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    """Relay an UPLINK RAN CONFIGURATION TRANSFER to its target node (8.8.1.2).

    Information for an eNB is dropped: there is no MME.
    """
    son = subtree(ies, "SONConfigurationTransferUL")
    if son:
        pdu = ngap_node.downlink_ran_configuration_transfer
        _relay(d, son, subtree(son, "targetRANNodeID-SON"), pdu)
    for name in ("ENDC-SONConfigurationTransferUL", "IntersystemSONConfigurationTransferUL"):
        if name in ies:
            d.note(f"{name} is dropped: there is no MME")


def rim(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    """Relay an UPLINK RIM INFORMATION TRANSFER to its target node (8.16.1.2)."""
    found = subtree(ies, "RIMInformationTransfer")
    if found:
        pdu = ngap_node.downlink_rim_information_transfer
        _relay(d, found, subtree(found, "targetRANNodeID-RIM"), pdu)


def _relay(d: GnbDecision, content: Tree, node: Tree, pdu: Callable[[Tree], bytes]) -> None:
    target = ngap_node.target_of(node)
    if target is None:
        d.note("a transfer to a node outside the 5GS is dropped")
        return
    gnb, tai = target
    association = d.env.association(tai, gnb)
    if not association:
        d.note(f"a transfer is dropped: {gnb} does not serve {tai.plmn} {tai.tac}")
        return
    d.note(f"a transfer to {gnb}")
    d.outputs.append(SendNgap(gnb, association, pdu(content)))


def noted(d: GnbDecision, peek: wire.NgapPeek, _: Tree) -> None:
    """Note a message that needs no action."""
    d.note(f"{peek.message} needs no action")


def nrppa(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    """Ignore an UPLINK NON UE ASSOCIATED NRPPA TRANSPORT: there is no LMF, so every Routing ID is
    unknown (8.10.4)."""
    d.note(f"NRPPa for the unknown Routing ID {ies['RoutingID']}")


def pws(d: GnbDecision, peek: wire.NgapPeek, ies: Tree) -> None:
    """Ignore PWS RESTART INDICATION and PWS FAILURE INDICATION (8.9.3, 8.9.4): there is no CBC to
    forward them to (TS 23.041 9.1.3.5)."""
    names = ("CellIDListForRestart", "PWSFailedCellIDList")
    count = sum(len(cells) for name in names for cells in subtree(ies, name).values())
    d.note(f"{peek.message} for {count} cell(s) is dropped: there is no CBC")
