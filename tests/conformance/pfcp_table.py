"""The messages of TS 29.244 clause 7, by their names in wire."""

from typing import Final

CP, UPF, BOTH = "CP function → UPF", "UPF → CP function", "both"

PFCP: Final = (
    ("7.4.2.1", "HeartbeatRequest", BOTH),
    ("7.4.2.2", "HeartbeatResponse", BOTH),
    ("7.4.3.1", "PFDManagementRequest", CP),
    ("7.4.3.2", "PFDManagementResponse", UPF),
    ("7.4.4.1", "AssociationSetupRequest", BOTH),
    ("7.4.4.2", "AssociationSetupResponse", BOTH),
    ("7.4.4.3", "AssociationUpdateRequest", BOTH),
    ("7.4.4.4", "AssociationUpdateResponse", BOTH),
    ("7.4.4.5", "AssociationReleaseRequest", CP),
    ("7.4.4.6", "AssociationReleaseResponse", UPF),
    ("7.4.4.7", "VersionNotSupportedResponse", BOTH),
    ("7.4.5.1", "NodeReportRequest", UPF),
    ("7.4.5.2", "NodeReportResponse", CP),
    ("7.4.6.1", "SessionSetDeletionRequest", BOTH),
    ("7.4.6.2", "SessionSetDeletionResponse", BOTH),
    ("7.4.7.1", "SessionSetModificationRequest", CP),
    ("7.4.7.2", "SessionSetModificationResponse", UPF),
    ("7.5.2", "SessionEstablishmentRequest", CP),
    ("7.5.3", "SessionEstablishmentResponse", UPF),
    ("7.5.4", "SessionModificationRequest", CP),
    ("7.5.5", "SessionModificationResponse", UPF),
    ("7.5.6", "SessionDeletionRequest", CP),
    ("7.5.7", "SessionDeletionResponse", UPF),
    ("7.5.8", "SessionReportRequest", UPF),
    ("7.5.9", "SessionReportResponse", CP),
)
"""Clause, name and direction."""
