"""The NGAP messages of a gNB (TS 38.413 9.2): building them, and reading IEs and PAGING."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

import wire
from loadgen.gnb.behaviour import GnbBehaviour
from loadgen.identity import SNssai
from loadgen.session_model import Resource
from loadgen.trees import Tree, items, number, part

GNB_ID_BITS = 24


class GnbConfig(Struct, frozen=True):
    """The identity of a gNB and its broadcast parameters."""

    name: str
    gnb_id: int
    plmn: str = "001-01"
    """The PLMN of its Global RAN Node ID, which it broadcasts first."""
    plmns: tuple[str, ...] = ()
    """The other PLMNs that it broadcasts (MOCN, TS 23.501 5.18)."""
    tac: int = 1
    slices: tuple[SNssai, ...] = field(default_factory=lambda: (SNssai(1, "010203"),))
    n3_address: str = "127.0.0.1"
    """The gNB's address for GTP-U tunnels."""
    gnb_id_bits: int = GNB_ID_BITS
    """The size of the gNB ID, 22 to 32 bits (9.3.1.6)."""
    behaviour: GnbBehaviour = GnbBehaviour()

    @property
    def broadcast(self) -> tuple[str, ...]:
        """All PLMNs that it broadcasts, each with the same TAC and slices."""
        return self.plmn, *self.plmns

    @property
    def cell(self) -> int:
        """The NR cell identity of its one cell: the gNB ID, then the cell number 1; 36 bits."""
        return self.gnb_id << (36 - self.gnb_id_bits) | 1


def encode(message: str, *ies: Tree) -> bytes:
    """Return the PDU of a message with these IEs."""
    return wire.ngap_encode({"message": message, "ies": list(ies)})


def peek(pdu: bytes) -> wire.NgapPeek | None:
    """Return the routing IEs of a PDU; None if the octets are not an NGAP PDU."""
    try:
        return wire.ngap_peek(pdu)
    except wire.WireError:
        return None


def ies_of(pdu: bytes) -> Tree:
    """Return the IEs of a PDU by name; of several with one name the first.

    Raises:
        wire.WireError: the PDU does not decode.
    """
    found: Tree = {}
    for ie in items(wire.ngap_decode(pdu), "ies"):
        for name, value in ie.items():
            if name != "criticality":
                found.setdefault(name, value)
    return found


def location(config: GnbConfig, plmn: str) -> Tree:
    """Return the User Location Information IE of a UE that has selected a PLMN of the gNB's cell.

    The TAI has the selected PLMN, the NR CGI the first of the cell.
    """
    cell = {"pLMNIdentity": config.plmn, "nRCellIdentity": config.cell}
    tai = {"pLMNIdentity": plmn, "tAC": config.tac}
    nr = {"nR-CGI": cell, "tAI": tai}
    return {"UserLocationInformation": {"userLocationInformationNR": nr}}


def supported_tas(config: GnbConfig) -> Tree:
    """Return the Supported TA List IE."""
    slices = [s.ngap() for s in config.slices]
    broadcast = [{"pLMNIdentity": p, "tAISliceSupportList": slices} for p in config.broadcast]
    return {"SupportedTAList": [{"tAC": config.tac, "broadcastPLMNList": broadcast}]}


def ng_setup_request(config: GnbConfig) -> bytes:
    """Return NG SETUP REQUEST."""
    return encode(
        "NGSetupRequest",
        {"GlobalRANNodeID": {"globalGNB-ID": global_gnb(config)}},
        {"RANNodeName": config.name},
        supported_tas(config),
        {"DefaultPagingDRX": "v128"},
    )


def ran_configuration_update(config: GnbConfig) -> bytes:
    """Return RAN CONFIGURATION UPDATE with the name and the tracking areas."""
    return encode("RANConfigurationUpdate", {"RANNodeName": config.name}, supported_tas(config))


