"""The messages of TS 38.413 clause 9.2 in Release 17."""

from typing import Final, NamedTuple

UP, DOWN, BOTH = "NG-RAN → AMF", "AMF → NG-RAN", "both"

_OF_UE: Final = """
9.2.1: <PDUSessionResourceSetupRequest >PDUSessionResourceSetupResponse
  <PDUSessionResourceReleaseCommand >PDUSessionResourceReleaseResponse
  <PDUSessionResourceModifyRequest >PDUSessionResourceModifyResponse >PDUSessionResourceNotify
  >PDUSessionResourceModifyIndication <PDUSessionResourceModifyConfirm
9.2.2: <InitialContextSetupRequest >InitialContextSetupResponse >InitialContextSetupFailure
  >UEContextReleaseRequest <UEContextReleaseCommand >UEContextReleaseComplete
  <UEContextModificationRequest >UEContextModificationResponse >UEContextModificationFailure
  >RRCInactiveTransitionReport <ConnectionEstablishmentIndication <AMFCPRelocationIndication
  >RANCPRelocationIndication >RetrieveUEInformation <UEInformationTransfer
  >UEContextSuspendRequest <UEContextSuspendResponse <UEContextSuspendFailure
  >UEContextResumeRequest <UEContextResumeResponse <UEContextResumeFailure
9.2.3: >HandoverRequired <HandoverCommand <HandoverPreparationFailure <HandoverRequest
  >HandoverRequestAcknowledge >HandoverFailure >HandoverNotify >PathSwitchRequest
  <PathSwitchRequestAcknowledge <PathSwitchRequestFailure >HandoverCancel
  <HandoverCancelAcknowledge >UplinkRANStatusTransfer <DownlinkRANStatusTransfer <HandoverSuccess
  >UplinkRANEarlyStatusTransfer <DownlinkRANEarlyStatusTransfer
9.2.5: >InitialUEMessage <DownlinkNASTransport >UplinkNASTransport >NASNonDeliveryIndication
  <RerouteNASRequest
9.2.10: <TraceStart >TraceFailureIndication <DeactivateTrace >CellTrafficTrace
9.2.11: <LocationReportingControl >LocationReportingFailureIndication >LocationReport
9.2.12: <UETNLABindingReleaseRequest
9.2.13: >UERadioCapabilityInfoIndication <UERadioCapabilityCheckRequest
  >UERadioCapabilityCheckResponse <UERadioCapabilityIDMappingRequest
  >UERadioCapabilityIDMappingResponse
9.2.14: >SecondaryRATDataUsageReport
"""
"""The messages about one UE, by clause and in their order.

The AMF sends ``<``, the NG-RAN node sends ``>``, and both send ``=``.
"""

_OF_NODES: Final = """
9.2.4: <Paging <MulticastGroupPaging
9.2.6: >NGSetupRequest <NGSetupResponse <NGSetupFailure >RANConfigurationUpdate
  <RANConfigurationUpdateAcknowledge <RANConfigurationUpdateFailure <AMFConfigurationUpdate
  >AMFConfigurationUpdateAcknowledge >AMFConfigurationUpdateFailure <AMFStatusIndication =NGReset
  =NGResetAcknowledge =ErrorIndication <OverloadStart <OverloadStop
9.2.7: >UplinkRANConfigurationTransfer <DownlinkRANConfigurationTransfer
9.2.8: <WriteReplaceWarningRequest >WriteReplaceWarningResponse <PWSCancelRequest
  >PWSCancelResponse >PWSRestartIndication >PWSFailureIndication
9.2.9: <DownlinkUEAssociatedNRPPaTransport >UplinkUEAssociatedNRPPaTransport
  <DownlinkNonUEAssociatedNRPPaTransport >UplinkNonUEAssociatedNRPPaTransport
9.2.15: >UplinkRIMInformationTransfer <DownlinkRIMInformationTransfer
9.2.16: <BroadcastSessionSetupRequest >BroadcastSessionSetupResponse >BroadcastSessionSetupFailure
  <BroadcastSessionModificationRequest >BroadcastSessionModificationResponse
  >BroadcastSessionModificationFailure <BroadcastSessionReleaseRequest
  >BroadcastSessionReleaseResponse >BroadcastSessionReleaseRequired
9.2.17: >DistributionSetupRequest <DistributionSetupResponse <DistributionSetupFailure
  >DistributionReleaseRequest <DistributionReleaseResponse <MulticastSessionActivationRequest
  >MulticastSessionActivationResponse >MulticastSessionActivationFailure
  <MulticastSessionDeactivationRequest >MulticastSessionDeactivationResponse
  <MulticastSessionUpdateRequest >MulticastSessionUpdateResponse >MulticastSessionUpdateFailure
"""
"""The messages that are not about one UE, in the same form."""

_OF_UE_TOO: Final = ("UplinkUEAssociatedNRPPaTransport", "DownlinkUEAssociatedNRPPaTransport")
"""Messages about one UE in clauses of `_OF_NODES`."""


class NgapMessage(NamedTuple):
    """A message: its name in wire, its clause, its direction, and whether it is about one UE."""

    name: str
    clause: str
    direction: str
    of_ue: bool


def _read(text: str, *, of_ue: bool) -> list[NgapMessage]:
    found: list[NgapMessage] = []
    clause, number = "", 0
    for word in text.split():
        if word.endswith(":"):
            clause, number = word.removesuffix(":"), 0
            continue
        number += 1
        name = word[1:]
        direction = {">": UP, "<": DOWN, "=": BOTH}[word[0]]
        about = of_ue or name in _OF_UE_TOO
        found.append(NgapMessage(name, f"{clause}.{number}", direction, about))
    return found


def _place(message: NgapMessage) -> list[int]:
    return [int(part) for part in message.clause.split(".")]


MESSAGES: Final = {
    message.name: message
    for message in sorted([*_read(_OF_UE, of_ue=True), *_read(_OF_NODES, of_ue=False)], key=_place)
}
