"""PDU sessions (TS 23.501 5.6, 5.8): part of the state of a UE."""

from typing import Literal

from msgspec import Struct

from schemas.identity import SNssai
from schemas.network import UpProtection
from schemas.subscriber import Ambr, PduSessionType


class Tunnel(Struct, frozen=True):
    """An F-TEID (TS 29.244 8.2.3): one end of a GTP-U tunnel, the address as text."""

    teid: int
    address: str


class PduAddress(Struct, frozen=True, omit_defaults=True):
    """The address of a UE: an IPv4 address, or an IPv6 /64 prefix with its interface id, or
    both."""

    ipv4: str = ""
    ipv6: str = ""
    """The prefix, as ``"2001:db8:0:7::"``."""
    interface_id: int = 0
    """The 64 bits for the UE's link-local address (TS 23.501 5.8.2.2.3)."""


class N4Request(Struct, frozen=True, omit_defaults=True):
    """A pending PFCP request of the session."""

    message: Literal["establish", "modify", "delete"]
    number: int
    """The `sequence` of the response. A repetition has the same number."""
    at: int
    """Time of the last transmission, in milliseconds since the Unix epoch."""
    count: int = 0
    """The number of repetitions."""
    downlink: Tunnel | None = None
    """The destination of downlink packets in the request; None if the UPF must buffer them."""
    ambr: Ambr | None = None
    """The session AMBR of the request."""
    end_marker: bool = False
    """Whether the UPF must send an end marker on the previous tunnel (TS 29.244 5.2.3, SNDEM)."""
    incarnation: int = 0
    """The incarnation of the UPF that the request is for; 0 for any."""


class N4Session(Struct, frozen=True, omit_defaults=True):
    """The PFCP session: its UPF, and the parameters that the UPF has confirmed."""

    upf: str
    """The Node ID of the UPF."""
    seid: int
    """The SEID of the core. It contains the slot (`schemas.identity.make_seid`)."""
    up_seid: int = 0
    """The SEID of the UPF; 0 before the establishment."""
    incarnation: int = 0
    """The Recovery Time Stamp of the UPF that has the session, or that was asked for it last, in
    seconds since 1900; 0 if unknown."""
    refused: int = 0
    """How often in a row the UPF has refused to establish the session again."""
    since: int = 0
    """Time of the successful establishment request, in milliseconds since the Unix epoch."""
    allocates: bool = False
    """Whether the core allocates the F-TEID, because the UPF does not (FTUP)."""
    downlink: Tunnel | None = None
    """The destination of downlink packets at the UPF; None if the UPF buffers them."""
    ambr: Ambr | None = None
    """The session AMBR that the UPF enforces."""
    sent: N4Request | None = None


class UpSecurity(Struct, frozen=True, omit_defaults=True):
    """The Security Indication of a session for gNBs (TS 38.413 9.3.1.27)."""

    integrity: UpProtection
    confidentiality: UpProtection
    uplink_rate: str = ""
    """The Maximum Integrity Protected Data Rate of the UE (9.3.1.102); empty without integrity
    protection."""
    downlink_rate: str = ""


class PduSession(Struct, frozen=True, omit_defaults=True):
    """One PDU session. A session with the stage `released` remains until the UPF has deleted it."""

    id: int
    """The PDU session identity, 1 to 15."""
    pti: int
    """The procedure transaction identity of the establishment request."""
    nssai: SNssai
    dnn: str
    type: PduSessionType
    address: PduAddress
    ambr: Ambr
    qfi: int
    five_qi: int
    arp_priority: int
    n4: N4Session
    arp_preemption_capability: bool = False
    arp_preemption_vulnerability: bool = False
    emergency: bool = False
    """Whether it is for emergency services. No restriction or subscription applies to it."""
    stage: Literal["establishing", "active", "modifying", "releasing", "released"] = "establishing"
    request: bytes = b""
    """The plain PDU SESSION ESTABLISHMENT REQUEST, to detect its repetition."""
    cause: int = 0
    """The 5GSM cause of the accept (#50, #51: only one IP version is allowed); 0 for none."""
    uplink: Tunnel | None = None
    """The F-TEID for uplink packets, allocated by the UPF or the core."""
    access: Tunnel | None = None
    """The gNB's F-TEID for downlink packets, while the user plane is on."""
    accepted: bool = False
    """Whether the PDU SESSION ESTABLISHMENT ACCEPT was sent: the UE may have the session."""
    amf_ue_ngap_id: int = 0
    """The AMF-UE-NGAP-ID of the connection by which the resources were requested."""
    user_plane: Literal["off", "pending", "requested", "on"] = "off"
    """`pending`: the core requests the resources as soon as possible. `requested`: the gNB has not
    answered yet."""
    reported: int = 0
    """Number of attempts to deliver the downlink packets that the UPF reported and still buffers.
    Each attempt pages the UE or activates the user plane. 0 without buffered packets."""
    security: UpSecurity | None = None
    """The user plane security policy; None to let the gNB decide."""
    release_cause: int = 0
    """The 5GSM cause of the PDU SESSION RELEASE COMMAND, in the stage `releasing`."""


class IndicatedSession(Struct, frozen=True, omit_defaults=True):
    """A PDU session in an `Indication`. It gets another downlink tunnel, or is refused."""

    psi: int
    seid: int = 0
    """The SEID of the core; 0 if there is no such session."""
    access: Tunnel | None = None
    """The new downlink tunnel of the gNB."""
    before: Tunnel | None = None
    """The previous downlink tunnel."""
    refused_flows: tuple[int, ...] = ()
    """The indicated QFIs that the session does not have."""
    cause: str = ""
    """The cause of the refusal; empty for a session that is not refused."""


class Indication(Struct, frozen=True, omit_defaults=True):
    """A PDU SESSION RESOURCE MODIFY INDICATION. It is confirmed when the UPFs have answered."""

    amf_ue_ngap_id: int
    """The AMF-UE-NGAP-ID of the connection that the indication arrived on."""
    gnb: str
    association: str
    ran_ue_ngap_id: int
    """The RAN-UE-NGAP-ID of this connection. A handover changes it."""
    sessions: tuple[IndicatedSession, ...]
    diagnostics: bytes = b""
    """The ignored errors in the message, as the JSON text of a Criticality Diagnostics tree."""
