"""PDU sessions (TS 23.501 5.6, 5.8): part of the state of a UE."""

from typing import Literal

from msgspec import Struct

from schemas.identity import SNssai
from schemas.subscriber import Ambr, PduSessionType


class Tunnel(Struct, frozen=True):
    """An F-TEID (TS 29.244 8.2.3): one end of a GTP-U tunnel; the address as text."""

    teid: int
    address: str


class PduAddress(Struct, frozen=True, omit_defaults=True):
    """What the UE is reached by: an IPv4 address, an IPv6 /64 prefix with its interface id."""

    ipv4: str = ""
    ipv6: str = ""
    """The prefix, as ``"2001:db8:0:7::"``."""
    interface_id: int = 0
    """The 64 bits that the UE makes its link-local address with (TS 23.501 5.8.2.2.3)."""


class N4Request(Struct, frozen=True, omit_defaults=True):
    """A PFCP request of the session that waits for its answer."""

    message: Literal["establish", "modify", "delete"]
    number: int
    """What the answer names as its `sequence`; a repetition keeps it."""
    at: int
    """When it was last sent, in milliseconds since the Unix epoch."""
    count: int = 0
    """How often it has been repeated."""
    downlink: Tunnel | None = None
    """Where the request sends downlink packets, None for the buffer."""
    ambr: Ambr | None = None
    """The session AMBR of the request."""
    end_marker: bool = False
    """Whether the UPF is to end the tunnel before with an end marker (TS 29.244 5.2.3, SNDEM)."""


class N4Session(Struct, frozen=True, omit_defaults=True):
    """The PFCP session: where it is and what the UPF is known to have."""

    upf: str
    """The Node ID of the UPF."""
    seid: int
    """The SEID of the core, its slot inside (`schemas.identity.make_seid`)."""
    up_seid: int = 0
    """The SEID of the UPF, 0 while there is none."""
    since: int = 0
    """When the establishment that it has answered was sent, in milliseconds since the Unix
    epoch."""
    allocates: bool = False
    """Whether the core allocates the F-TEID, for a UPF that does not (FTUP)."""
    downlink: Tunnel | None = None
    """Where the UPF sends downlink packets, None for its buffer."""
    ambr: Ambr | None = None
    """The session AMBR that it enforces."""
    sent: N4Request | None = None


class PduSession(Struct, frozen=True, omit_defaults=True):
    """One PDU session. One that is `gone` for the UE stays until the UPF has let it go."""

    id: int
    """The PDU session identity, 1 to 15."""
    pti: int
    """The procedure transaction identity of the request that the session was made by."""
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
    stage: Literal["establishing", "active", "modifying", "releasing", "released"] = "establishing"
    request: bytes = b""
    """The PDU SESSION ESTABLISHMENT REQUEST, plain: a repetition of it is known by it."""
    cause: int = 0
    """The 5GSM cause of the accept (#50, #51: only one IP version is allowed), 0 for none."""
    uplink: Tunnel | None = None
    """Where the gNB sends uplink packets: the F-TEID that the UPF chose, or the core for it."""
    access: Tunnel | None = None
    """Where the gNB takes downlink packets, while the user plane is on."""
    amf_ue_ngap_id: int = 0
    """That of the N2 connection by which the gNB was asked for resources."""
    user_plane: Literal["off", "pending", "requested", "on"] = "off"
    """`wanted` waits until the gNB can be asked, `requested` for its answer."""
    reported: int = 0
    """How often the UE was paged, or its user plane wanted, for the downlink packets that the UPF
    has reported and still holds; 0 for none."""
    release_cause: int = 0
    """The 5GSM cause of the PDU SESSION RELEASE COMMAND, while `releasing`."""


class IndicatedSession(Struct, frozen=True, omit_defaults=True):
    """A PDU session that is to have another downlink tunnel, or that cannot have one."""

    psi: int
    seid: int = 0
    """The SEID of the core; 0 where there is no such session."""
    access: Tunnel | None = None
    """Where the gNB wants downlink packets now."""
    before: Tunnel | None = None
    """Where it had them."""
    refused_flows: tuple[int, ...] = ()
    """The QFIs that were indicated, and that the session does not have."""
    cause: str = ""
    """Why it is refused; empty while the UPF is asked, or has done it."""


class Indication(Struct, frozen=True, omit_defaults=True):
    """An indication that waits for UPFs before it is confirmed."""

    amf_ue_ngap_id: int
    """That of the connection that it came by."""
    gnb: str
    association: str
    ran_ue_ngap_id: int
    """Where that connection ended in the RAN: after a handover it ends elsewhere."""
    sessions: tuple[IndicatedSession, ...]
    diagnostics: bytes = b""
    """What was wrong with the message and ignored: a Criticality Diagnostics tree as JSON."""