def initial_ue_message(
    ran_ue_ngap_id: int,
    nas: bytes,
    uli: Tree,
    cause: str,
    s_tmsi: tuple[int, int, int] | None,
    *,
    context: bool,
) -> bytes:
    """Return INITIAL UE MESSAGE."""
    ies: list[Tree] = [
        {"RAN-UE-NGAP-ID": ran_ue_ngap_id},
        {"NAS-PDU": nas.hex()},
        uli,
        {"RRCEstablishmentCause": cause},
    ]
    if s_tmsi is not None:
        names = zip(("aMFSetID", "aMFPointer", "fiveG-TMSI"), s_tmsi, strict=True)
        ies.append({"FiveG-S-TMSI": dict(names)})
    if context:
        ies.append({"UEContextRequest": "requested"})
    return encode("InitialUEMessage", *ies)


def ue_ids(amf_ue_ngap_id: int, ran_ue_ngap_id: int) -> tuple[Tree, Tree]:
    """Return the two IEs that name a UE-associated logical NG-connection."""
    return {"AMF-UE-NGAP-ID": amf_ue_ngap_id}, {"RAN-UE-NGAP-ID": ran_ue_ngap_id}


def uplink_nas_transport(ids: tuple[Tree, Tree], nas: bytes, uli: Tree) -> bytes:
    """Return UPLINK NAS TRANSPORT."""
    return encode("UplinkNASTransport", *ids, {"NAS-PDU": nas.hex()}, uli)


def _session_list(name: str, psis: Iterable[int]) -> list[Tree]:
    found = [{"pDUSessionID": psi} for psi in psis]
    return [{name: found}] if found else []


def ue_context_release_request(
    ids: tuple[Tree, Tree], cause: str, psis: Iterable[int] = ()
) -> bytes:
    """Return UE CONTEXT RELEASE REQUEST with a radio network layer cause and the active
    sessions."""
    sessions = _session_list("PDUSessionResourceListCxtRelReq", psis)
    return encode("UEContextReleaseRequest", *ids, *sessions, {"Cause": {"radioNetwork": cause}})


def ue_context_release_complete(
    ids: tuple[Tree, Tree],
    uli: Tree,
    psis: Iterable[int] = (),
    recommended: GnbConfig | None = None,
) -> bytes:
    """Return UE CONTEXT RELEASE COMPLETE with the sessions that were active, and with the cell of
    `recommended` for the next paging."""
    ies = [uli]
    if recommended is not None:
        cells = {"recommendedCellList": [{"nGRAN-CGI": _cgi(recommended), "timeStayedInCell": 60}]}
        node = {"aMFPagingTarget": {"globalRANNodeID": {"globalGNB-ID": global_gnb(recommended)}}}
        paging = {
            "recommendedCellsForPaging": cells,
            "recommendRANNodesForPaging": {"recommendedRANNodeList": [node]},
        }
        ies.append({"InfoOnRecommendedCellsAndRANNodesForPaging": paging})
    sessions = _session_list("PDUSessionResourceListCxtRelCpl", psis)
    return encode("UEContextReleaseComplete", *ids, *ies, *sessions)


def _cgi(config: GnbConfig) -> Tree:
    return {"nR-CGI": {"pLMNIdentity": config.plmn, "nRCellIdentity": config.cell}}


def initial_context_setup_failure(ids: tuple[Tree, Tree], cause: Tree) -> bytes:
    """Return INITIAL CONTEXT SETUP FAILURE."""
    return encode("InitialContextSetupFailure", *ids, {"Cause": cause})


def nas_non_delivery(ids: tuple[Tree, Tree], nas: bytes, cause: str) -> bytes:
    """Return NAS NON DELIVERY INDICATION with a radio network layer cause."""
    ies = {"NAS-PDU": nas.hex()}, {"Cause": {"radioNetwork": cause}}
    return encode("NASNonDeliveryIndication", *ids, *ies)


