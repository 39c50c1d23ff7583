"""NGAP messages about handovers (TS 38.413 9.2.3)."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import wire
from functions.messages import ngap
from functions.messages.ngap import Cause, assistance, node, ue_context
from functions.messages.trees import Tree, subtree
from schemas.connection.state import Connection
from schemas.gsm.state import PduSession, Tunnel, UpSecurity
from schemas.identity import SNssai, Tai
from schemas.network import Network
from schemas.subscriber import Subscriber
from schemas.ue.state import Ue

TRIGGERED: Final = frozenset(
    f"radioNetwork: {name}"
    for name in (
        "ng-intra-system-handover-triggered",
        "ng-inter-system-handover-triggered",
        "xn-handover-triggered",
    )
)
"""The causes, as texts, of a gNB that refuses a request because of a handover."""


class Admitted(NamedTuple):
    """A PDU session that a target admitted, or that a gNB requests to switch."""

    psi: int
    access: Tunnel | None
    transfer: Tree


def switched(ies: Tree) -> list[Admitted]:
    """Return the PDU Session Resource to be Switched in Downlink List of a PATH SWITCH REQUEST."""
    items = ies.get("PDUSessionResourceToBeSwitchedDLList", ())
    return [_admitted(item, "pathSwitchRequestTransfer") for item in items]


def admitted(ies: Tree) -> list[Admitted]:
    """Return the PDU Session Resource Admitted List of a HANDOVER REQUEST ACKNOWLEDGE."""
    items = ies.get("PDUSessionResourceAdmittedList", ())
    return [_admitted(item, "handoverRequestAcknowledgeTransfer") for item in items]


def _admitted(item: Tree, name: str) -> Admitted:
    transfer = subtree(item, name)
    tunnel = ue_context.read_tunnel(subtree(transfer, "dL-NGU-UP-TNLInformation"))
    return Admitted(item["pDUSessionID"], tunnel, transfer)


def failures(ies: Tree) -> dict[int, Cause]:
    """Return the causes of sessions that a target could not set up, by their identities."""
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
    """A Target ID: the node's name as in its NG SETUP, and the tracking area."""

    gnb: str
    tai: Tai


def target_of(ies: Tree) -> Target | None:
    """Return the target of a HANDOVER REQUIRED; None if it is not a gNB or ng-eNB of the 5GS."""
    found = node.target_of(subtree(subtree(ies, "TargetID"), "targetRANNodeID"))
    return Target(*found) if found is not None and ies.get("HandoverType") == "intra5gs" else None


SUCCESSFUL: Final[Cause] = {"radioNetwork": "successful-handover"}
CANCELLED: Final[Cause] = {"radioNetwork": "handover-cancelled"}
FAILED_IN_TARGET: Final[Cause] = {
    "radioNetwork": "ho-failure-in-target-5GC-ngran-node-or-target-system"
}
NOT_ALLOWED: Final[Cause] = {"radioNetwork": "ho-target-not-allowed"}
UNKNOWN_TARGET: Final[Cause] = {"radioNetwork": "unknown-targetID"}
UNKNOWN_SESSION: Final[Cause] = {"radioNetwork": "unknown-PDU-session-ID"}
SAME_SESSION_TWICE: Final[Cause] = {"radioNetwork": "multiple-PDU-session-ID-instances"}
OVERDUE: Final[Cause] = {"radioNetwork": "tngrelocoverall-expiry"}


class NextHop(NamedTuple):
    """The input of a target's key derivation (TS 33.501 6.9.2.1.1)."""

    ncc: int
    nh: bytes
    new: bool
    """Whether they start a new chain, with another K_AMF than the keys in use."""


# Path switch


