"""Domain events: what the core tells everybody who subscribes, whatever its logs are made of.

These types and their data are a contract. Data gains fields, which have defaults; a field is not
removed and does not change its meaning. What would break that is a new type. Nothing here is a
key, nor a message of a UE or a gNB.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from schemas.identity import SNssai, Tai
from schemas.subscriber import Ambr, PduSessionType

JSON_MEDIA_TYPE: Final = "application/json"

PREFIX: Final = "org.evcore."
"""How every type begins."""


class DomainType(StrEnum):
    """The `type` of each domain event."""

    UE_REGISTERED = "org.evcore.ue.registered"
    """A UE that was not registered is. Data: `UeRegistered`."""
    UE_REGISTRATION_UPDATED = "org.evcore.ue.registration-updated"
    """A registered UE has registered again, for mobility or in time. Data: `UeRegistered`."""
    UE_REGISTRATION_REJECTED = "org.evcore.ue.registration-rejected"
    """Somebody was refused a registration. Data: `UeFailed`."""
    UE_AUTHENTICATION_FAILED = "org.evcore.ue.authentication-failed"
    """Somebody has not proved to be the UE, and is not challenged again. Data: `UeFailed`."""
    UE_DEREGISTERED = "org.evcore.ue.deregistered"
    """A UE that was registered is not. Data: `UeDeregistered`."""
    UE_CONNECTED = "org.evcore.ue.connected"
    """A UE has proved itself on a connection: CM-CONNECTED. Data: `UeConnected`."""
    UE_MOVED = "org.evcore.ue.moved"
    """The connection of a UE is at another gNB. Data: `UeMoved`."""
    UE_IDLE = "org.evcore.ue.idle"
    """A UE has no connection any more: CM-IDLE. Data: `UeIdle`."""
    UE_UNREACHABLE = "org.evcore.ue.unreachable"
    """A UE has answered no PAGING. Data: `UeUnreachable`."""
    SESSION_ESTABLISHED = "org.evcore.session.established"
    """A PDU session carries packets for the first time. Data: `Session`."""
    SESSION_MODIFIED = "org.evcore.session.modified"
    """A modification of a PDU session is over. Data: `Session`."""
    SESSION_RELEASED = "org.evcore.session.released"
    """A PDU session is no more, also one that never was established. Data: `SessionReleased`."""
    SESSION_USAGE = "org.evcore.session.usage"
    """A gNB has reported what was sent by a secondary RAT. Data: `SessionUsage`."""
    GNB_CONNECTED = "org.evcore.gnb.connected"
    """A gNB has set up NG. Data: `GnbConnected`."""
    GNB_UPDATED = "org.evcore.gnb.updated"
    """A gNB has told of another configuration. Data: `GnbConnected`."""
    GNB_REJECTED = "org.evcore.gnb.rejected"
    """A gNB was refused NG. Data: `NodeFailed`."""
    GNB_RESET = "org.evcore.gnb.reset"
    """A gNB has reset NG, or a part of it. Data: `GnbReset`."""
    GNB_LOST = "org.evcore.gnb.lost"
    """The association of a gNB is gone. Data: `NodeFailed`."""
    UPF_ASSOCIATED = "org.evcore.upf.associated"
    """A UPF is associated. Data: `UpfAssociated`."""
    UPF_NOT_ASSOCIATED = "org.evcore.upf.not-associated"
    """A UPF cannot be associated. Data: `NodeFailed`."""
    UPF_RELEASED = "org.evcore.upf.released"
    """The association of a UPF is no more. Data: `NodeFailed`."""
    UPF_RESTARTED = "org.evcore.upf.restarted"
    """A UPF has restarted, without its sessions. Data: `Node`."""
    UPF_REACHABLE = "org.evcore.upf.reachable"
    """A UPF answers heartbeats again. Data: `Node`."""
    UPF_UNREACHABLE = "org.evcore.upf.unreachable"
    """A UPF answers no heartbeat. Data: `Node`."""
    UPF_OVERLOADED = "org.evcore.upf.overloaded"
    """A UPF wants its traffic reduced. Data: `UpfOverloaded`."""
    FUNCTION_FAILED = "org.evcore.function.failed"
    """A function could not decide about an event; a UE was given a cause. Data:
    `FunctionFailed`."""


class Data(Struct, frozen=True, omit_defaults=True):
    """The data of a domain event, as JSON; a field with its default is left out."""


class Location(Data, frozen=True):
    """Where a UE is connected."""

    gnb: str
    """The Global RAN node ID, as ``"001-01-gnb-24-1"``."""
    tai: Tai
    cell: int = 0
    """The NR cell identity (36 bits); 0 where it is not known."""


class UeRegistered(Data, frozen=True):
    """Data of UE_REGISTERED and UE_REGISTRATION_UPDATED."""

    supi: str
    allowed_nssai: tuple[SNssai, ...]
    registration_area: tuple[Tai, ...]
    pei: str = ""
    """The IMEISV, where the UE has told it."""
    emergency: bool = False
    location: Location | None = None


class UeFailed(Data, frozen=True):
    """Data of UE_REGISTRATION_REJECTED and UE_AUTHENTICATION_FAILED."""

    cause: str
    """In words, those of TS 24.501 where it has them."""
    supi: str = ""
    """Empty where it was not told."""
    location: Location | None = None


class UeDeregistered(Data, frozen=True):
    """Data of UE_DEREGISTERED."""

    supi: str
    reason: str


class UeConnected(Data, frozen=True):
    """Data of UE_CONNECTED."""

    supi: str
    location: Location


class UeMoved(Data, frozen=True):
    """Data of UE_MOVED."""

    supi: str
    source: Location
    target: Location
    handover: str = ""
    """`n2` or `xn`; empty where the UE has come to the target by itself."""


class UeIdle(Data, frozen=True):
    """Data of UE_IDLE."""

    supi: str
    reason: str
    location: Location
    """Where it was."""


class UeUnreachable(Data, frozen=True):
    """Data of UE_UNREACHABLE."""

    supi: str
    sessions: tuple[str, ...] = ()
    """Those that packets wait for; none where it was paged for signalling."""


class Session(Data, frozen=True):
    """Data of SESSION_ESTABLISHED and SESSION_MODIFIED."""

    supi: str
    session: str
    """The name of the session, 16 hexadecimal digits: never that of another."""
    psi: int
    """The PDU session identity, 1 to 15: a later session may have it again."""
    nssai: SNssai
    dnn: str
    type: PduSessionType
    five_qi: int
    ambr: Ambr
    """In bit/s."""
    upf: str
    """The Node ID."""
    ipv4: str = ""
    ipv6: str = ""
    """The /64 prefix, as ``"2001:db8:0:7::"``."""


class SessionReleased(Session, frozen=True, kw_only=True):
    """Data of SESSION_RELEASED: the session as it was, and why it is no more."""

    reason: str


class SessionUsage(Data, frozen=True):
    """Data of SESSION_USAGE (TS 23.502 4.21)."""

    supi: str
    psi: int
    rat: str
    start: datetime
    end: datetime
    uplink: int
    """In octets."""
    downlink: int
    session: str = ""
    """Empty where the UE has no session of that identity any more."""
    qfi: int | None = None
    """The QoS flow; left out for the whole session."""


class Node(Data, frozen=True):
    """Data of UPF_RESTARTED, UPF_REACHABLE and UPF_UNREACHABLE."""

    node: str
    """The Global RAN node ID of a gNB, the Node ID of a UPF."""


class NodeFailed(Node, frozen=True):
    """Data of GNB_REJECTED, GNB_LOST, UPF_NOT_ASSOCIATED and UPF_RELEASED."""

    reason: str


class TrackingArea(Data, frozen=True):
    """A tracking area of a gNB, and the slices that it supports there."""

    tai: Tai
    slices: tuple[SNssai, ...]


class GnbConnected(Node, frozen=True):
    """Data of GNB_CONNECTED and GNB_UPDATED."""

    tracking_areas: tuple[TrackingArea, ...]
    name: str = ""


class GnbReset(Node, frozen=True):
    """Data of GNB_RESET."""

    reason: str
    connections: int | None = None
    """How many connections were reset; left out for all of them."""


class UpfAssociated(Node, frozen=True):
    """Data of UPF_ASSOCIATED."""

    features: tuple[str, ...]
    """UP Function Features (TS 29.244 8.2.25)."""


class UpfOverloaded(Node, frozen=True):
    """Data of UPF_OVERLOADED."""

    reduction: int
    """In per cent."""
    until: datetime


class FunctionFailed(Data, frozen=True):
    """Data of FUNCTION_FAILED: the step is to be found by `evcore log show`."""

    aggregate: str
    seq: int
    procedure: str
    code: str
    """The id of the code that could not decide."""


DATA: Final[dict[DomainType, type[Data]]] = {
    DomainType.UE_REGISTERED: UeRegistered,
    DomainType.UE_REGISTRATION_UPDATED: UeRegistered,
    DomainType.UE_REGISTRATION_REJECTED: UeFailed,
    DomainType.UE_AUTHENTICATION_FAILED: UeFailed,
    DomainType.UE_DEREGISTERED: UeDeregistered,
    DomainType.UE_CONNECTED: UeConnected,
    DomainType.UE_MOVED: UeMoved,
    DomainType.UE_IDLE: UeIdle,
    DomainType.UE_UNREACHABLE: UeUnreachable,
    DomainType.SESSION_ESTABLISHED: Session,
    DomainType.SESSION_MODIFIED: Session,
    DomainType.SESSION_RELEASED: SessionReleased,
    DomainType.SESSION_USAGE: SessionUsage,
    DomainType.GNB_CONNECTED: GnbConnected,
    DomainType.GNB_UPDATED: GnbConnected,
    DomainType.GNB_REJECTED: NodeFailed,
    DomainType.GNB_RESET: GnbReset,
    DomainType.GNB_LOST: NodeFailed,
    DomainType.UPF_ASSOCIATED: UpfAssociated,
    DomainType.UPF_NOT_ASSOCIATED: NodeFailed,
    DomainType.UPF_RELEASED: NodeFailed,
    DomainType.UPF_RESTARTED: Node,
    DomainType.UPF_REACHABLE: Node,
    DomainType.UPF_UNREACHABLE: Node,
    DomainType.UPF_OVERLOADED: UpfOverloaded,
    DomainType.FUNCTION_FAILED: FunctionFailed,
}
"""What each type carries."""

SCHEMA_OF: Final[dict[type[Data], str]] = {
    UeRegistered: "domain-ue-registered",
    UeFailed: "domain-ue-failed",
    UeDeregistered: "domain-ue-deregistered",
    UeConnected: "domain-ue-connected",
    UeMoved: "domain-ue-moved",
    UeIdle: "domain-ue-idle",
    UeUnreachable: "domain-ue-unreachable",
    Session: "domain-session",
    SessionReleased: "domain-session-released",
    SessionUsage: "domain-session-usage",
    Node: "domain-node",
    NodeFailed: "domain-node-failed",
    GnbConnected: "domain-gnb-connected",
    GnbReset: "domain-gnb-reset",
    UpfAssociated: "domain-upf-associated",
    UpfOverloaded: "domain-upf-overloaded",
    FunctionFailed: "domain-function-failed",
}
"""The file of the JSON Schema of each kind of data (schemas/generated/)."""
