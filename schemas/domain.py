"""Domain events: the events that the core publishes to subscribers, independent of its logs.

The types and their data are a contract. Data may gain fields with defaults. No field is removed or
changes its meaning; an incompatible change needs a new type. Domain events contain no keys and no
messages of UEs or gNBs.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from schemas.identity import SNssai, Tai
from schemas.subscriber import Ambr, PduSessionType

JSON_MEDIA_TYPE: Final = "application/json"

PREFIX: Final = "org.evcore."
"""Prefix of every type."""


class DomainType(StrEnum):
    """The `type` of each domain event."""

    UE_REGISTERED = "org.evcore.ue.registered"
    """A UE registered that was not registered. Data: `UeRegisteredData`."""
    UE_REGISTRATION_UPDATED = "org.evcore.ue.registration-updated"
    """A registered UE registered again, for mobility or periodically. Data: `UeRegisteredData`."""
    UE_REGISTRATION_REJECTED = "org.evcore.ue.registration-rejected"
    """The core rejected a registration. Data: `UeFailedData`."""
    UE_AUTHENTICATION_FAILED = "org.evcore.ue.authentication-failed"
    """An authentication failed, and no other challenge follows. Data: `UeFailedData`."""
    UE_DEREGISTERED = "org.evcore.ue.deregistered"
    """A registered UE was deregistered. Data: `UeDeregisteredData`."""
    UE_CONNECTED = "org.evcore.ue.connected"
    """A UE was authenticated on a connection: CM-CONNECTED. Data: `UeConnectedData`."""
    UE_MOVED = "org.evcore.ue.moved"
    """The connection of a UE moved to another gNB. Data: `UeMovedData`."""
    UE_IDLE = "org.evcore.ue.idle"
    """A UE has no connection: CM-IDLE. Data: `UeIdleData`."""
    UE_UNREACHABLE = "org.evcore.ue.unreachable"
    """A UE did not answer PAGING. Data: `UeUnreachableData`."""
    SESSION_ESTABLISHED = "org.evcore.session.established"
    """The user plane of a PDU session is active for the first time. Data: `SessionData`."""
    SESSION_MODIFIED = "org.evcore.session.modified"
    """A modification of a PDU session is completed. Data: `SessionData`."""
    SESSION_RELEASED = "org.evcore.session.released"
    """A PDU session was released, or its establishment failed. Data: `SessionReleasedData`."""
    SESSION_USAGE = "org.evcore.session.usage"
    """A gNB reported the data usage of a secondary RAT. Data: `SessionUsageData`."""
    GNB_CONNECTED = "org.evcore.gnb.connected"
    """A gNB has set up NG. Data: `GnbConnectedData`."""
    GNB_UPDATED = "org.evcore.gnb.updated"
    """A gNB changed its configuration. Data: `GnbConnectedData`."""
    GNB_REJECTED = "org.evcore.gnb.rejected"
    """The core refused an NG setup. Data: `NodeFailedData`."""
    GNB_RESET = "org.evcore.gnb.reset"
    """A gNB reset NG, or a part of it. Data: `GnbResetData`."""
    GNB_LOST = "org.evcore.gnb.lost"
    """The association of a gNB is released. Data: `NodeFailedData`."""
    UPF_ASSOCIATED = "org.evcore.upf.associated"
    """A UPF is associated. Data: `UpfAssociatedData`."""
    UPF_NOT_ASSOCIATED = "org.evcore.upf.not-associated"
    """A UPF cannot be associated. Data: `NodeFailedData`."""
    UPF_RELEASED = "org.evcore.upf.released"
    """The association of a UPF is released. Data: `NodeFailedData`."""
    UPF_RESTARTED = "org.evcore.upf.restarted"
    """A UPF restarted and lost its sessions. Data: `NodeData`."""
    UPF_REACHABLE = "org.evcore.upf.reachable"
    """A UPF answers heartbeats again. Data: `NodeData`."""
    UPF_UNREACHABLE = "org.evcore.upf.unreachable"
    """A UPF does not answer heartbeats. Data: `NodeData`."""
    UPF_OVERLOADED = "org.evcore.upf.overloaded"
    """A UPF requests a reduction of its traffic. Data: `UpfOverloadedData`."""
    FUNCTION_FAILED = "org.evcore.function.failed"
    """A function could not decide an event, and rejected the UE's request with a cause. Data:
    `FunctionFailedData`."""


class Data(Struct, frozen=True, omit_defaults=True):
    """The data of a domain event, as JSON; fields with default values are omitted."""


class Location(Data, frozen=True):
    """The location of a connected UE."""

    gnb: str
    """The Global RAN node ID, as ``"001-01-gnb-24-1"``."""
    tai: Tai
    cell: int = 0
    """The NR cell identity (36 bits); 0 if unknown."""


class UeRegisteredData(Data, frozen=True):
    """Data of UE_REGISTERED and UE_REGISTRATION_UPDATED."""

    supi: str
    allowed_nssai: tuple[SNssai, ...]
    registration_area: tuple[Tai, ...]
    pei: str = ""
    """The IMEISV; empty if unknown."""
    emergency: bool = False
    location: Location | None = None


class UeFailedData(Data, frozen=True):
    """Data of UE_REGISTRATION_REJECTED and UE_AUTHENTICATION_FAILED."""

    cause: str
    """The cause as text, with the words of TS 24.501 if it defines the cause."""
    supi: str = ""
    """Empty if unknown."""
    location: Location | None = None


class UeDeregisteredData(Data, frozen=True):
    """Data of UE_DEREGISTERED."""

    supi: str
    reason: str


class UeConnectedData(Data, frozen=True):
    """Data of UE_CONNECTED."""

    supi: str
    location: Location


class UeMovedData(Data, frozen=True):
    """Data of UE_MOVED."""

    supi: str
    source: Location
    target: Location
    handover: str = ""
    """`n2` or `xn`; empty if the UE moved without a handover."""


class UeIdleData(Data, frozen=True):
    """Data of UE_IDLE."""

    supi: str
    reason: str
    location: Location
    """The last location."""


class UeUnreachableData(Data, frozen=True):
    """Data of UE_UNREACHABLE."""

    supi: str
    sessions: tuple[str, ...] = ()
    """The sessions with downlink packets; empty if the UE was paged for signalling."""


class SessionData(Data, frozen=True):
    """Data of SESSION_ESTABLISHED and SESSION_MODIFIED."""

    supi: str
    session: str
    """The unique name of the session: 16 hexadecimal digits."""
    psi: int
    """The PDU session identity, 1 to 15. A later session may have the same identity."""
    nssai: SNssai
    dnn: str
    type: PduSessionType
    five_qi: int
    ambr: Ambr
    """In bit/s."""
    upf: str
    """The NodeData ID."""
    ipv4: str = ""
    ipv6: str = ""
    """The /64 prefix, as ``"2001:db8:0:7::"``."""


class SessionReleasedData(SessionData, frozen=True, kw_only=True):
    """Data of SESSION_RELEASED: the last state of the session and the reason of its release."""

    reason: str


class SessionUsageData(Data, frozen=True):
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
    """Empty if the UE no longer has a session of that identity."""
    qfi: int | None = None
    """The QoS flow; omitted for the whole session."""


class NodeData(Data, frozen=True):
    """Data of UPF_RESTARTED, UPF_REACHABLE and UPF_UNREACHABLE."""

    node: str
    """The Global RAN node ID of a gNB, the NodeData ID of a UPF."""


class NodeFailedData(NodeData, frozen=True):
    """Data of GNB_REJECTED, GNB_LOST, UPF_NOT_ASSOCIATED and UPF_RELEASED."""

    reason: str


class GnbTrackingArea(Data, frozen=True):
    """A tracking area of a gNB, and the slices that the gNB supports in it."""

    tai: Tai
    slices: tuple[SNssai, ...]


class GnbConnectedData(NodeData, frozen=True):
    """Data of GNB_CONNECTED and GNB_UPDATED."""

    tracking_areas: tuple[GnbTrackingArea, ...]
    name: str = ""


class GnbResetData(NodeData, frozen=True):
    """Data of GNB_RESET."""

    reason: str
    connections: int | None = None
    """The number of connections that were reset; omitted for all connections."""


class UpfAssociatedData(NodeData, frozen=True):
    """Data of UPF_ASSOCIATED."""

    features: tuple[str, ...]
    """UP Function Features (TS 29.244 8.2.25)."""


class UpfOverloadedData(NodeData, frozen=True):
    """Data of UPF_OVERLOADED."""

    reduction: int
    """In per cent."""
    until: datetime


class FunctionFailedData(Data, frozen=True):
    """Data of FUNCTION_FAILED. `evcore log show` prints the step."""

    aggregate: str
    seq: int
    procedure: str
    code: str
    """The id of the code that failed."""


DATA: Final[dict[DomainType, type[Data]]] = {
    DomainType.UE_REGISTERED: UeRegisteredData,
    DomainType.UE_REGISTRATION_UPDATED: UeRegisteredData,
    DomainType.UE_REGISTRATION_REJECTED: UeFailedData,
    DomainType.UE_AUTHENTICATION_FAILED: UeFailedData,
    DomainType.UE_DEREGISTERED: UeDeregisteredData,
    DomainType.UE_CONNECTED: UeConnectedData,
    DomainType.UE_MOVED: UeMovedData,
    DomainType.UE_IDLE: UeIdleData,
    DomainType.UE_UNREACHABLE: UeUnreachableData,
    DomainType.SESSION_ESTABLISHED: SessionData,
    DomainType.SESSION_MODIFIED: SessionData,
    DomainType.SESSION_RELEASED: SessionReleasedData,
    DomainType.SESSION_USAGE: SessionUsageData,
    DomainType.GNB_CONNECTED: GnbConnectedData,
    DomainType.GNB_UPDATED: GnbConnectedData,
    DomainType.GNB_REJECTED: NodeFailedData,
    DomainType.GNB_RESET: GnbResetData,
    DomainType.GNB_LOST: NodeFailedData,
    DomainType.UPF_ASSOCIATED: UpfAssociatedData,
    DomainType.UPF_NOT_ASSOCIATED: NodeFailedData,
    DomainType.UPF_RELEASED: NodeFailedData,
    DomainType.UPF_RESTARTED: NodeData,
    DomainType.UPF_REACHABLE: NodeData,
    DomainType.UPF_UNREACHABLE: NodeData,
    DomainType.UPF_OVERLOADED: UpfOverloadedData,
    DomainType.FUNCTION_FAILED: FunctionFailedData,
}
"""The data of each type."""

SCHEMA_OF: Final[dict[type[Data], str]] = {
    UeRegisteredData: "domain-ue-registered",
    UeFailedData: "domain-ue-failed",
    UeDeregisteredData: "domain-ue-deregistered",
    UeConnectedData: "domain-ue-connected",
    UeMovedData: "domain-ue-moved",
    UeIdleData: "domain-ue-idle",
    UeUnreachableData: "domain-ue-unreachable",
    SessionData: "domain-session",
    SessionReleasedData: "domain-session-released",
    SessionUsageData: "domain-session-usage",
    NodeData: "domain-node",
    NodeFailedData: "domain-node-failed",
    GnbConnectedData: "domain-gnb-connected",
    GnbResetData: "domain-gnb-reset",
    UpfAssociatedData: "domain-upf-associated",
    UpfOverloadedData: "domain-upf-overloaded",
    FunctionFailedData: "domain-function-failed",
}
"""The file of the JSON Schema of each kind of data (schemas/generated/)."""
