"""The messages of TS 24.501: tables 9.7.1 and 9.7.2."""

from typing import Final, NamedTuple

UP, DOWN, BOTH = "UE → network", "network → UE", "both"


class NasMessage(NamedTuple):
    """A line of TS 24.501 table 9.7.1 or 9.7.2."""

    type: int
    name: str
    clause: str
    direction: str


GMM: Final = tuple(
    NasMessage(*line)
    for line in (
        (0x41, "REGISTRATION REQUEST", "8.2.6", UP),
        (0x42, "REGISTRATION ACCEPT", "8.2.7", DOWN),
        (0x43, "REGISTRATION COMPLETE", "8.2.8", UP),
        (0x44, "REGISTRATION REJECT", "8.2.9", DOWN),
        (0x45, "DEREGISTRATION REQUEST (UE originating)", "8.2.12", UP),
        (0x46, "DEREGISTRATION ACCEPT (UE originating)", "8.2.13", DOWN),
        (0x47, "DEREGISTRATION REQUEST (UE terminated)", "8.2.14", DOWN),
        (0x48, "DEREGISTRATION ACCEPT (UE terminated)", "8.2.15", UP),
        (0x4C, "SERVICE REQUEST", "8.2.16", UP),
        (0x4D, "SERVICE REJECT", "8.2.18", DOWN),
        (0x4E, "SERVICE ACCEPT", "8.2.17", DOWN),
        (0x4F, "CONTROL PLANE SERVICE REQUEST", "8.2.30", UP),
        (0x50, "NETWORK SLICE-SPECIFIC AUTHENTICATION COMMAND", "8.2.31", DOWN),
        (0x51, "NETWORK SLICE-SPECIFIC AUTHENTICATION COMPLETE", "8.2.32", UP),
        (0x52, "NETWORK SLICE-SPECIFIC AUTHENTICATION RESULT", "8.2.33", DOWN),
        (0x54, "CONFIGURATION UPDATE COMMAND", "8.2.19", DOWN),
        (0x55, "CONFIGURATION UPDATE COMPLETE", "8.2.20", UP),
        (0x56, "AUTHENTICATION REQUEST", "8.2.1", DOWN),
        (0x57, "AUTHENTICATION RESPONSE", "8.2.2", UP),
        (0x58, "AUTHENTICATION REJECT", "8.2.5", DOWN),
        (0x59, "AUTHENTICATION FAILURE", "8.2.4", UP),
        (0x5A, "AUTHENTICATION RESULT", "8.2.3", DOWN),
        (0x5B, "IDENTITY REQUEST", "8.2.21", DOWN),
        (0x5C, "IDENTITY RESPONSE", "8.2.22", UP),
        (0x5D, "SECURITY MODE COMMAND", "8.2.25", DOWN),
        (0x5E, "SECURITY MODE COMPLETE", "8.2.26", UP),
        (0x5F, "SECURITY MODE REJECT", "8.2.27", UP),
        (0x64, "5GMM STATUS", "8.2.29", BOTH),
        (0x65, "NOTIFICATION", "8.2.23", DOWN),
        (0x66, "NOTIFICATION RESPONSE", "8.2.24", UP),
        (0x67, "UL NAS TRANSPORT", "8.2.10", UP),
        (0x68, "DL NAS TRANSPORT", "8.2.11", DOWN),
        (0x69, "RELAY KEY REQUEST", "8.2.34", UP),
        (0x6A, "RELAY KEY ACCEPT", "8.2.35", DOWN),
        (0x6B, "RELAY KEY REJECT", "8.2.36", DOWN),
        (0x6C, "RELAY AUTHENTICATION REQUEST", "8.2.37", DOWN),
        (0x6D, "RELAY AUTHENTICATION RESPONSE", "8.2.38", UP),
    )
)

GSM: Final = tuple(
    NasMessage(*line)
    for line in (
        (0xC1, "PDU SESSION ESTABLISHMENT REQUEST", "8.3.1", UP),
        (0xC2, "PDU SESSION ESTABLISHMENT ACCEPT", "8.3.2", DOWN),
        (0xC3, "PDU SESSION ESTABLISHMENT REJECT", "8.3.3", DOWN),
        (0xC5, "PDU SESSION AUTHENTICATION COMMAND", "8.3.4", DOWN),
        (0xC6, "PDU SESSION AUTHENTICATION COMPLETE", "8.3.5", UP),
        (0xC7, "PDU SESSION AUTHENTICATION RESULT", "8.3.6", DOWN),
        (0xC9, "PDU SESSION MODIFICATION REQUEST", "8.3.7", UP),
        (0xCA, "PDU SESSION MODIFICATION REJECT", "8.3.8", DOWN),
        (0xCB, "PDU SESSION MODIFICATION COMMAND", "8.3.9", DOWN),
        (0xCC, "PDU SESSION MODIFICATION COMPLETE", "8.3.10", UP),
        (0xCD, "PDU SESSION MODIFICATION COMMAND REJECT", "8.3.11", UP),
        (0xD1, "PDU SESSION RELEASE REQUEST", "8.3.12", UP),
        (0xD2, "PDU SESSION RELEASE REJECT", "8.3.13", DOWN),
        (0xD3, "PDU SESSION RELEASE COMMAND", "8.3.14", DOWN),
        (0xD4, "PDU SESSION RELEASE COMPLETE", "8.3.15", UP),
        (0xD6, "5GSM STATUS", "8.3.16", BOTH),
        (0xD8, "SERVICE-LEVEL AUTHENTICATION COMMAND", "8.3.17", DOWN),
        (0xD9, "SERVICE-LEVEL AUTHENTICATION COMPLETE", "8.3.18", UP),
        (0xDA, "REMOTE UE REPORT", "8.3.19", UP),
        (0xDB, "REMOTE UE REPORT RESPONSE", "8.3.20", DOWN),
    )
)

GMM_NAMES: Final = {message.type: message.name for message in GMM}
GSM_NAMES: Final = {message.type: message.name for message in GSM}
