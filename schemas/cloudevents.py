"""The CloudEvents 1.0 that evcore's processes exchange, and their attributes on the wire.

Attribute names are CloudEvents' own: context attributes as in the specification, extensions
`partitionkey`, `sequence` and `traceparent` as in its extension documents, and `slot` and
`procedure` of evcore.
"""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from schemas.identity import Tai

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
    """A gNB's SCTP association is gone. Data: `AssociationLost`."""
    NETWORK_CHANGED = "org.evcore.n2.network-changed"
    """The configuration of the network is another than when a gNB was told of it. No data."""
    CONNECTION_LOST = "org.evcore.ue.connection-lost"
    """A UE's N2 connection is gone with its association or a reset. Data: `ConnectionLost`."""
    IDENTIFIED = "org.evcore.ue.identified"
    """A UE without a known identity has told its SUPI. Data: `Identified`."""
    UNIDENTIFIED = "org.evcore.ue.unidentified"
    """A SUCI could not be de-concealed. Data: `Unidentified`."""
    PFCP_UPLINK = "org.evcore.n4.uplink"
    """A PFCP message from a UPF. Data: the message."""
    PFCP_DOWNLINK = "org.evcore.n4.downlink"
    """A PFCP message for a UPF; the gateway gives a request its sequence number. Data: it."""
    PFCP_UNANSWERED = "org.evcore.n4.unanswered"
    """A PFCP request was repeated N1 times and not answered. Data: the request."""
    UPF_PATH = "org.evcore.n4.path"
    """A gateway serves a UPF, or its heartbeats tell something new. Data: `UpfPath`."""
    UPF_LOAD = "org.evcore.n4.load"
    """A UPF has told its load in a message of a session. Data: `UpfLoadReported`."""
    SESSION_LOST = "org.evcore.ue.session-lost"
    """The UPF of a PDU session has lost it with all others. Data: `SessionLost`."""
    SESSION_LEFT = "org.evcore.upf.session-left"
    """A UPF has a PFCP session that its UE has not. Data: `SessionLeft`."""
    SESSION_RELEASE = "org.evcore.ue.session-release"
    """The operator wants a PDU session to be released. Data: `SessionRelease`."""
    DEREGISTER = "org.evcore.ue.deregister"
    """The operator wants a UE to be deregistered. Data: `Deregister`."""
    SUBSCRIPTION_CHANGED = "org.evcore.ue.subscription-changed"
    """There is another version of a UE's subscription, or none any more. Data:
    `SubscriptionChanged`."""
    TIMER = "org.evcore.ue.timer"
    """A wake-up that a step asked for. No data."""
    TIMERS_DUE = "org.evcore.ue.timers-due"
    """The wake-up that UEs of a partition share: each of them gets a TIMER. Data: `TimersDue`."""


class AssociationLost(Struct, frozen=True):
    """Data of ASSOCIATION_LOST."""

    association: str
    reason: str


class ConnectionLost(Struct, frozen=True, omit_defaults=True):
    """Data of CONNECTION_LOST: which connection, and why."""

    amf_ue_ngap_id: int
    reason: str
    order: int = 0
    """That of the RAN node's event; a connection that was opened after it stands. 0 for any."""
    association: str = ""
    """That of the RAN node; a connection that is at another by now stands. Empty for any."""


class TimersDue(Struct, frozen=True):
    """Data of TIMERS_DUE."""

    at: int
    """When, in milliseconds since the Unix epoch: what the index of wake-ups has."""


class Identified(Struct, frozen=True, omit_defaults=True):
    """Data of IDENTIFIED: an N2 connection as it stands, and the request it began with."""

    gnb: str
    association: str
    ran_ue_ngap_id: int
    amf_ue_ngap_id: int
    sequence: int
    tai: Tai
    request: bytes
    """The plain REGISTRATION REQUEST, which nothing has verified."""
    suci: bytes
    """The SUCI of the IDENTITY RESPONSE, concealed or not."""
    cell: int = 0
    establishment_cause: str = ""
    context_requested: bool = False
    order: int = 0


class Unidentified(Struct, frozen=True, omit_defaults=True):
    """Data of UNIDENTIFIED: why, and the event that carried the SUCI."""

    reason: str
    type: str
    source: str
    data: bytes
    sequence: int = 0


class UpfPath(Struct, frozen=True, omit_defaults=True):
    """Data of UPF_PATH: what a gateway knows of its way to a UPF."""

    upf: str
    """The Node ID."""
    state: Literal["served", "up", "down", "unknown"]
    """`served`: a gateway has begun to serve it and knows nothing yet. `up`: heartbeats are
    answered, again or by a UPF that has restarted. `down`: they are not (TS 29.244 6.2.2).
    `unknown`: they are, and the UPF says all the same that it knows of no association."""
    recovery_time_stamp: int = 0
    """Of the UPF, in seconds since 1900; 0 where it is not known."""


class UpfLoadReported(Struct, frozen=True, omit_defaults=True):
    """Data of UPF_LOAD, in per cent; None for what is not told anew."""

    load: int | None = None
    reduction: int | None = None
    """By how much the UPF wants its traffic reduced (TS 29.244 6.2.4)."""
    period: int = 0
    """For how many seconds."""


class SessionLost(Struct, frozen=True, omit_defaults=True):
    """Data of SESSION_LOST: whose PFCP session, and the UPF's new Recovery Time Stamp."""

    seid: int
    recovery_time_stamp: int
    at: int = 0
    """When the core had learnt it, in milliseconds since the Unix epoch: a session that the UPF
    was asked for after that stands. 0 for any."""
    kept: bool = False
    """Whether the UPF may have the session all the same: it has not restarted."""


class SessionLeft(Struct, frozen=True):
    """Data of SESSION_LEFT: the UPF's SEID of a session that it has and no UE has."""

    up_seid: int


class SessionRelease(Struct, frozen=True):
    """Data of SESSION_RELEASE: the PDU session identity."""

    psi: int


class Deregister(Struct, frozen=True, omit_defaults=True):
    """Data of DEREGISTER: whether the UE is to register again, and a 5GMM cause, 0 for none."""

    reregister: bool = False
    cause: int = 0


class SubscriptionChanged(Struct, frozen=True, omit_defaults=True):
    """Data of SUBSCRIPTION_CHANGED: the version that was written, or withdrawn."""

    version: int = 0


class CloudEvent(Struct, frozen=True, omit_defaults=True):
    """One event. `data` is opaque here; `datacontenttype` tells what it is."""

    id: str
    source: str
    type: str
    partitionkey: str
    data: bytes = b""
    datacontenttype: str | None = None
    procedure: str | None = None
    slot: int | None = None
    sequence: int | None = None
    """The place of an uplink message on its UE's N2 connection, from 0. On N4, the number of a
    request among those of its aggregate, which the answer repeats."""
    traceparent: str | None = None


def order_of(event_id: str) -> int:
    """The place of an event among those of its gateway, from 1; 0 for one of nobody's.

    A gateway numbers its events in the order of each association (``<gateway>-<number>``, in
    hexadecimal), so that what a RAN node says of all its connections is not taken for the ones
    it opens later.
    """
    _, _, number = event_id.rpartition("-")
    try:
        return int(number, 16)
    except ValueError:
        return 0
