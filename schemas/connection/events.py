"""Events of N2 connections and of UE contexts at a gNB."""

from schemas.connection.state import Connection, PagingCapability, Restrictions
from schemas.event import Event
from schemas.identity import Tai
from schemas.subscriber import Ambr


class ConnectionEstablished(Event, frozen=True):
    """An INITIAL UE MESSAGE opened a connection, or an unidentified UE's aggregate transferred
    one."""

    connection: Connection


class UplinkProcessed(Event, frozen=True):
    """An uplink message was processed in its turn. If it has a MAC, the MAC is verified."""

    sequence: int
    nas_count: int | None = None
    tai: Tai | None = None
    cell: int | None = None


class ContextRequested(Event, frozen=True):
    """An INITIAL CONTEXT SETUP REQUEST was sent, with the K_gNB of this uplink NAS COUNT."""

    kgnb_count: int
    at: int = 0
    """The time of the request, in milliseconds since the Unix epoch."""
    restrictions: Restrictions | None = None
    """The Mobility Restriction List in the request."""
    rfsp: int = 0
    """The Index to RAT/Frequency Selection Priority in the request; 0 for none."""


class ContextSetUp(Event, frozen=True):
    """The gNB has set up the UE context."""


class ContextSetupFailed(Event, frozen=True):
    """The gNB refused to set up the UE context."""

    cause: str


class ContextModifying(Event, frozen=True):
    """A UE CONTEXT MODIFICATION REQUEST was sent, with the key of the current K_AMF or with values
    that have changed."""

    key: bool = False
    ambr: Ambr | None = None
    rfsp: int = 0
    """The Index to RAT/Frequency Selection Priority in the request; 0 for none."""
    inactive: bool = False
    """Whether the request has the assistance information for RRC INACTIVE."""


class ContextModified(Event, frozen=True):
    """The gNB completed the requested modification."""


class ContextModificationFailed(Event, frozen=True):
    """The gNB refused the modification. Refused values, other than a key, are not sent again."""

    cause: str


class ConnectionReleasing(Event, frozen=True):
    """A UE CONTEXT RELEASE COMMAND was sent for a connection."""

    amf_ue_ngap_id: int
    cause: str


class ConnectionParked(Event, frozen=True):
    """The sender on another connection claims to be the UE and is not authenticated. The current
    connection is parked, with its procedures."""

    amf_ue_ngap_id: int


class ConnectionActivated(Event, frozen=True):
    """A parked connection became the current one; the current one was parked."""

    amf_ue_ngap_id: int


class ConnectionAbandoned(Event, frozen=True):
    """The UE moved to another connection, or this parked connection is no longer used."""

    amf_ue_ngap_id: int


class ConnectionReleased(Event, frozen=True):
    """A connection is released. Its AMF-UE-NGAP-ID leads to the UE for some time."""

    amf_ue_ngap_id: int
    reason: str
    unconfirmed: bool = False
    """Whether the gNB may still have the connection. Then its messages are errors of the gNB, and
    the AMF-UE-NGAP-ID is free at once."""


class RadioCapabilityReported(Event, frozen=True):
    """The gNB sent the UE radio capability, an opaque container; or the core deleted it, if it is
    empty."""

    capability: bytes
    paging: PagingCapability | None = None
    """The UE Radio Capability for Paging of the same message; None for none."""


class RestrictionsSent(Event, frozen=True):
    """A DOWNLINK NAS TRANSPORT had the Mobility Restriction List, which replaces any before."""

    restrictions: Restrictions | None
    rfsp: int = 0
    """The Index to RAT/Frequency Selection Priority in the message; 0 for none."""


class CellsRecommended(Event, frozen=True):
    """The gNB that releases the connection recommended cells for the next paging (TS 38.413
    9.3.1.100), as JSON."""

    cells: bytes


class ConnectionTransferred(Event, frozen=True):
    """The connection now belongs to the aggregate of the UE's SUPI, or to `identification`."""

    to: str
