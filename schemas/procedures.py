"""Which procedure processes which message: the one table for routing, hosting and replay.

A gateway uses it with the part of a message that it can read. The runtime uses it with the
deciphered message. To add a procedure, follow docs/adding-a-procedure.md.
"""

from enum import StrEnum
from typing import Final

from schemas.cloudevents import EventType


class Procedure(StrEnum):
    """The procedures, by the names of their subjects and deployments."""

    RAN = "ran"
    IDENTIFICATION = "identification"
    REGISTRATION = "registration"
    DEREGISTRATION = "deregistration"
    AN_RELEASE = "an-release"
    SESSION = "session"
    SERVICE_REQUEST = "service-request"
    PAGING = "paging"
    CONFIGURATION_UPDATE = "configuration-update"
    HANDOVER = "handover"
    UE_CONTEXT = "ue-context"
    UPF = "upf"


DEFAULT: Final = Procedure.REGISTRATION
"""The procedure for a UE's message if the message does not show its procedure: it is ciphered or
unknown."""

MODULES: Final[dict[Procedure, str]] = {
    Procedure.RAN: "functions.ran.procedure",
    Procedure.IDENTIFICATION: "functions.gmm.identification",
    Procedure.REGISTRATION: "functions.gmm.registration.procedure",
    Procedure.DEREGISTRATION: "functions.gmm.deregistration.procedure",
    Procedure.AN_RELEASE: "functions.gmm.an_release",
    Procedure.SESSION: "functions.gsm.procedure",
    Procedure.SERVICE_REQUEST: "functions.gmm.service_request",
    Procedure.PAGING: "functions.gmm.paging",
    Procedure.CONFIGURATION_UPDATE: "functions.gmm.configuration_update",
    Procedure.HANDOVER: "functions.mobility.procedure",
    Procedure.UE_CONTEXT: "functions.gmm.ue_context",
    Procedure.UPF: "functions.upf.procedure",
}

NAS_MESSAGES: Final[dict[int, Procedure]] = {
    0x41: Procedure.REGISTRATION,  # REGISTRATION REQUEST
    0x43: Procedure.REGISTRATION,  # REGISTRATION COMPLETE
    0x57: Procedure.REGISTRATION,  # AUTHENTICATION RESPONSE
    0x59: Procedure.REGISTRATION,  # AUTHENTICATION FAILURE
    0x5C: Procedure.REGISTRATION,  # IDENTITY RESPONSE
    0x5E: Procedure.REGISTRATION,  # SECURITY MODE COMPLETE
    0x5F: Procedure.REGISTRATION,  # SECURITY MODE REJECT
    0x45: Procedure.DEREGISTRATION,  # DEREGISTRATION REQUEST (UE originating)
    0x48: Procedure.DEREGISTRATION,  # DEREGISTRATION ACCEPT (UE terminated)
    0x55: Procedure.CONFIGURATION_UPDATE,  # CONFIGURATION UPDATE COMPLETE
    0x4C: Procedure.SERVICE_REQUEST,  # SERVICE REQUEST
    0x67: Procedure.SESSION,  # UL NAS TRANSPORT
}
"""5GMM message types (TS 24.501 table 9.7.1)."""

