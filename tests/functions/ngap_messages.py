"""One valid message of each NGAP procedure that a NG-RAN node initiates (TS 38.413 9.4.3)."""

from typing import Any, Final

from tests.functions.gnb import OM_INTERVENTION, supported

CAUSE: Final = {"Cause": {"radioNetwork": "unspecified"}}
TAI: Final = {"pLMNIdentity": "001-01", "tAC": 1}
CGI: Final = {"pLMNIdentity": "001-01", "nRCellIdentity": 16}
LOCATION: Final = {
    "UserLocationInformation": {"userLocationInformationNR": {"nR-CGI": CGI, "tAI": TAI}}
}
TRACE: Final = {"NGRANTraceID": "0011223344556677"}
S_TMSI: Final = {"FiveG-S-TMSI": {"aMFSetID": 1, "aMFPointer": 0, "fiveG-TMSI": 5}}
MBS: Final = {"MBS-SessionID": {"tMGI": "000000000001"}}
MBS_TRANSFER: Final = {"mBS-SessionID": {"tMGI": "000000000001"}}
CAPABILITIES: Final = {
    "UESecurityCapabilities": {
        "nRencryptionAlgorithms": "c000",
        "nRintegrityProtectionAlgorithms": "c000",
        "eUTRAencryptionAlgorithms": "0000",
        "eUTRAintegrityProtectionAlgorithms": "0000",
    }
}
CONTAINER: Final = "4080000000"


def node(number: int = 1) -> dict[str, Any]:
    """Return a Global RAN Node ID; by default that of the gNB of `tests.functions.world`."""
    gnb_id = {"gNB-ID": {"value": f"{number:06x}", "length": 24}}
    return {"globalGNB-ID": {"pLMNIdentity": "001-01", "gNB-ID": gnb_id}}


def place(number: int = 1, tac: int = 1) -> dict[str, Any]:
    """Return a Target or Source RAN Node ID of a transfer."""
    tai = {"pLMNIdentity": "001-01", "tAC": tac}
    return {"globalRANNodeID": node(number), "selectedTAI": tai}


def son(number: int = 2, tac: int = 1) -> dict[str, Any]:
    """Return a SON Configuration Transfer that requests a gNB's Xn addresses."""
    return {
        "targetRANNodeID-SON": place(number, tac),
        "sourceRANNodeID": place(),
        "sONInformation": {"sONInformationRequest": "xn-TNL-configuration-info"},
    }


def rim(number: int = 2) -> dict[str, Any]:
    """Return a RIM Information Transfer."""
    return {
        "targetRANNodeID-RIM": place(number),
        "sourceRANNodeID": place(),
        "rIMInformation": {"targetgNBSetID": "000004", "rIM-RSDetection": "rs-detected"},
    }


def tunnel(teid: int = 7, address: str = "10.4.0.9") -> dict[str, Any]:
    return {"gTPTunnel": {"transportLayerAddress": address, "gTP-TEID": teid}}


def flows(teid: int = 7, *qfis: int) -> dict[str, Any]:
    """Return a QoS Flow per TNL Information."""
    listed = [{"qosFlowIdentifier": qfi} for qfi in qfis or (1,)]
    return {"uPTransportLayerInformation": tunnel(teid), "associatedQosFlowList": listed}


def indicated(psi: int = 1, teid: int = 7, *qfis: int) -> dict[str, Any]:
    """Return an item of the PDU Session Resource Modify Indication List."""
    transfer = {"dLQosFlowPerTNLInformation": flows(teid, *qfis)}
    return {"pDUSessionID": psi, "pDUSessionResourceModifyIndicationTransfer": transfer}


def usage(psi: int = 1) -> dict[str, Any]:
    """Return an item of the PDU Session Resource Secondary RAT Usage List."""
    times = {"startTimeStamp": "e9f00000", "endTimeStamp": "e9f0003c"}
    timed = [{**times, "usageCountUL": 5, "usageCountDL": 600}]
    report = {
        "pDUSessionUsageReport": {"rATType": "nr", "pDUSessionTimedReportList": timed},
        "qosFlowsUsageReportList": [
            {"qosFlowIdentifier": 1, "rATType": "nr", "qoSFlowsTimedReportList": timed}
        ],
    }
    transfer = {"secondaryRATUsageInformation": report}
    return {"pDUSessionID": psi, "secondaryRATDataUsageReportTransfer": transfer}


OF_NODE: Final[dict[str, list[dict[str, Any]]]] = {
    "ErrorIndication": [CAUSE],
    "NGReset": [{"Cause": OM_INTERVENTION}, {"ResetType": {"nG-Interface": "reset-all"}}],
    "NGSetupRequest": [
        {"GlobalRANNodeID": node()},
        {"SupportedTAList": supported()},
        {"DefaultPagingDRX": "v128"},
    ],
    "PWSFailureIndication": [
        {"PWSFailedCellIDList": {"nR-CGI-PWSFailedList": [CGI]}},
        {"GlobalRANNodeID": node()},
    ],
    "PWSRestartIndication": [
        {"CellIDListForRestart": {"nR-CGIListforRestart": [CGI]}},
        {"GlobalRANNodeID": node()},
        {"TAIListForRestart": [TAI]},
    ],
    "RANConfigurationUpdate": [{"RANNodeName": "renamed"}],
    "UplinkNonUEAssociatedNRPPaTransport": [{"RoutingID": "01"}, {"NRPPa-PDU": "00"}],
    "UplinkRANConfigurationTransfer": [{"SONConfigurationTransferUL": son()}],
    "UplinkRIMInformationTransfer": [{"RIMInformationTransfer": rim()}],
    "RetrieveUEInformation": [S_TMSI],
    "BroadcastSessionReleaseRequired": [MBS, CAUSE],
    "DistributionSetupRequest": [MBS, {"MBS-DistributionSetupRequestTransfer": MBS_TRANSFER}],
    "DistributionReleaseRequest": [
        MBS,
        {
            "MBS-DistributionReleaseRequestTransfer": {
                **MBS_TRANSFER,
                "cause": {"misc": "unspecified"},
            }
        },
        CAUSE,
    ],
    "RANCPRelocationIndication": [
        {"RAN-UE-NGAP-ID": 5},
        S_TMSI,
        {"EUTRA-CGI": {"pLMNIdentity": "001-01", "eUTRACellIdentity": 1}},
        {"TAI": TAI},
        {"UL-CP-SecurityInformation": {"ul-NAS-MAC": "0001", "ul-NAS-Count": 1}},
    ],
}
"""IEs of non-UE-associated messages, or of the first message of a UE."""