def error_indication(
    amf_ue_ngap_id: int | None,
    ran_ue_ngap_id: int | None,
    cause: Tree,
    diagnostics: Tree | None = None,
) -> bytes:
    """Return ERROR INDICATION with the AP IDs as received (10.6)."""
    ies: list[Tree] = []
    if amf_ue_ngap_id is not None:
        ies.append({"AMF-UE-NGAP-ID": amf_ue_ngap_id})
    if ran_ue_ngap_id is not None:
        ies.append({"RAN-UE-NGAP-ID": ran_ue_ngap_id})
    ies.append({"Cause": cause})
    if diagnostics is not None:
        ies.append({"CriticalityDiagnostics": diagnostics})
    return encode("ErrorIndication", *ies)


def connections(pairs: list[tuple[int | None, int]]) -> list[Tree]:
    """Return the items of a UE-associated Logical NG-connection List."""
    return [
        {"rAN-UE-NGAP-ID": ran} if amf is None else {"aMF-UE-NGAP-ID": amf, "rAN-UE-NGAP-ID": ran}
        for amf, ran in pairs
    ]


def ng_reset(pairs: list[tuple[int | None, int]] | None, cause: Tree) -> bytes:
    """Return NG RESET of the whole interface, or of some UEs' connections."""
    kind: Tree = {"nG-Interface": "reset-all"}
    if pairs is not None:
        kind = {"partOfNG-Interface": connections(pairs)}
    return encode("NGReset", {"Cause": cause}, {"ResetType": kind})


def ng_reset_acknowledge(some: list[Tree]) -> bytes:
    """Return NG RESET ACKNOWLEDGE, with the connections of a partial reset (8.7.4.2)."""
    ies = [{"UE-associatedLogicalNG-connectionList": some}] if some else []
    return encode("NGResetAcknowledge", *ies)


WANTED = "handover-desirable-for-radio-reason"
REFUSED = "no-radio-resources-available-in-target-cell"
CANCELLED = "handover-cancelled"
NOT_ADMITTED = "radio-resources-not-available"


def global_gnb(config: GnbConfig) -> Tree:
    """Return the Global gNB ID (9.3.1.6)."""
    size = config.gnb_id_bits
    padded = config.gnb_id << -size % 8
    gnb_id = {"gNB-ID": {"value": f"{padded:0{(size + 7) // 8 * 2}x}", "length": size}}
    return {"pLMNIdentity": config.plmn, "gNB-ID": gnb_id}


def path_switch_request(
    ran_ue_ngap_id: int,
    source_amf_ue_ngap_id: int,
    uli: Tree,
    capabilities: Tree,
    switched: Iterable[Resource],
    failed: Iterable[int] = (),
) -> bytes:
    """Return PATH SWITCH REQUEST with the tunnels of the target (9.2.3.8)."""
    done = [
        {"pDUSessionID": one.psi, "pathSwitchRequestTransfer": _new_tunnel(one)} for one in switched
    ]
    cause = {"cause": {"radioNetwork": NOT_ADMITTED}}
    lost = [{"pDUSessionID": psi, "pathSwitchRequestSetupFailedTransfer": cause} for psi in failed]
    ies: list[Tree] = [
        {"RAN-UE-NGAP-ID": ran_ue_ngap_id},
        {"SourceAMF-UE-NGAP-ID": source_amf_ue_ngap_id},
        uli,
        {"UESecurityCapabilities": capabilities},
        {"PDUSessionResourceToBeSwitchedDLList": done},
    ]
    if lost:
        ies.append({"PDUSessionResourceFailedToSetupListPSReq": lost})
    return encode("PathSwitchRequest", *ies)


def _new_tunnel(one: Resource) -> dict[str, Any]:
    """Return a Path Switch Request Transfer (9.3.4.8), with the policy that the source has sent."""
    flows = [{"qosFlowIdentifier": qfi} for qfi in one.flows]
    transfer = {"dL-NGU-UP-TNLInformation": one.dl.ngap(), "qosFlowAcceptedList": flows}
    if one.security is not None:
        transfer["userPlaneSecurityInformation"] = {
            "securityResult": one.security.result(),
            "securityIndication": one.security.ngap(),
        }
    return transfer