NGAP_MESSAGES: Final[dict[str, Procedure]] = {
    "InitialContextSetupResponse": Procedure.REGISTRATION,
    "InitialContextSetupFailure": Procedure.REGISTRATION,
    "UERadioCapabilityInfoIndication": Procedure.REGISTRATION,
    "NASNonDeliveryIndication": Procedure.HANDOVER,
    "UEContextReleaseRequest": Procedure.AN_RELEASE,
    "UEContextReleaseComplete": Procedure.AN_RELEASE,
    "ErrorIndication": Procedure.AN_RELEASE,
    "PDUSessionResourceSetupResponse": Procedure.SESSION,
    "PDUSessionResourceModifyResponse": Procedure.SESSION,
    "PDUSessionResourceReleaseResponse": Procedure.SESSION,
    "PDUSessionResourceNotify": Procedure.SESSION,
    "PathSwitchRequest": Procedure.HANDOVER,
    "HandoverRequired": Procedure.HANDOVER,
    "HandoverRequestAcknowledge": Procedure.HANDOVER,
    "HandoverFailure": Procedure.HANDOVER,
    "HandoverNotify": Procedure.HANDOVER,
    "HandoverCancel": Procedure.HANDOVER,
    "UplinkRANStatusTransfer": Procedure.HANDOVER,
    "UplinkRANEarlyStatusTransfer": Procedure.HANDOVER,
    "PDUSessionResourceModifyIndication": Procedure.SESSION,
    "UEContextModificationResponse": Procedure.UE_CONTEXT,
    "UEContextModificationFailure": Procedure.UE_CONTEXT,
    "RRCInactiveTransitionReport": Procedure.UE_CONTEXT,
    "LocationReport": Procedure.UE_CONTEXT,
    "LocationReportingFailureIndication": Procedure.UE_CONTEXT,
    "SecondaryRATDataUsageReport": Procedure.UE_CONTEXT,
    "CellTrafficTrace": Procedure.UE_CONTEXT,
    "TraceFailureIndication": Procedure.UE_CONTEXT,
    "UplinkUEAssociatedNRPPaTransport": Procedure.UE_CONTEXT,
    "UEContextSuspendRequest": Procedure.UE_CONTEXT,
    "UEContextResumeRequest": Procedure.UE_CONTEXT,
}
"""UE-associated NGAP messages that contain no NAS message to route by."""

UE_MESSAGES: Final = frozenset({*NGAP_MESSAGES, "InitialUEMessage", "UplinkNASTransport"})
"""All UE-associated NGAP messages that the core understands."""

OPENING: Final = frozenset({"InitialUEMessage", "PathSwitchRequest", "HandoverRequestAcknowledge"})
"""NGAP messages that are the first of their UE on an association. A gateway starts counting at
them."""

PFCP_MESSAGES: Final[dict[str, Procedure]] = {
    "SessionEstablishmentResponse": Procedure.SESSION,
    "SessionModificationResponse": Procedure.SESSION,
    "SessionDeletionResponse": Procedure.SESSION,
    "SessionReportRequest": Procedure.PAGING,
}
"""PFCP messages of a session, by their names in wire. `upf` processes all others."""

EVENTS: Final[dict[str, Procedure]] = {
    EventType.IDENTIFIED: Procedure.REGISTRATION,
    EventType.UNIDENTIFIED: Procedure.REGISTRATION,
    EventType.CONNECTION_LOST: Procedure.AN_RELEASE,
    EventType.PFCP_UNANSWERED: Procedure.SESSION,
    EventType.PFCP_ENDED: Procedure.SESSION,
    EventType.SESSION_LOST: Procedure.SESSION,
    EventType.SESSION_RELEASE: Procedure.SESSION,
    EventType.DEREGISTER: Procedure.DEREGISTRATION,
    EventType.SUBSCRIPTION_CHANGED: Procedure.DEREGISTRATION,
}

TIMERS: Final[dict[str, Procedure]] = {
    "T3550": Procedure.REGISTRATION,
    "T3560": Procedure.REGISTRATION,
    "T3570": Procedure.REGISTRATION,
    "ng-release": Procedure.AN_RELEASE,
    "n4": Procedure.SESSION,
    "T3591": Procedure.SESSION,
    "T3592": Procedure.SESSION,
    "T3513": Procedure.PAGING,
    "T3522": Procedure.DEREGISTRATION,
    "T3555": Procedure.CONFIGURATION_UPDATE,
    "mobile-reachable": Procedure.DEREGISTRATION,
    "implicit-deregistration": Procedure.DEREGISTRATION,
    "handover": Procedure.HANDOVER,
    "downlink-data": Procedure.PAGING,
}
"""The timers of a UE, by the procedure that processes their expiry. The timer of a session has the
session's number after a slash: ``T3592/5``."""


def procedure_of_timer(name: str) -> Procedure:
    """Return the procedure that processes the expiry of a timer."""
    return TIMERS[name.partition("/")[0]]