OF_UE: Final[dict[str, list[dict[str, Any]]]] = {
    "CellTrafficTrace": [
        TRACE,
        {"NGRAN-CGI": {"nR-CGI": CGI}},
        {"TraceCollectionEntityIPAddress": "10.0.0.1"},
    ],
    "HandoverCancel": [CAUSE],
    "HandoverNotify": [LOCATION],
    "HandoverRequired": [
        {"HandoverType": "intra5gs"},
        CAUSE,
        {"TargetID": {"targetRANNodeID": place(2)}},
        {"PDUSessionResourceListHORqd": [{"pDUSessionID": 1, "handoverRequiredTransfer": {}}]},
        {"SourceToTarget-TransparentContainer": CONTAINER},
    ],
    "LocationReportingFailureIndication": [CAUSE],
    "LocationReport": [
        LOCATION,
        {"LocationReportingRequestType": {"eventType": "direct", "reportArea": "cell"}},
    ],
    "NASNonDeliveryIndication": [{"NAS-PDU": "7e0054"}, CAUSE],
    "PDUSessionResourceModifyIndication": [{"PDUSessionResourceModifyListModInd": [indicated()]}],
    "PDUSessionResourceNotify": [LOCATION],
    "RRCInactiveTransitionReport": [{"RRCState": "inactive"}, LOCATION],
    "TraceFailureIndication": [TRACE, CAUSE],
    "PathSwitchRequest": [
        LOCATION,
        CAPABILITIES,
        {
            "PDUSessionResourceToBeSwitchedDLList": [
                {
                    "pDUSessionID": 1,
                    "pathSwitchRequestTransfer": {
                        "dL-NGU-UP-TNLInformation": tunnel(),
                        "qosFlowAcceptedList": [{"qosFlowIdentifier": 1}],
                    },
                }
            ]
        },
    ],
    "UEContextReleaseRequest": [CAUSE],
    "UERadioCapabilityInfoIndication": [{"UERadioCapability": "0102"}],
    "UplinkNASTransport": [{"NAS-PDU": "7e0043"}, LOCATION],
    "UplinkRANStatusTransfer": [
        {
            "RANStatusTransfer-TransparentContainer": {
                "dRBsSubjectToStatusTransferList": [
                    {
                        "dRB-ID": 1,
                        "dRBStatusUL": {
                            "dRBStatusUL12": {"uL-COUNTValue": {"pDCP-SN12": 1, "hFN-PDCP-SN12": 1}}
                        },
                        "dRBStatusDL": {
                            "dRBStatusDL12": {"dL-COUNTValue": {"pDCP-SN12": 1, "hFN-PDCP-SN12": 1}}
                        },
                    }
                ]
            }
        }
    ],
    "UplinkUEAssociatedNRPPaTransport": [{"RoutingID": "01"}, {"NRPPa-PDU": "00"}],
    "SecondaryRATDataUsageReport": [{"PDUSessionResourceSecondaryRATUsageList": [usage()]}],
    "UEContextResumeRequest": [{"RRC-Resume-Cause": "mo-Data"}],
    "UEContextSuspendRequest": [],
    "UplinkRANEarlyStatusTransfer": [
        {
            "EarlyStatusTransfer-TransparentContainer": {
                "procedureStage": {
                    "first-dl-count": {
                        "dRBsSubjectToEarlyStatusTransfer": [
                            {
                                "dRB-ID": 1,
                                "firstDLCOUNT": {
                                    "dRBStatusDL12": {
                                        "dL-COUNTValue": {"pDCP-SN12": 1, "hFN-PDCP-SN12": 1}
                                    }
                                },
                            }
                        ]
                    }
                }
            }
        }
    ],
}
"""IEs of UE-associated messages, without the two ids."""


def of_node(message: str) -> dict[str, Any]:
    """Return a message of `OF_NODE`."""
    return {"message": message, "ies": OF_NODE[message]}


def of_ue(message: str, amf_ue_ngap_id: int, ran_ue_ngap_id: int) -> dict[str, Any]:
    """Return a message of `OF_UE`."""
    amf_id, ran_id = {"AMF-UE-NGAP-ID": amf_ue_ngap_id}, {"RAN-UE-NGAP-ID": ran_ue_ngap_id}
    ids = [amf_id, ran_id]
    if message == "PathSwitchRequest":
        ids = [ran_id, {"SourceAMF-UE-NGAP-ID": amf_ue_ngap_id}]
    return {"message": message, "ies": [*ids, *OF_UE[message]]}
