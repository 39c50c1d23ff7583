"""The optional IEs and fields of uplink NGAP messages that a gNB must not send at will.

The ASN.1 of TS 38.413 says which IEs and fields are optional. The tables say which of them have a
condition that a gNB of loadgen does not meet, or another result of the procedure as their meaning.
All others are drawn at random.
"""

from typing import Final

_PROCEDURE: Final = "the procedure decides it"
_REROUTED: Final = "only in a message that an AMF has rerouted"
_OTHER_NODE: Final = "only from another kind of node: ng-eNB, IAB, W-AGF, TNGF, SNPN or CAG cell"
_REQUESTED: Final = "only if the AMF has requested it"
_ANSWERED: Final = "the AMF answers it with another message"
_FORWARDED: Final = "the AMF forwards it to another node"
_TUNNELS: Final = "it names further tunnels: dual connectivity, redundant transmission, MBS"
_INDICATED: Final = "only as an answer to a field that the SMF has sent"

LEFT_OUT_IES: Final[dict[str, str]] = {
    "AMF-TNLAssociationSetupList": _PROCEDURE,
    "AMF-UE-NGAP-ID": _PROCEDURE,
    "AMFSetID": _REROUTED,
    "AUN3DeviceAccessInfo": _OTHER_NODE,
    "AllowedNSSAI": _REROUTED,
    "AuthenticatedIndication": _OTHER_NODE,
    "CEmodeBSupport-Indicator": _OTHER_NODE,
    "Cause": _PROCEDURE,
    "EDT-Session": _OTHER_NODE,
    "EN-DCSONConfigurationTransfer": _FORWARDED,
    "FiveG-S-TMSI": _PROCEDURE,
    "GlobalRANNodeID": _PROCEDURE,
    "IABNodeIndication": _OTHER_NODE,
    "IntersystemSONConfigurationTransfer": _FORWARDED,
    "LTEM-Indication": _OTHER_NODE,
    "MobileIABNodeIndication": _OTHER_NODE,
    "NB-IoT-DefaultPagingDRX": _OTHER_NODE,
    "NGRAN-TNLAssociationToRemoveList": _PROCEDURE,
    "NID": _OTHER_NODE,
    "NPN-AccessInformation": _OTHER_NODE,
    "NotifySourceNGRANNode": _ANSWERED,
    "OCTET STRING": _OTHER_NODE,
    "PDUSessionResourceFailedToModifyListModRes": _PROCEDURE,
    "PDUSessionResourceFailedToSetupListCxtFail": _PROCEDURE,
    "PDUSessionResourceFailedToSetupListCxtRes": _PROCEDURE,
    "PDUSessionResourceFailedToSetupListHOAck": _PROCEDURE,
    "PDUSessionResourceFailedToSetupListPSReq": _PROCEDURE,
    "PDUSessionResourceFailedToSetupListSURes": _PROCEDURE,
    "PDUSessionResourceListCxtRelCpl": _PROCEDURE,
    "PDUSessionResourceListCxtRelReq": _PROCEDURE,
    "PDUSessionResourceModifyListModRes": _PROCEDURE,
    "PDUSessionResourceNotifyList": _PROCEDURE,
    "PDUSessionResourceReleasedListNot": _PROCEDURE,
    "PDUSessionResourceSetupListCxtRes": _PROCEDURE,
    "PDUSessionResourceSetupListSURes": _PROCEDURE,
    "Partially-Allowed-NSSAI": _REROUTED,
    "RAN-UE-NGAP-ID": _PROCEDURE,
    "RIMInformationTransfer": _FORWARDED,
    "RRCState": _REQUESTED,
    "SONConfigurationTransfer": _FORWARDED,
    "SourceToTarget-AMFInformationReroute": _REROUTED,
    "SupportedTAList": _PROCEDURE,
    "TNLAssociationList": _PROCEDURE,
    "UE-associatedLogicalNG-connectionList": _PROCEDURE,
    "UEContextRequest": _PROCEDURE,
    "UERetentionInformation": "the AMF keeps the UEs of the association before",
}
"""Optional IEs of messages (9.2), by the name of their type, with the reason."""

_ANY: Final = "*"

