"""The CloudEvents 1.0 that evcore's processes exchange, and their attributes on the wire.

Context attributes have the names of the specification. The extensions `partitionkey`, `sequence`
and `traceparent` have the names of the CloudEvents extension documents. `slot` and `procedure` are
extensions of evcore.
"""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from schemas.identity import Tai
from schemas.position import Position

SPECVERSION = "1.0"

NGAP_MEDIA_TYPE = "application/vnd.3gpp.ngap"
PFCP_MEDIA_TYPE = "application/vnd.3gpp.pfcp"
MSGPACK_MEDIA_TYPE = "application/vnd.msgpack"


class EventType(StrEnum):
    """The `type` of each event that crosses a process boundary."""

    NGAP_UPLINK = "org.evcore.n2.uplink"
    """An NGAP PDU from a gNB. Data: the PDU."""
    NGAP_DOWNLINK = "org.evcore.n2.downlink"
    """An NGAP PDU for a gNB. Data: the PDU."""
    ASSOCIATION_LOST = "org.evcore.n2.association-lost"
    """A gNB's SCTP association is released. Data: `AssociationLost`."""
    NETWORK_CHANGED = "org.evcore.n2.network-changed"
    """The network configuration differs from the one that a gNB was sent. No data."""
    CONNECTION_LOST = "org.evcore.ue.connection-lost"
    """A UE's N2 connection ended with its association or by a reset. Data: `ConnectionLost`."""
    IDENTIFIED = "org.evcore.ue.identified"
    """The SUPI of a previously unidentified UE is known. Data: `Identified`."""
    UNIDENTIFIED = "org.evcore.ue.unidentified"
    """A SUCI could not be de-concealed. Data: `Unidentified`."""
    PFCP_UPLINK = "org.evcore.n4.uplink"
    """A PFCP message from a UPF. Data: the message."""
    PFCP_DOWNLINK = "org.evcore.n4.downlink"
    """A PFCP message for a UPF. The gateway sets the sequence number of a request. Data: the
    message."""
    PFCP_UNANSWERED = "org.evcore.n4.unanswered"
    """The gateway repeated a PFCP request N1 times and got no response. Data: the request."""
    PFCP_ENDED = "org.evcore.n4.ended"
    """The UPF has restarted, so the gateway has ended a PFCP request to the earlier incarnation.
    Data: the request. The attribute `incarnation` is that of the restarted UPF."""
    UPF_PATH = "org.evcore.n4.path"
    """A gateway starts to serve a UPF, or the result of its heartbeats changes. Data: `UpfPath`."""
    UPF_LOAD = "org.evcore.n4.load"
    """A UPF reported its load in a message of a session. Data: `UpfLoadReported`."""
    SESSION_LOST = "org.evcore.ue.session-lost"
    """A UPF lost all its sessions, including this PDU session. Data: `SessionLost`."""
    SESSION_LEFT = "org.evcore.upf.session-left"
    """A UPF has a PFCP session that the core does not have. Data: `SessionLeft`."""
    SESSION_RELEASE = "org.evcore.ue.session-release"
    """The operator requests the release of a PDU session. Data: `SessionRelease`."""
    DEREGISTER = "org.evcore.ue.deregister"
    """The operator requests the deregistration of a UE. Data: `Deregister`."""
    SUBSCRIPTION_CHANGED = "org.evcore.ue.subscription-changed"
    """A UE's subscription was changed or removed. Data: `SubscriptionChanged`."""
    TIMER = "org.evcore.ue.timer"
    """A wake-up that a step scheduled. Data: `TimersDue`; none if aggregates share the wake-up."""
    TIMERS_DUE = "org.evcore.ue.timers-due"
    """A wake-up that the UEs of a partition share: each of them gets a TIMER. Data: `TimersDue`."""
    FAN_OUT = "org.evcore.fan-out"
    """A page of the events for the UEs of an association or a UPF is due. Data: `FanOutDue`."""


class AssociationLost(Struct, frozen=True):
    """Data of ASSOCIATION_LOST."""

    association: str
    reason: str


class ConnectionLost(Struct, frozen=True, omit_defaults=True):
    """Data of CONNECTION_LOST: the connection and the reason."""

    amf_ue_ngap_id: int
    reason: str
    order: int = 0
    """The order of the RAN node's event. Connections that were opened after it are kept. 0 for
    any."""
    association: str = ""
    """The association of the RAN node. A connection that has moved to another is kept. Empty for
    any."""


class TimersDue(Struct, frozen=True, omit_defaults=True):
    """Data of TIMERS_DUE and TIMER. A TIMER has the time only."""

    at: int
    """The time in milliseconds since the Unix epoch; of a TIMERS_DUE, as in the index of
    wake-ups."""
    first: str = ""
    """The id of the event of the first page; empty in that event. The ids of the TIMERs have it."""
    after: str = ""
    """The index key of the last UE of the pages before."""
    in_turn: bool = False
    """Whether the page has waited for its turn."""


