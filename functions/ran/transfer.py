"""Transfers from one RAN node to another (TS 38.413 8.8, 8.16). What they carry is not read here;
gNBs find out by them where to set Xn up."""

from collections.abc import Callable

import wire
from functions.messages.ngap import node as ngap_node
from functions.messages.trees import Tree, subtree
from functions.ran.decision import GnbDecision
from schemas.step import SendNgap


def configuration(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    """UPLINK RAN CONFIGURATION TRANSFER: to the node that it names (8.8.1.2).

    There is no MME for what concerns an eNB.
    """
    son = subtree(ies, "SONConfigurationTransferUL")
    if son:
        pdu = ngap_node.downlink_ran_configuration_transfer
        _relay(d, son, subtree(son, "targetRANNodeID-SON"), pdu)
    for name in ("ENDC-SONConfigurationTransferUL", "IntersystemSONConfigurationTransferUL"):
        if name in ies:
            d.note(f"{name}, and no MME to hand it to")


def rim(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    """UPLINK RIM INFORMATION TRANSFER: to the node that it names (8.16.1.2)."""
    found = subtree(ies, "RIMInformationTransfer")
    if found:
        pdu = ngap_node.downlink_rim_information_transfer
        _relay(d, found, subtree(found, "targetRANNodeID-RIM"), pdu)


def _relay(d: GnbDecision, content: Tree, node: Tree, pdu: Callable[[Tree], bytes]) -> None:
    target = ngap_node.target_of(node)
    if target is None:
        d.note("a transfer to what is no node of the 5GS")
        return
    gnb, tai = target
    association = d.env.association(tai, gnb)
    if not association:
        d.note(f"a transfer to {gnb}, which does not serve {tai.plmn} {tai.tac}")
        return
    d.note(f"a transfer to {gnb}")
    d.outputs.append(SendNgap(gnb, association, pdu(content)))


def noted(d: GnbDecision, peek: wire.NgapPeek, _: Tree) -> None:
    """A message that changes nothing."""
    d.note(f"{peek.message} changes nothing")


def nrppa(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    """UPLINK NON UE ASSOCIATED NRPPA TRANSPORT: there is no LMF, so that every Routing ID is
    unknown, and the message is ignored (8.10.4)."""
    d.note(f"NRPPa for the unknown Routing ID {ies['RoutingID']}")


def pws(d: GnbDecision, peek: wire.NgapPeek, ies: Tree) -> None:
    """PWS RESTART INDICATION and PWS FAILURE INDICATION (8.9.3, 8.9.4): there is no CBC that they
    could be told to (TS 23.041 9.1.3.5)."""
    names = ("CellIDListForRestart", "PWSFailedCellIDList")
    count = sum(len(cells) for name in names for cells in subtree(ies, name).values())
    d.note(f"{peek.message} for {count} cell(s), and no CBC to tell")