LEFT_OUT_FIELDS: Final[dict[tuple[str, str], str]] = {
    ("AssociatedQosFlowItem", "qosFlowMappingIndication"): _TUNNELS,
    ("BroadcastPLMNItem", "ExtendedSliceSupportList"): _PROCEDURE,
    ("BroadcastPLMNItem", "NPN-Support"): _OTHER_NODE,
    ("DRBStatusUL12", "receiveStatusOfUL-PDCP-SDUs"): _PROCEDURE,
    ("DRBStatusUL18", "receiveStatusOfUL-PDCP-SDUs"): _PROCEDURE,
    ("HandoverRequestAcknowledgeTransfer", "qosFlowFailedToSetupList"): _PROCEDURE,
    ("HandoverRequestAcknowledgeTransfer", "securityResult"): _INDICATED,
    ("PDUSessionResourceModifyIndicationTransfer", "SecurityResult"): _INDICATED,
    ("PDUSessionResourceModifyResponseTransfer", "dL-NGU-UP-TNLInformation"): _PROCEDURE,
    ("PDUSessionResourceModifyResponseTransfer", "qosFlowAddOrModifyResponseList"): _PROCEDURE,
    ("PDUSessionResourceModifyResponseTransfer", "qosFlowFailedToAddOrModifyList"): _PROCEDURE,
    ("PDUSessionResourceModifyResponseTransfer", "uL-NGU-UP-TNLInformation"): _PROCEDURE,
    ("PDUSessionResourceNotifyTransfer", "qosFlowNotifyList"): _PROCEDURE,
    ("PDUSessionResourceNotifyTransfer", "qosFlowReleasedList"): _PROCEDURE,
    ("PDUSessionResourceSetupResponseTransfer", "qosFlowFailedToSetupList"): _PROCEDURE,
    ("PDUSessionResourceSetupResponseTransfer", "securityResult"): _INDICATED,
    ("PathSwitchRequestTransfer", "dL-NGU-TNLInformationReused"): _PROCEDURE,
    ("PathSwitchRequestTransfer", "userPlaneSecurityInformation"): _INDICATED,
    ("S-NSSAI", "sD"): _PROCEDURE,
    ("SupportedTAItem", "RAT-Information"): _OTHER_NODE,
    ("UE-associatedLogicalNG-connectionItem", "aMF-UE-NGAP-ID"): _PROCEDURE,
    ("UE-associatedLogicalNG-connectionItem", "rAN-UE-NGAP-ID"): _PROCEDURE,
    ("UserLocationInformationNR", "MobileIAB-MTUserLocationInformation"): _OTHER_NODE,
    ("UserLocationInformationNR", "NRNTNTAIInformation"): _OTHER_NODE,
    (_ANY, "AdditionalDLUPTNLInformationForHOList"): _TUNNELS,
    (_ANY, "AlternativeQoSParaSetIndex"): _INDICATED,
    (_ANY, "AlternativeQoSParaSetNotifyIndex"): _INDICATED,
    (_ANY, "DL-NGU-TNLInformationReused"): _TUNNELS,
    (_ANY, "DataForwardingResponseERABList"): _OTHER_NODE,
    (_ANY, "ECNMarkingorCongestionInformationReportingStatus"): _INDICATED,
    (_ANY, "ExtendedPacketDelayBudget"): _INDICATED,
    (_ANY, "MBSSessionFailedtoSetupList"): _INDICATED,
    (_ANY, "MBSSessionSetupResponseList"): _INDICATED,
    (_ANY, "NID"): _OTHER_NODE,
    (_ANY, "QoSFlowTSCList"): _INDICATED,
    (_ANY, "QosFlowAdditionalInfoListRelRes"): _INDICATED,
    (_ANY, "QosFlowFeedbackList"): _INDICATED,
    (_ANY, "QosFlowPerTNLInformation"): _TUNNELS,
    (_ANY, "QosFlowPerTNLInformationList"): _TUNNELS,
    (_ANY, "RedundantPDUSessionInformation"): _TUNNELS,
    (_ANY, "TLContainer"): _INDICATED,
    (_ANY, "TSCTrafficCharacteristicsFeedback"): _INDICATED,
    (_ANY, "UPTransportLayerInformation"): _TUNNELS,
    (_ANY, "UPTransportLayerInformationList"): _TUNNELS,
    (_ANY, "UPTransportLayerInformationPairList"): _TUNNELS,
    (_ANY, "additionalDLQosFlowPerTNLInformation"): _TUNNELS,
}
"""Optional fields and extensions (9.3), by the type around them, with the reason."""


def left_out(owner: str, field: str) -> bool:
    """Whether a field, or an extension of this type, must not be drawn in a type."""
    return (owner, field) in LEFT_OUT_FIELDS or (_ANY, field) in LEFT_OUT_FIELDS