class FanOutDue(Struct, frozen=True, omit_defaults=True):
    """Data of FAN_OUT: the output of a step, and its next page."""

    aggregate: str
    seq: int
    index: int
    """The position of the output in its step."""
    after: str = ""
    """The index key of the last UE of the pages before."""
    in_turn: bool = False
    """Whether the page has waited for its turn."""


class Identified(Struct, frozen=True, omit_defaults=True):
    """Data of IDENTIFIED: the state of an N2 connection, and the request that opened it."""

    gnb: str
    association: str
    ran_ue_ngap_id: int
    amf_ue_ngap_id: int
    sequence: int
    tai: Tai
    request: bytes
    """The plain REGISTRATION REQUEST, without integrity protection."""
    suci: bytes
    """The SUCI of the IDENTITY RESPONSE, concealed or not."""
    cell: int = 0
    establishment_cause: str = ""
    context_requested: bool = False
    order: int = 0
    position: Position | None = None


class Unidentified(Struct, frozen=True, omit_defaults=True):
    """Data of UNIDENTIFIED: the reason, and the event that carried the SUCI."""

    reason: str
    type: str
    source: str
    data: bytes
    sequence: int = 0


class UpfPath(Struct, frozen=True, omit_defaults=True):
    """Data of UPF_PATH: the state of a gateway's path to a UPF."""

    upf: str
    """The Node ID."""
    state: Literal["served", "up", "down", "unknown", "ignoring"]
    """`served`: a gateway has started to serve the UPF and has no heartbeat result yet. `up`: the
    UPF answers heartbeats, again or after a restart. `down`: it does not (TS 29.244 6.2.2).
    `unknown`: it answers heartbeats, but says that it has no association. `ignoring`: it answers
    heartbeats, but no requests about sessions."""
    recovery_time_stamp: int = 0
    """The UPF's Recovery Time Stamp, in seconds since 1900; 0 if unknown."""


class UpfLoadReported(Struct, frozen=True, omit_defaults=True):
    """Data of UPF_LOAD, in per cent. None for a value that the message does not have."""

    load: int | None = None
    reduction: int | None = None
    """The traffic reduction that the UPF requests (TS 29.244 6.2.4)."""
    period: int = 0
    """The duration of the reduction in seconds."""


class SessionLost(Struct, frozen=True, omit_defaults=True):
    """Data of SESSION_LOST: the session's SEID and the UPF's new Recovery Time Stamp."""

    seid: int
    recovery_time_stamp: int
    at: int = 0
    """When the core detected the loss, in milliseconds since the Unix epoch. A session that was
    requested from the UPF after that is kept. 0 for any."""
    kept: bool = False
    """Whether the UPF may still have the session, because it did not restart."""
    restarted: bool = False
    """Whether the UPF has restarted: `recovery_time_stamp` is that of its new incarnation."""


class SessionLeft(Struct, frozen=True):
    """Data of SESSION_LEFT: the UPF's SEID of a session that belongs to no UE. Another incarnation
    of the UPF does not have it; `incarnation` is 0 for any."""

    up_seid: int
    incarnation: int = 0


class SessionRelease(Struct, frozen=True):
    """Data of SESSION_RELEASE: the PDU session identity."""

    psi: int


class Deregister(Struct, frozen=True, omit_defaults=True):
    """Data of DEREGISTER: whether the UE must register again, and a 5GMM cause, 0 for no cause."""

    reregister: bool = False
    cause: int = 0


class SubscriptionChanged(Struct, frozen=True, omit_defaults=True):
    """Data of SUBSCRIPTION_CHANGED: the version that was written or removed."""

    version: int = 0


class CloudEvent(Struct, frozen=True, omit_defaults=True):
    """One event. `data` is opaque octets; `datacontenttype` gives their type."""

    id: str
    source: str
    type: str
    partitionkey: str
    data: bytes = b""
    datacontenttype: str | None = None
    procedure: str | None = None
    slot: int | None = None
    sequence: int | None = None
    """The position of an uplink message on its UE's N2 connection, from 0. On N4, the number of a
    request of its aggregate; the response repeats it."""
    traceparent: str | None = None
    position: Position | None = None
    """The place of the event in the order of its UE. None if no stream has carried it yet."""
    incarnation: int | None = None
    """The Recovery Time Stamp of the UPF that a request about a session is for, in seconds since
    1900. The gateway sends the request to no other incarnation of the UPF (TS 23.527 4.3)."""


def order_of(event_id: str) -> int:
    """Return the position of an event among those of its gateway, from 1; 0 for other events.

    A gateway numbers its events in the order of each association (``<gateway>-<number>``, in
    hexadecimal). So a RAN node's message about all its connections does not affect connections that
    it opens later.
    """
    _, _, number = event_id.rpartition("-")
    try:
        return int(number, 16)
    except ValueError:
        return 0
