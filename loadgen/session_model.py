"""A PDU session in a UE and in a gNB, and the parameters that a UE requests."""

from ipaddress import ip_address
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from loadgen.identity import SNssai

SessionType: TypeAlias = Literal["ipv4", "ipv6", "ipv4v6"]
MAX_PSI = 15
"""The last PDU session identity that a UE gives (TS 24.007 11.2.3.1b)."""


class SessionRequest(Struct, frozen=True):
    """The parameters of PDU SESSION ESTABLISHMENT REQUEST and its UL NAS TRANSPORT."""

    dnn: str | None = "internet"
    """None lets the network choose."""
    s_nssai: SNssai | None = None
    """None lets the network choose."""
    session_type: SessionType = "ipv4"


class Tunnel(Struct, frozen=True):
    """One end of a GTP-U tunnel, an F-TEID (TS 38.413 9.3.2.2)."""

    address: str
    teid: int

    def __str__(self) -> str:
        return f"{self.address} TEID {self.teid:#010x}"

    @staticmethod
    def of_ngap(tree: Any) -> "Tunnel | None":
        """Return the tunnel of UP Transport Layer Information; None for any other tree."""
        try:
            found = tree["gTPTunnel"]
            return Tunnel(str(ip_address(found["transportLayerAddress"])), found["gTP-TEID"])
        except (KeyError, TypeError, ValueError):
            return None

    def ngap(self) -> dict[str, Any]:
        """Return the tree of UP Transport Layer Information."""
        return {"gTPTunnel": {"transportLayerAddress": self.address, "gTP-TEID": self.teid}}


class SecurityPolicy(Struct, frozen=True):
    """The Security Indication of a PDU session (TS 38.413 9.3.1.27)."""

    integrity: str
    """``required``, ``preferred`` or ``not-needed``."""
    confidentiality: str
    rate: str | None
    """The uplink Maximum Integrity Protected Data Rate."""

    @staticmethod
    def of_ngap(tree: Any) -> "SecurityPolicy | None":
        """Return the policy of a Security Indication; None for any other tree."""
        try:
            return SecurityPolicy(
                tree["integrityProtectionIndication"],
                tree["confidentialityProtectionIndication"],
                tree.get("maximumIntegrityProtectedDataRate-UL"),
            )
        except (KeyError, TypeError, AttributeError):
            return None

    def ngap(self) -> dict[str, Any]:
        """Return the tree of the Security Indication."""
        rate = {} if self.rate is None else {"maximumIntegrityProtectedDataRate-UL": self.rate}
        return {
            "integrityProtectionIndication": self.integrity,
            "confidentialityProtectionIndication": self.confidentiality,
            **rate,
        }

    def result(self) -> dict[str, Any]:
        """Return the Security Result (9.3.1.59) of a gNB that can do both."""
        return {
            f"{kind}ProtectionResult": "not-performed" if value == "not-needed" else "performed"
            for kind, value in (
                ("integrity", self.integrity),
                ("confidentiality", self.confidentiality),
            )
        }


class Resource(Struct):
    """A gNB's resources of a PDU session with an active user plane."""

    psi: int
    ul: Tunnel
    """The UPF's end."""
    dl: Tunnel
    """The gNB's own end."""
    session_type: str
    flows: dict[int, int | None]
    """The 5QI by QFI; None for a dynamic 5QI without a value."""
    ambr: tuple[int, int] | None
    """Downlink and uplink, in bit/s."""
    security: SecurityPolicy | None = None
    """None if the gNB decides about the security of user data."""


class Session(Struct):
    """A PDU session in a UE."""

    psi: int
    dnn: str
    s_nssai: SNssai | None
    session_type: str
    address: str
    """The IPv4 address; for IPv6 alone, the link-local address of its interface identifier."""
    qfis: tuple[int, ...]
    """The QFI of the default QoS rule is first."""
    ambr: tuple[int, int]
    """Downlink and uplink, in kbit/s."""
    ul: Tunnel | None = None
    """The UPF's end that the gNB received last, active or not."""
    answered: int = 0
    """The digest of the last processed 5GSM message of the session."""
    agreed: float = 0.0
    """When UE and network last confirmed the session to each other."""


class SessionRecord(Struct, frozen=True):
    """A session at the end of a run, for a comparison with the UPF."""

    supi: str
    psi: int
    dnn: str
    address: str
    qfi: int
    active: bool
    """Whether the user plane is active."""
    ul: Tunnel | None
    dl: Tunnel | None
    """None if the user plane is not active."""
