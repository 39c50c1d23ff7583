"""5GMM cause values (TS 24.501 table 9.11.3.2.1) that the core sends or understands."""

from enum import IntEnum


class GmmCause(IntEnum):
    """A 5GMM cause."""

    ILLEGAL_UE = 3
    PEI_NOT_ACCEPTED = 5
    ILLEGAL_ME = 6
    SERVICES_NOT_ALLOWED = 7
    IDENTITY_CANNOT_BE_DERIVED = 9
    IMPLICITLY_DEREGISTERED = 10
    PLMN_NOT_ALLOWED = 11
    TRACKING_AREA_NOT_ALLOWED = 12
    MAC_FAILURE = 20
    SYNCH_FAILURE = 21
    CONGESTION = 22
    SECURITY_CAPABILITIES_MISMATCH = 23
    SECURITY_MODE_REJECTED = 24
    NON_5G_AUTHENTICATION_UNACCEPTABLE = 26
    N1_MODE_NOT_ALLOWED = 27
    NO_NETWORK_SLICES = 62
    NGKSI_IN_USE = 71
    PAYLOAD_NOT_FORWARDED = 90
    SEMANTICALLY_INCORRECT = 95
    INVALID_MANDATORY_INFORMATION = 96
    MESSAGE_TYPE_NOT_IMPLEMENTED = 97
    MESSAGE_NOT_COMPATIBLE_WITH_STATE = 98
    PROTOCOL_ERROR = 111

    @property
    def text(self) -> str:
        """The cause as logs and reports show it: ``"#62 no-network-slices"``."""
        return f"#{self.value} {self.name.lower().replace('_', '-')}"
