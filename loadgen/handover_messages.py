"""The NGAP messages of handovers that a gNB sends (TS 38.413 9.2.3)."""

from collections.abc import Iterable
from typing import Any

from loadgen.ngap_gnb import GnbConfig, encode, location
from loadgen.session_model import Resource
from loadgen.trees import Tree

WANTED = "handover-desirable-for-radio-reason"
REFUSED = "no-radio-resources-available-in-target-cell"
CANCELLED = "handover-cancelled"
NOT_ADMITTED = "radio-resources-not-available"


def global_gnb(config: GnbConfig) -> Tree:
    """The Global gNB ID of a gNB (9.3.1.6)."""
    gnb_id = {"gNB-ID": {"value": f"{config.gnb_id:06x}", "length": 24}}
    return {"pLMNIdentity": config.plmn, "gNB-ID": gnb_id}


def path_switch_request(
    ran_ue_ngap_id: int,
    source_amf_ue_ngap_id: int,
    config: GnbConfig,
    capabilities: Tree,
    switched: Iterable[Resource],
    failed: Iterable[int] = (),
) -> bytes:
    """PATH SWITCH REQUEST with the tunnels of the target (9.2.3.8)."""
    done = [
        {"pDUSessionID": one.psi, "pathSwitchRequestTransfer": _new_tunnel(one)} for one in switched
    ]
    cause = {"cause": {"radioNetwork": NOT_ADMITTED}}
    lost = [{"pDUSessionID": psi, "pathSwitchRequestSetupFailedTransfer": cause} for psi in failed]
    ies: list[Tree] = [
        {"RAN-UE-NGAP-ID": ran_ue_ngap_id},
        {"SourceAMF-UE-NGAP-ID": source_amf_ue_ngap_id},
        location(config),
        {"UESecurityCapabilities": capabilities},
        {"PDUSessionResourceToBeSwitchedDLList": done},
    ]
    if lost:
        ies.append({"PDUSessionResourceFailedToSetupListPSReq": lost})
    return encode("PathSwitchRequest", *ies)


def _new_tunnel(one: Resource) -> dict[str, Any]:
    flows = [{"qosFlowIdentifier": qfi} for qfi in one.flows]
    return {"dL-NGU-UP-TNLInformation": one.dl.ngap(), "qosFlowAcceptedList": flows}


def handover_required(
    ids: tuple[Tree, Tree], target: GnbConfig, psis: Iterable[int], container: bytes
) -> bytes:
    """HANDOVER REQUIRED to another gNB of the AMF (9.2.3.1)."""
    tai = {"pLMNIdentity": target.plmn, "tAC": target.tac}
    node = {"globalRANNodeID": {"globalGNB-ID": global_gnb(target)}, "selectedTAI": tai}
    sessions: list[Tree] = [{"pDUSessionID": psi, "handoverRequiredTransfer": {}} for psi in psis]
    return encode(
        "HandoverRequired",
        *ids,
        {"HandoverType": "intra5gs"},
        {"Cause": {"radioNetwork": WANTED}},
        {"TargetID": {"targetRANNodeID": node}},
        {"PDUSessionResourceListHORqd": sessions},
        {"SourceToTarget-TransparentContainer": container.hex()},
    )


def handover_request_acknowledge(
    ids: tuple[Tree, Tree], admitted: Iterable[Resource], refused: Iterable[int], container: bytes
) -> bytes:
    """HANDOVER REQUEST ACKNOWLEDGE (9.2.3.5)."""
    done: list[Tree] = []
    for one in admitted:
        flows = [{"qosFlowIdentifier": qfi} for qfi in one.flows]
        transfer = {"dL-NGU-UP-TNLInformation": one.dl.ngap(), "qosFlowSetupResponseList": flows}
        done.append({"pDUSessionID": one.psi, "handoverRequestAcknowledgeTransfer": transfer})
    cause = {"cause": {"radioNetwork": NOT_ADMITTED}}
    name = "handoverResourceAllocationUnsuccessfulTransfer"
    failed = [{"pDUSessionID": psi, name: cause} for psi in refused]
    ies: list[Tree] = [{"PDUSessionResourceAdmittedList": done}]
    if failed:
        ies.append({"PDUSessionResourceFailedToSetupListHOAck": failed})
    answer = {"TargetToSource-TransparentContainer": container.hex()}
    return encode("HandoverRequestAcknowledge", *ids, *ies, answer)


def handover_failure(amf_ue_ngap_id: int, cause: str = REFUSED) -> bytes:
    """HANDOVER FAILURE (9.2.3.6)."""
    amf = {"AMF-UE-NGAP-ID": amf_ue_ngap_id}
    return encode("HandoverFailure", amf, {"Cause": {"radioNetwork": cause}})


def handover_notify(ids: tuple[Tree, Tree], config: GnbConfig) -> bytes:
    """HANDOVER NOTIFY from the target (9.2.3.7)."""
    return encode("HandoverNotify", *ids, location(config))


def handover_cancel(ids: tuple[Tree, Tree]) -> bytes:
    """HANDOVER CANCEL (9.2.3.11)."""
    return encode("HandoverCancel", *ids, {"Cause": {"radioNetwork": CANCELLED}})


def uplink_ran_status_transfer(ids: tuple[Tree, Tree], status: Tree) -> bytes:
    """UPLINK RAN STATUS TRANSFER (9.2.3.13)."""
    container = {"RANStatusTransfer-TransparentContainer": status}
    return encode("UplinkRANStatusTransfer", *ids, container)


def drb_status(psis: Iterable[int], count: int) -> Tree:
    """The status of one DRB a session, whose PDCP COUNTs stand at `count` (9.3.1.108)."""
    drbs: list[Tree] = []
    for psi in psis:
        value = {"pDCP-SN18": (count + psi) & 0x3FFFF, "hFN-PDCP-SN18": count >> 18}
        uplink = {"dRBStatusUL18": {"uL-COUNTValue": value}}
        downlink = {"dRBStatusDL18": {"dL-COUNTValue": value}}
        drbs.append({"dRB-ID": psi, "dRBStatusUL": uplink, "dRBStatusDL": downlink})
    return {"dRBsSubjectToStatusTransferList": drbs}


def ue_context_modification_response(ids: tuple[Tree, Tree]) -> bytes:
    """UE CONTEXT MODIFICATION RESPONSE (9.2.2.8)."""
    return encode("UEContextModificationResponse", *ids)
