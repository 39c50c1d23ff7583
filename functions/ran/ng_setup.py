"""NG SETUP of a RAN node (TS 38.413 8.7.1), and whether the core can serve the node."""

from typing import Final

from functions.decision.env import Env
from functions.messages import ngap
from functions.messages.ngap import node
from functions.messages.trees import Tree, extensions, subtree
from functions.ran.decision import GnbDecision
from schemas.identity import SNssai, Tai
from schemas.network import Network
from schemas.ran import (
    AmfConfiguration,
    AssociationEnded,
    BroadcastPlmn,
    NgSetUp,
    NgSetupFailed,
    PlmnSupport,
    SupportedTa,
)

UNKNOWN_PLMN: Final = {"misc": "unknown-PLMN-or-SNPN"}
SLICE_NOT_SUPPORTED: Final = {"radioNetwork": "slice-not-supported"}
UNSPECIFIED: Final = {"misc": "unspecified"}

TIME_TO_WAIT: Final = "v10s"


def configuration_of(network: Network) -> AmfConfiguration:
    """Return the core's configuration for RAN nodes. PLMNs without a slice are not served."""
    plmns = ((plmn, network.slices(plmn)) for plmn in network.plmns)
    return AmfConfiguration(
        network.name,
        network.guamis,
        network.relative_capacity,
        tuple(PlmnSupport(plmn, slices) for plmn, slices in plmns if slices),
    )


def name_in(ies: Tree) -> str | None:
    """Return the human-readable name of the node, preferably the extended one (8.7.1.2); None
    without one."""
    extended = subtree(ies, "Extended-RANNodeName")
    for part in ("rANNodeNameUTF8String", "rANNodeNameVisibleString"):
        if part in extended:
            return str(extended[part])
    return ies.get("RANNodeName")


def read_supported(items: list[Tree]) -> tuple[SupportedTa, ...]:
    """Return a Supported TA List, without its stand-alone non-public networks (SNPNs): they have
    the PLMN of the operator, but are other networks (TS 23.501 5.30.2)."""
    return tuple(
        SupportedTa(
            item["tAC"],
            tuple(
                BroadcastPlmn(plmn["pLMNIdentity"], _slices(plmn))
                for plmn in item["broadcastPLMNList"]
                if "sNPN" not in subtree(extensions(plmn), "NPN-Support")
            ),
        )
        for item in items
    )


def _slices(plmn: Tree) -> tuple[SNssai, ...]:
    """Return the slices of a Broadcast PLMN Item, of both its lists."""
    more: list[Tree] = extensions(plmn).get("ExtendedTAISliceSupportList", [])
    listed = [*plmn["tAISliceSupportList"], *more]
    return tuple(ngap.read_s_nssai(item["s-NSSAI"]) for item in listed)


def refusal(env: Env, supported: tuple[SupportedTa, ...]) -> Tree | None:
    """Return the cause to refuse a Supported TA List; None if the core can serve it.

    One common tracking area is sufficient: other cores may serve the others.
    """
    network = env.network
    broadcast = [(ta.tac, b) for ta in supported for b in ta.broadcast]
    if not any(b.plmn in network.plmns for _, b in broadcast):
        return UNKNOWN_PLMN  # 8.7.1.4
    areas = [(network.area(Tai(b.plmn, tac)), b.slices) for tac, b in broadcast]
    served = [(area.slices, slices) for area, slices in areas if area is not None]
    if not served:
        return UNSPECIFIED
    if not any(_overlap(ours, theirs) for ours, theirs in served):
        return SLICE_NOT_SUPPORTED
    return None


def _overlap(ours: tuple[SNssai, ...], theirs: tuple[SNssai, ...]) -> bool:
    return not set(ours).isdisjoint(theirs)


def unsupported_kind(ies: Tree) -> str:
    """Return the name of the Global RAN Node ID of an access that the core does not support, such
    as that of an N3IWF or TNGF; empty for a gNB or ng-eNB (9.3.1.5)."""
    found = subtree(ies, "GlobalRANNodeID")
    named = next(iter({**subtree(found, "choice-Extensions"), **found}), "")
    known = "gNB-ID" in subtree(subtree(found, "globalGNB-ID"), "gNB-ID") or bool(
        node.NG_ENB_BITS.keys() & subtree(subtree(found, "globalNgENB-ID"), "ngENB-ID").keys()
    )
    return "" if known else str(named)


def _refuse(d: GnbDecision, cause: Tree, time_to_wait: str) -> None:
    """Send NG SETUP FAILURE. The previous state of the interface is erased too."""
    association = d.origin.association
    if d.gnb.association == association:
        d.release_ues(association, "NG SETUP")
        d.emit(AssociationEnded(association, "NG SETUP was refused"))
    d.emit(NgSetupFailed(association, ngap.cause_text(cause)))
    d.fail("NGSetupRequest", cause, time_to_wait)


def setup(d: GnbDecision, node_id: str, ies: Tree) -> None:
    """Process an NG SETUP REQUEST. It erases the previous state of the interface (8.7.1.1)."""
    association = d.origin.association
    kind = unsupported_kind(ies)
    if kind:
        d.note(f"{kind} is not supported: this core serves gNBs and ng-eNBs")
        _refuse(d, UNSPECIFIED, "")  # it need not try again
        return
    supported = read_supported(ies["SupportedTAList"])
    cause = refusal(d.env, supported)
    if cause is not None:
        _refuse(d, cause, TIME_TO_WAIT)
        return
    if d.gnb.association:
        # All UE contexts are released, as with an NG RESET.
        d.release_ues(d.gnb.association, "NG SETUP")
    told = configuration_of(d.env.network)
    name, drx = name_in(ies) or "", ies.get("DefaultPagingDRX", "")
    d.emit(NgSetUp(node_id, name, association, supported, drx, told))
    d.send_pdu(node.ng_setup_response(told, d.diagnostics))
