"""Violations of the specifications by a control plane on N4. Each check of the UPF has a kind."""

from enum import StrEnum

from msgspec import Struct


class PfcpKind(StrEnum):
    """The rule that was violated; `PFCP_CLAUSES` has its clause."""

    SYNTAX = "pfcp-syntax"
    UNEXPECTED = "pfcp-unexpected"
    SEID = "pfcp-seid"
    F_SEID_IN_USE = "pfcp-f-seid-in-use"
    FEATURE = "pfcp-feature"
    RULE_DUPLICATE = "pfcp-rule-duplicate"
    RULE_UNKNOWN = "pfcp-rule-unknown"
    RULE_REFERENCE = "pfcp-rule-reference"
    PDI_SOURCE = "pfcp-pdi-source"
    F_TEID_MISSING = "pfcp-f-teid-missing"
    F_TEID_OPTION = "pfcp-f-teid-option"
    F_TEID_IN_USE = "pfcp-f-teid-in-use"
    HEADER_REMOVAL = "pfcp-header-removal"
    HEADER_CREATION = "pfcp-header-creation"
    UE_ADDRESS = "pfcp-ue-address"
    UE_ADDRESS_IN_USE = "pfcp-ue-address-in-use"
    NETWORK_INSTANCE = "pfcp-network-instance"
    APPLY_ACTION = "pfcp-apply-action"
    FORWARDING = "pfcp-forwarding"
    DIRECTION = "pfcp-direction"
    QER_GATE = "pfcp-qer-gate"
    QER_QFI = "pfcp-qer-qfi"
    SESSION_AMBR = "pfcp-session-ambr"
    FORMER_SESSION = "pfcp-former-session"


PFCP_CLAUSES: dict[PfcpKind, str] = {
    PfcpKind.SYNTAX: "TS 29.244 7.6",
    PfcpKind.UNEXPECTED: "TS 29.244 table 7.3-1",
    PfcpKind.SEID: "TS 29.244 7.2.2.4.2",
    PfcpKind.F_SEID_IN_USE: "TS 29.244 5.6.2",
    PfcpKind.FEATURE: "TS 29.244 8.2.25",
    PfcpKind.RULE_DUPLICATE: "TS 29.244 7.5.2",
    PfcpKind.RULE_UNKNOWN: "TS 29.244 7.5.4",
    PfcpKind.RULE_REFERENCE: "TS 29.244 table 7.5.2.2-1",
    PfcpKind.PDI_SOURCE: "TS 29.244 table 7.5.2.2-2",
    PfcpKind.F_TEID_MISSING: "TS 29.244 5.5.3",
    PfcpKind.F_TEID_OPTION: "TS 29.244 5.5.1",
    PfcpKind.F_TEID_IN_USE: "TS 29.244 5.5.1",
    PfcpKind.HEADER_REMOVAL: "TS 29.244 table 7.5.2.2-1",
    PfcpKind.HEADER_CREATION: "TS 29.244 table 7.5.2.3-2",
    PfcpKind.UE_ADDRESS: "TS 29.244 8.2.62",
    PfcpKind.UE_ADDRESS_IN_USE: "TS 23.501 5.8.2.2",
    PfcpKind.NETWORK_INSTANCE: "TS 29.244 table 7.5.2.2-2",
    PfcpKind.APPLY_ACTION: "TS 29.244 8.2.26",
    PfcpKind.FORWARDING: "TS 29.244 table 7.5.2.3-1",
    PfcpKind.DIRECTION: "TS 29.244 8.2.24",
    PfcpKind.QER_GATE: "TS 29.244 table 7.5.2.5-1",
    PfcpKind.QER_QFI: "TS 29.244 table 7.5.2.5-1",
    PfcpKind.SESSION_AMBR: "TS 23.501 5.7.1.8",
    PfcpKind.FORMER_SESSION: "TS 23.527 4.3.2",
}


class PfcpViolation(Struct, frozen=True):
    """One violation by the control plane; like `loadgen.violation.Violation`."""

    kind: PfcpKind
    clause: str
    text: str
    """A sentence about the violation."""
    who: str
    """The SUPI, else the CP function's SEID, else its address."""
    at: float
    """Seconds on the clock of the event loop."""


class PfcpFault(Struct, frozen=True):
    """Why a request is refused: the violation, and the IEs for the answer."""

    kind: PfcpKind
    text: str
    cause: int
    """Clause 8.2.1."""
    rule: tuple[str, int] | None = None
    """For a Failed Rule ID: ``PDR``, ``FAR``, ``QER``, ``URR`` or ``BAR``, and the rule's
    number."""
    offending_ie: int | None = None
    """For an Offending IE: the type of the IE."""


REJECTED = 64
SESSION_CONTEXT_NOT_FOUND = 65
MANDATORY_IE_MISSING = 66
CONDITIONAL_IE_MISSING = 67
INVALID_F_TEID_ALLOCATION_OPTION = 71
NO_ESTABLISHED_ASSOCIATION = 72
RULE_FAILURE = 73
NO_RESOURCES_AVAILABLE = 75
SERVICE_NOT_SUPPORTED = 76
RESTORATION_FAILURE = 86
"""Causes (clause 8.2.1) in the emulator's answers."""
