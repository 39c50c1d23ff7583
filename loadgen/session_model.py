"""A PDU session as its UE and its gNB have it, and what a UE asks for."""

from ipaddress import ip_address
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from loadgen.identity import SNssai

SessionType: TypeAlias = Literal["ipv4", "ipv6", "ipv4v6"]
MAX_PSI = 15
"""The last PDU session identity that a UE gives (TS 24.007 11.2.3.1b)."""


class SessionRequest(Struct, frozen=True):
    """What a UE asks for in PDU SESSION ESTABLISHMENT REQUEST and beside it."""

    dnn: str | None = "internet"
    """None leaves the choice to the network."""
    s_nssai: SNssai | None = None
    """None leaves the choice to the network."""
    session_type: SessionType = "ipv4"


class Tunnel(Struct, frozen=True):
    """One end of a GTP-U tunnel, an F-TEID (TS 38.413 9.3.2.2)."""

    address: str
    teid: int

    def __str__(self) -> str:
        return f"{self.address} TEID {self.teid:#010x}"

    @staticmethod
    def of_ngap(tree: Any) -> "Tunnel | None":
        """The tunnel of UP Transport Layer Information, None for another tree."""
        try:
            found = tree["gTPTunnel"]
            return Tunnel(str(ip_address(found["transportLayerAddress"])), found["gTP-TEID"])
        except (KeyError, TypeError, ValueError):
            return None

    def ngap(self) -> dict[str, Any]:
        """Its tree as UP Transport Layer Information."""
        return {"gTPTunnel": {"transportLayerAddress": self.address, "gTP-TEID": self.teid}}


class Resource(Struct):
    """What a gNB has set up for a PDU session: its user plane is active."""

    psi: int
    ul: Tunnel
    """The UPF's end."""
    dl: Tunnel
    """The gNB's own end."""
    session_type: str
    flows: dict[int, int | None]
    """The 5QI of each QFI, None for a dynamic one without."""
    ambr: tuple[int, int] | None
    """Downlink and uplink, in bit/s."""


class Session(Struct):
    """A PDU session in a UE."""

    psi: int
    dnn: str
    s_nssai: SNssai | None
    session_type: str
    address: str
    """The IPv4 address; for IPv6 alone, the link-local address of its interface identifier."""
    qfis: tuple[int, ...]
    """The first is that of the default QoS rule."""
    ambr: tuple[int, int]
    """Downlink and uplink, in kbit/s."""
    ul: Tunnel | None = None
    """The UPF's end as the gNB was told it last, active or not."""
    answered: int = 0
    """The digest of the last 5GSM message about it that was taken."""
    agreed: float = 0.0
    """When UE and network were last known to be at one that it is there."""


class SessionRecord(Struct, frozen=True):
    """A session that is there at the end of a run, to be compared with what the UPF has."""

    supi: str
    psi: int
    dnn: str
    address: str
    qfi: int
    active: bool
    """Whether its user plane is up."""
    ul: Tunnel | None
    dl: Tunnel | None
    """None while it is not active."""