def path_switch_request_acknowledge(
    connection: Connection,
    capability: bytes,
    hop: NextHop,
    sessions: Mapping[int, UpSecurity | None],
    released: Mapping[int, Cause],
    allowed_nssai: Sequence[SNssai],
) -> bytes:
    """Return a PATH SWITCH REQUEST ACKNOWLEDGE (9.2.3.9).

    The connection has the assistance information for RRC INACTIVE, which the gNBs do not exchange.
    `sessions` has the policy of each session that the gNB has another one for.
    """
    ies: list[Tree] = [
        *ngap.ids(connection),
        {"UESecurityCapabilities": ngap.security_capabilities(capability)},
        _security_context(hop),
        *([{"NewSecurityContextInd": "true"}] if hop.new else []),
        {
            "PDUSessionResourceSwitchedList": [
                {"pDUSessionID": psi, "pathSwitchRequestAcknowledgeTransfer": _policy(security)}
                for psi, security in sessions.items()
            ]
        },
        *([{"PDUSessionResourceReleasedListPSAck": _unswitched(released)}] if released else []),
        {"AllowedNSSAI": [{"s-NSSAI": ngap.s_nssai(value)} for value in allowed_nssai]},
        *assistance.inactive_ies(connection),
    ]
    return wire.ngap_encode({"message": "PathSwitchRequestAcknowledge", "ies": ies})


def _policy(security: UpSecurity | None) -> Tree:
    if security is None:
        return {}
    return {"securityIndication": ue_context.security_indication(security)}


def path_switch_request_failure(
    amf_ue_ngap_id: int,
    ran_ue_ngap_id: int,
    released: Mapping[int, Cause],
    diagnostics: Tree | None = None,
) -> bytes:
    """Return a PATH SWITCH REQUEST FAILURE (9.2.3.10). It has only the causes of the sessions."""
    ies: list[Tree] = [
        {"AMF-UE-NGAP-ID": amf_ue_ngap_id},
        {"RAN-UE-NGAP-ID": ran_ue_ngap_id},
        {"PDUSessionResourceReleasedListPSFail": _unswitched(released)},
        *([{"CriticalityDiagnostics": diagnostics}] if diagnostics is not None else []),
    ]
    return wire.ngap_encode({"message": "PathSwitchRequestFailure", "ies": ies})


def path_switch_refused(ies: Tree, cause: Cause, diagnostics: Tree | None = None) -> bytes | None:
    """Return the failure of all sessions of a PATH SWITCH REQUEST.

    None if the request has no session or lacks an id, which are mandatory in the failure.
    """
    amf, ran = ies.get("SourceAMF-UE-NGAP-ID"), ies.get("RAN-UE-NGAP-ID")
    items: list[Tree] | Tree = ies.get("PDUSessionResourceToBeSwitchedDLList", {})
    if not (isinstance(amf, int) and isinstance(ran, int) and isinstance(items, list)):
        return None  # an IE that cannot be read has its octets as value
    released = dict.fromkeys((item["pDUSessionID"] for item in items), cause)
    return path_switch_request_failure(amf, ran, released, diagnostics)


def _unswitched(released: Mapping[int, Cause]) -> list[Tree]:
    return [
        {"pDUSessionID": psi, "pathSwitchRequestUnsuccessfulTransfer": {"cause": dict(cause)}}
        for psi, cause in released.items()
    ]


def _security_context(hop: NextHop) -> Tree:
    """Return a Security Context (9.3.1.88)."""
    return {"SecurityContext": {"nextHopChainingCount": hop.ncc, "nextHopNH": hop.nh.hex()}}


# Handover


def handover_request(
    ue: Ue,
    target: Connection,
    hop: NextHop,
    required: Tree,
    sessions: Sequence[PduSession],
    network: Network,
    subscriber: Subscriber,
) -> bytes:
    """Return a HANDOVER REQUEST (9.2.3.4) for a HANDOVER REQUIRED.

    The target's connection has the mobility restrictions and the assistance information for RRC
    INACTIVE. The RFSP index is in the container of the source.
    """
    capability = ue.security.capability if ue.security is not None else b""
    direct = required.get("DirectForwardingPathAvailability") is not None
    items = [
        {
            "pDUSessionID": session.id,
            "s-NSSAI": ngap.s_nssai(session.nssai),
            "handoverRequestTransfer": {
                "protocolIEs": ue_context.handover_transfer(session, direct=direct)
            },
        }
        for session in sessions
    ]
    ies: list[Tree] = [
        {"AMF-UE-NGAP-ID": target.amf_ue_ngap_id},
        {"HandoverType": "intra5gs"},
        {"Cause": required.get("Cause", ngap.UNSPECIFIED)},
        ngap.ue_ambr(subscriber.ambr),
        *assistance.inactive_ies(target),
        {"UESecurityCapabilities": ngap.security_capabilities(capability)},
        _security_context(hop),
        *([{"NewSecurityContextInd": "true"}] if hop.new else []),
        {"PDUSessionResourceSetupListHOReq": items},
        {"AllowedNSSAI": [{"s-NSSAI": ngap.s_nssai(value)} for value in ue.allowed_nssai]},
    ]
    if ue.pei.startswith("imeisv-"):
        ies.append({"MaskedIMEISV": ngap.masked_imeisv(ue.pei.removeprefix("imeisv-"))})
    container = "SourceToTarget-TransparentContainer"
    ies.append({container: required[container]})
    ies += assistance.restriction_ies(target.restrictions)
    ies.append({"GUAMI": ngap.guami(network.guami_of(target.tai.plmn))})
    return wire.ngap_encode({"message": "HandoverRequest", "ies": ies})