def handover_required(
    ids: tuple[Tree, Tree], target: GnbConfig, plmn: str, psis: Iterable[int], container: bytes
) -> bytes:
    """Return HANDOVER REQUIRED to a PLMN of another gNB of the same AMF (9.2.3.1)."""
    tai = {"pLMNIdentity": plmn, "tAC": target.tac}
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
    """Return HANDOVER REQUEST ACKNOWLEDGE (9.2.3.5)."""
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
    """Return HANDOVER FAILURE (9.2.3.6)."""
    amf = {"AMF-UE-NGAP-ID": amf_ue_ngap_id}
    return encode("HandoverFailure", amf, {"Cause": {"radioNetwork": cause}})


def handover_notify(ids: tuple[Tree, Tree], uli: Tree) -> bytes:
    """Return HANDOVER NOTIFY of the target (9.2.3.7)."""
    return encode("HandoverNotify", *ids, uli)


def handover_cancel(ids: tuple[Tree, Tree]) -> bytes:
    """Return HANDOVER CANCEL (9.2.3.11)."""
    return encode("HandoverCancel", *ids, {"Cause": {"radioNetwork": CANCELLED}})


def uplink_ran_status_transfer(ids: tuple[Tree, Tree], status: Tree) -> bytes:
    """Return UPLINK RAN STATUS TRANSFER (9.2.3.13)."""
    container = {"RANStatusTransfer-TransparentContainer": status}
    return encode("UplinkRANStatusTransfer", *ids, container)


def drb_status(psis: Iterable[int], count: int) -> Tree:
    """Return the status of one DRB for each session, with PDCP COUNTs from `count` on
    (9.3.1.108)."""
    drbs: list[Tree] = []
    for psi in psis:
        value = {"pDCP-SN18": (count + psi) & 0x3FFFF, "hFN-PDCP-SN18": count >> 18}
        uplink = {"dRBStatusUL18": {"uL-COUNTValue": value}}
        downlink = {"dRBStatusDL18": {"dL-COUNTValue": value}}
        drbs.append({"dRB-ID": psi, "dRBStatusUL": uplink, "dRBStatusDL": downlink})
    return {"dRBsSubjectToStatusTransferList": drbs}


def ue_context_modification_response(ids: tuple[Tree, Tree]) -> bytes:
    """Return UE CONTEXT MODIFICATION RESPONSE (9.2.2.8)."""
    return encode("UEContextModificationResponse", *ids)


class Paging(NamedTuple):
    """The UE that the AMF pages, and the area (TS 38.413 8.5.1, 9.2.4.1)."""

    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI; None for another identity."""
    areas: frozenset[tuple[str, int]]
    """PLMN and TAC of each TAI."""
    cells: frozenset[int]
    """The NR cell identities of the Recommended Cells for Paging."""


def read_paging(ies: Tree) -> Paging:
    """Read the IEs of a PAGING."""
    identity = part(part(ies, "UEPagingIdentity"), "fiveG-S-TMSI")
    found = tuple(number(identity, name) for name in ("aMFSetID", "aMFPointer", "fiveG-TMSI"))
    tais = [part(item, "tAI") for item in items(ies, "TAIListForPaging")]
    areas = [(str(tai.get("pLMNIdentity")), number(tai, "tAC")) for tai in tais]
    one, two, three = found
    s_tmsi = None if one is None or two is None or three is None else (one, two, three)
    data = part(part(ies, "AssistanceDataForPaging"), "assistanceDataForRecommendedCells")
    listed = items(part(data, "recommendedCellsForPaging"), "recommendedCellList")
    cgis = [part(part(item, "nGRAN-CGI"), "nR-CGI") for item in listed]
    cells = frozenset(number(cgi, "nRCellIdentity") or 0 for cgi in cgis)
    return Paging(s_tmsi, frozenset((plmn, tac) for plmn, tac in areas if tac is not None), cells)
