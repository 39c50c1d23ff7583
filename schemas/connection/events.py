"""Events of N2 connections and of UE contexts at a gNB."""

from schemas.connection.state import Connection
from schemas.event import Event
from schemas.identity import Tai
from schemas.subscriber import Ambr


class ConnectionEstablished(Event, frozen=True):
    """An INITIAL UE MESSAGE, or a hand-over from an unidentified UE, made a connection."""

    connection: Connection


class UplinkProcessed(Event, frozen=True):
    """An uplink message was taken in its turn; its MAC, if any, is verified."""

    sequence: int
    nas_count: int | None = None
    tai: Tai | None = None
    cell: int | None = None


class ContextRequested(Event, frozen=True):
    """An INITIAL CONTEXT SETUP REQUEST was sent, with the K_gNB of this uplink NAS COUNT."""

    kgnb_count: int


class ContextSetUp(Event, frozen=True):
    """The gNB has set up the UE context."""


class ContextSetupFailed(Event, frozen=True):
    """The gNB has not."""

    cause: str


class ContextModifying(Event, frozen=True):
    """A UE CONTEXT MODIFICATION REQUEST was sent, with the key of the K_AMF that is in use, or
    another AMBR, or both."""

    key: bool = False
    ambr: Ambr | None = None


class ContextModified(Event, frozen=True):
    """The gNB has done what it asked for."""


class ContextModificationFailed(Event, frozen=True):
    """The gNB has not; of an AMBR it is not asked again."""

    cause: str


class ConnectionReleasing(Event, frozen=True):
    """A UE CONTEXT RELEASE COMMAND was sent for a connection."""

    amf_ue_ngap_id: int
    cause: str


class ConnectionParked(Event, frozen=True):
    """Someone in the name of the UE is on another connection, and has not proved to be it: the
    current one is kept beside, with what goes on there."""

    amf_ue_ngap_id: int


class ConnectionActivated(Event, frozen=True):
    """A connection that was beside the current one has changed places with it."""

    amf_ue_ngap_id: int


class ConnectionAbandoned(Event, frozen=True):
    """The UE is on another connection now, or whoever is on this one is not heard any more."""

    amf_ue_ngap_id: int


class ConnectionReleased(Event, frozen=True):
    """A connection is gone, and its AMF-UE-NGAP-ID is free."""

    amf_ue_ngap_id: int
    reason: str


class RadioCapabilityReported(Event, frozen=True):
    """The gNB has told the UE radio capability, as an opaque container."""

    capability: bytes


class ConnectionTransferred(Event, frozen=True):
    """The connection now belongs to the aggregate of the UE's SUPI, or to `identification`."""

    to: str
