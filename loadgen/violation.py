"""Violations of the specifications by the core. Each check of the emulators has a `Kind`."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct


class Kind(StrEnum):
    """The rule that was violated; `CLAUSES` has its clause."""

    AUTN_MAC = "autn-mac"
    AUTN_SEPARATION_BIT = "autn-separation-bit"
    AUTN_SQN = "autn-sqn"
    NGKSI_IN_USE = "ngksi-in-use"
    EAP_UNSUPPORTED = "eap-unsupported"
    NAS_MAC = "nas-mac"
    NAS_COUNT_REUSED = "nas-count-reused"
    NAS_COUNT_BACK = "nas-count-back"
    NAS_DUPLICATE = "nas-duplicate"
    NAS_UNPROTECTED = "nas-unprotected"
    NAS_NO_CONTEXT = "nas-no-context"
    NAS_NOT_CIPHERED = "nas-not-ciphered"
    NAS_HEADER = "nas-header"
    NAS_MALFORMED = "nas-malformed"
    NAS_UNEXPECTED = "nas-unexpected"
    NAS_STATUS = "nas-status"
    NAS_CONTRADICTION = "nas-contradiction"
    SMC_CAPABILITIES = "smc-capabilities"
    SMC_ALGORITHM = "smc-algorithm"
    SMC_NGKSI = "smc-ngksi"
    ACCEPT_RESULT = "accept-result"
    ACCEPT_GUTI = "accept-guti"
    ACCEPT_TAI_LIST = "accept-tai-list"
    ACCEPT_NSSAI = "accept-nssai"
    ACCEPT_CONFIGURED_NSSAI = "accept-configured-nssai"
    ACCEPT_VOICE = "accept-voice"
    NGAP_MALFORMED = "ngap-malformed"
    NGAP_SYNTAX = "ngap-syntax"
    NGAP_IDS = "ngap-ids"
    NGAP_STREAM = "ngap-stream"
    NGAP_UNEXPECTED = "ngap-unexpected"
    NGAP_ERROR_INDICATION = "ngap-error-indication"
    NGAP_RESET = "ngap-reset"
    SETUP_PLMN = "setup-plmn"
    SETUP_SLICES = "setup-slices"
    CONTEXT_MISSING = "context-missing"
    CONTEXT_REPEATED = "context-repeated"
    CONTEXT_KEY = "context-key"
    CONTEXT_CAPABILITIES = "context-capabilities"
    CONTEXT_NSSAI = "context-nssai"
    CONTEXT_GUAMI = "context-guami"
    CONTEXT_IMEISV = "context-imeisv"
    CONTEXT_RADIO = "context-radio"
    CONTEXT_RESTRICTIONS = "context-restrictions"
    CONTEXT_INACTIVE = "context-inactive"
    SM_IDENTITY = "sm-identity"
    SM_UNEXPECTED = "sm-unexpected"
    SM_STATUS = "sm-status"
    SESSION_TYPE = "session-type"
    SESSION_SSC_MODE = "session-ssc-mode"
    SESSION_QOS_RULES = "session-qos-rules"
    SESSION_QOS_FLOWS = "session-qos-flows"
    SESSION_AMBR = "session-ambr"
    SESSION_ADDRESS = "session-address"
    SESSION_SLICE = "session-slice"
    SESSION_DNN = "session-dnn"
    RESOURCE_TRANSFER = "resource-transfer"
    RESOURCE_SESSION = "resource-session"
    RESOURCE_TUNNEL = "resource-tunnel"
    RESOURCE_AMBR = "resource-ambr"
    RESOURCE_SECURITY = "resource-security"
    SERVICE_STATUS = "service-status"
    SERVICE_REACTIVATION = "service-reactivation"
    SERVICE_USER_PLANE = "service-user-plane"
    PAGING_IDENTITY = "paging-identity"
    PAGING_AREA = "paging-area"
    HANDOVER_KEY = "handover-key"
    HANDOVER_SESSIONS = "handover-sessions"
    HANDOVER_CONTAINER = "handover-container"
    HANDOVER_STATUS = "handover-status"
    HANDOVER_UNANSWERED = "handover-unanswered"
    HANDOVER_RELEASE = "handover-release"
    HANDOVER_TUNNEL = "handover-tunnel"
    UPDATE_STATUS = "update-status"


CLAUSES: dict[Kind, str] = {
    Kind.AUTN_MAC: "TS 24.501 5.4.1.3.6",
    Kind.AUTN_SEPARATION_BIT: "TS 33.501 6.1.3.2",
    Kind.AUTN_SQN: "TS 33.102 6.3.5",
    Kind.NGKSI_IN_USE: "TS 24.501 5.4.1.3.2",
    Kind.EAP_UNSUPPORTED: "TS 24.501 5.4.1.2",
    Kind.NAS_MAC: "TS 24.501 4.4.4.2",
    Kind.NAS_COUNT_REUSED: "TS 24.501 4.4.3.1",
    Kind.NAS_COUNT_BACK: "TS 24.501 4.4.3.1",
    Kind.NAS_DUPLICATE: "TS 24.501 4.4.3.2",
    Kind.NAS_UNPROTECTED: "TS 24.501 4.4.4.2",
    Kind.NAS_NO_CONTEXT: "TS 24.501 4.4.2.5",
    Kind.NAS_NOT_CIPHERED: "TS 24.501 4.4.5",
    Kind.NAS_HEADER: "TS 24.501 9.3.1",
    Kind.NAS_MALFORMED: "TS 24.501 clause 7",
    Kind.NAS_UNEXPECTED: "TS 24.501 7.4",
    Kind.NAS_STATUS: "TS 24.501 5.4.6",
    Kind.NAS_CONTRADICTION: "TS 24.501 5.5.1.2.1",
    Kind.SMC_CAPABILITIES: "TS 24.501 5.4.2.3",
    Kind.SMC_ALGORITHM: "TS 33.501 6.7.2",
    Kind.SMC_NGKSI: "TS 24.501 5.4.2.2",
    Kind.ACCEPT_RESULT: "TS 24.501 5.5.1.2.4",
    Kind.ACCEPT_GUTI: "TS 33.501 6.12.3",
    Kind.ACCEPT_TAI_LIST: "TS 24.501 5.5.1.2.4",
    Kind.ACCEPT_NSSAI: "TS 24.501 5.5.1.2.4",
    Kind.ACCEPT_CONFIGURED_NSSAI: "TS 23.501 5.15.4.1.1",
    Kind.ACCEPT_VOICE: "TS 24.501 4.3.2",
    Kind.NGAP_MALFORMED: "TS 38.413 10.2",
    Kind.NGAP_SYNTAX: "TS 38.413 10.3",
    Kind.NGAP_IDS: "TS 38.413 10.6",
    Kind.NGAP_STREAM: "TS 38.412 clause 7",
    Kind.NGAP_UNEXPECTED: "TS 38.413 10.4",
    Kind.NGAP_ERROR_INDICATION: "TS 38.413 8.7.5",
    Kind.NGAP_RESET: "TS 38.413 8.7.4",
    Kind.SETUP_PLMN: "TS 38.413 8.7.1.2",
    Kind.SETUP_SLICES: "TS 38.413 8.7.1.2",
    Kind.CONTEXT_MISSING: "TS 38.413 8.6.1.2",
    Kind.CONTEXT_REPEATED: "TS 38.413 8.3.1.2",
    Kind.CONTEXT_KEY: "TS 33.501 6.8.1.1.2",
    Kind.CONTEXT_CAPABILITIES: "TS 38.413 9.3.1.86",
    Kind.CONTEXT_NSSAI: "TS 38.413 8.3.1.2",
    Kind.CONTEXT_GUAMI: "TS 38.413 8.3.1.2",
    Kind.CONTEXT_IMEISV: "TS 38.413 9.3.1.54",
    Kind.CONTEXT_RADIO: "TS 23.501 5.4.4.1",
    Kind.CONTEXT_RESTRICTIONS: "TS 38.413 9.3.1.85",
    Kind.CONTEXT_INACTIVE: "TS 38.413 9.3.1.15",
    Kind.SM_IDENTITY: "TS 24.501 7.3",
    Kind.SM_UNEXPECTED: "TS 24.501 7.4",
    Kind.SM_STATUS: "TS 24.501 6.5",
    Kind.SESSION_TYPE: "TS 24.501 6.4.1.3",
    Kind.SESSION_SSC_MODE: "TS 24.501 6.4.1.3",
    Kind.SESSION_QOS_RULES: "TS 24.501 6.4.1.3",
    Kind.SESSION_QOS_FLOWS: "TS 24.501 6.2.5.1.1.4",
    Kind.SESSION_AMBR: "TS 24.501 6.4.1.3",
    Kind.SESSION_ADDRESS: "TS 24.501 6.2.4",
    Kind.SESSION_SLICE: "TS 24.501 6.4.1.3",
    Kind.SESSION_DNN: "TS 24.501 6.4.1.3",
    Kind.RESOURCE_TRANSFER: "TS 38.413 9.3.4",
    Kind.RESOURCE_SESSION: "TS 38.413 8.2",
    Kind.RESOURCE_TUNNEL: "TS 38.413 9.3.2.2",
    Kind.RESOURCE_AMBR: "TS 38.413 9.2.2.1",
    Kind.RESOURCE_SECURITY: "TS 38.413 9.3.1.27",
    Kind.SERVICE_STATUS: "TS 24.501 5.6.1.4.1",
    Kind.SERVICE_REACTIVATION: "TS 24.501 5.6.1.4.1",
    Kind.SERVICE_USER_PLANE: "TS 23.502 4.2.3.2",
    Kind.PAGING_IDENTITY: "TS 38.413 8.5.1.2",
    Kind.PAGING_AREA: "TS 38.413 8.5.1.2",
    Kind.HANDOVER_KEY: "TS 33.501 6.9.2.3",
    Kind.HANDOVER_SESSIONS: "TS 38.413 8.4",
    Kind.HANDOVER_CONTAINER: "TS 38.413 8.4.1.2",
    Kind.HANDOVER_STATUS: "TS 38.413 8.4.7",
    Kind.HANDOVER_UNANSWERED: "TS 38.413 8.4",
    Kind.HANDOVER_RELEASE: "TS 23.502 4.9.1.3.3",
    Kind.HANDOVER_TUNNEL: "TS 23.502 4.9.1",
    Kind.UPDATE_STATUS: "TS 24.501 5.5.1.3.4",
}


class Violation(Struct, frozen=True):
    """One violation by the core."""

    kind: Kind
    clause: str
    text: str
    """A sentence about the violation, without secrets."""
    who: str
    """The SUPI, or the name of the gNB."""
    at: float
    """Seconds on the clock of the emulators."""


ReportViolation: TypeAlias = Callable[[Kind, str], None]
"""Reports a violation of a part of an emulator: its kind and a sentence."""


def violation(kind: Kind, text: str, who: str, at: float) -> Violation:
    """Return a violation with the clause of its kind."""
    return Violation(kind, CLAUSES[kind], text, who, at)
