"""Transfers from one RAN node to another (TS 38.413 8.8, 8.16). What they carry is not read here;
gNBs find out by them where to set Xn up."""

from collections.abc import Callable

import wire
from functions import ngap_node
from functions.env import association_question
from functions.ran_draft import GnbDraft
from functions.trees import Tree, subtree
from schemas.step import SendNgap


def configuration(d: GnbDraft, _: wire.NgapPeek, ies: Tree) -> None:
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


def rim(d: GnbDraft, _: wire.NgapPeek, ies: Tree) -> None:
    """UPLINK RIM INFORMATION TRANSFER: to the node that it names (8.16.1.2)."""
    found = subtree(ies, "RIMInformationTransfer")
    if found:
        pdu = ngap_node.downlink_rim_information_transfer
        _relay(d, found, subtree(found, "targetRANNodeID-RIM"), pdu)


def _relay(d: GnbDraft, content: Tree, node: Tree, pdu: Callable[[Tree], bytes]) -> None:
    target = ngap_node.target_of(node)
    if target is None:
        d.note("a transfer to what is no node of the 5GS")
        return
    gnb, tai = target
    association = d.env.ask(association_question(tai, gnb))
    if not association:
        d.note(f"a transfer to {gnb}, which does not serve {tai.plmn} {tai.tac}")
        return
    d.note(f"a transfer to {gnb}")
    d.outputs.append(SendNgap(gnb, association, pdu(content)))