def handover_command(
    source: Connection,
    sessions: Sequence[Admitted],
    released: Mapping[int, Cause],
    container: str,
) -> bytes:
    """Return a HANDOVER COMMAND (9.2.3.2), with the target's tunnels for forwarded packets."""
    items = [
        {"pDUSessionID": item.psi, "handoverCommandTransfer": _forwarding(item.transfer)}
        for item in sessions
    ]
    ies = [
        *ngap.ids(source),
        {"HandoverType": "intra5gs"},
        {"PDUSessionResourceHandoverList": items},
    ]
    if released:
        name = "handoverPreparationUnsuccessfulTransfer"
        items = [{"pDUSessionID": p, name: {"cause": dict(c)}} for p, c in released.items()]
        ies.append({"PDUSessionResourceToReleaseListHOCmd": items})
    ies.append({"TargetToSource-TransparentContainer": container})
    return wire.ngap_encode({"message": "HandoverCommand", "ies": ies})


def _forwarding(transfer: Tree) -> Tree:
    """Return the Handover Command Transfer (9.3.4.10) for a Handover Request Acknowledge
    Transfer."""
    found: Tree = {}
    for name in ("dLForwardingUP-TNLInformation", "dataForwardingResponseDRBList"):
        if name in transfer:
            found[name] = transfer[name]
    flows = [
        {"qosFlowIdentifier": flow["qosFlowIdentifier"]}
        for flow in transfer.get("qosFlowSetupResponseList", ())
        if "dataForwardingAccepted" in flow
    ]
    if flows and "dLForwardingUP-TNLInformation" in found:
        found["qosFlowToBeForwardedList"] = flows
    return found


def handover_preparation_failure(
    source: Connection, cause: Cause, container: str | None = None
) -> bytes:
    """Return a HANDOVER PREPARATION FAILURE (9.2.3.3)."""
    ies = [*ngap.ids(source), {"Cause": dict(cause)}]
    if container is not None:
        ies.append({"TargettoSource-Failure-TransparentContainer": container})
    return wire.ngap_encode({"message": "HandoverPreparationFailure", "ies": ies})


def handover_cancel_acknowledge(source: Connection) -> bytes:
    """Return a HANDOVER CANCEL ACKNOWLEDGE (9.2.3.12)."""
    return wire.ngap_encode({"message": "HandoverCancelAcknowledge", "ies": ngap.ids(source)})


def handover_success(source: Connection) -> bytes:
    """Return a HANDOVER SUCCESS (9.2.3.15)."""
    return wire.ngap_encode({"message": "HandoverSuccess", "ies": ngap.ids(source)})


def downlink_ran_early_status_transfer(target: Connection, container: Tree) -> bytes:
    """Return a DOWNLINK RAN EARLY STATUS TRANSFER (9.2.3.17)."""
    ies = [*ngap.ids(target), {"EarlyStatusTransfer-TransparentContainer": container}]
    return wire.ngap_encode({"message": "DownlinkRANEarlyStatusTransfer", "ies": ies})


def downlink_ran_status_transfer(target: Connection, container: Tree) -> bytes:
    """Return a DOWNLINK RAN STATUS TRANSFER (9.2.3.14)."""
    ies = [*ngap.ids(target), {"RANStatusTransfer-TransparentContainer": container}]
    return wire.ngap_encode({"message": "DownlinkRANStatusTransfer", "ies": ies})
