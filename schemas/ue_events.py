"""What can happen to a UE: the events that its log is made of."""

from typing import TypeAlias

from msgspec import Struct

from schemas.identity import SNssai, Tai
from schemas.session import N4Request, PduSession, Tunnel
from schemas.subscriber import Ambr
from schemas.ue import Challenge, Connection, Registration, SecurityContext


class Event(Struct, frozen=True, omit_defaults=True, tag=True, tag_field="event"):
    """A fact. It is stored with the name of its class under `event`."""


class ConnectionEstablished(Event, frozen=True):
    """An INITIAL UE MESSAGE, or a hand-over from an unidentified UE, made a connection."""

    connection: Connection


class UplinkTaken(Event, frozen=True):
    """An uplink message was taken in its turn; its MAC, if any, is verified."""

    sequence: int
    nas_count: int | None = None
    tai: Tai | None = None
    cell: int | None = None


class DownlinkCounted(Event, frozen=True):
    """A protected downlink NAS message used this COUNT of the current or pending context."""

    nas_count: int
    pending: bool = False


class ContextRequested(Event, frozen=True):
    """An INITIAL CONTEXT SETUP REQUEST was sent, with the K_gNB of this uplink NAS COUNT."""

    kgnb_count: int


class ContextSetUp(Event, frozen=True):
    """The gNB has set up the UE context."""


class ContextSetupFailed(Event, frozen=True):
    """The gNB has not."""

    cause: str


class ConnectionReleasing(Event, frozen=True):
    """A UE CONTEXT RELEASE COMMAND was sent for a connection."""

    amf_ue_ngap_id: int
    cause: str


class ConnectionAbandoned(Event, frozen=True):
    """The UE, or someone in its name, is on another connection now."""

    amf_ue_ngap_id: int


class ConnectionReleased(Event, frozen=True):
    """A connection is gone, and its AMF-UE-NGAP-ID is free."""

    amf_ue_ngap_id: int
    reason: str


class RadioCapabilityReported(Event, frozen=True):
    """The gNB has told the UE radio capability, as an opaque container."""

    capability: bytes


class SubscriberIdentified(Event, frozen=True):
    """The SUPI of the UE is known."""

    supi: str


class IdentityRequested(Event, frozen=True):
    """An IDENTITY REQUEST for the SUCI was sent."""


class HandedOver(Event, frozen=True):
    """The connection now belongs to the aggregate of the UE's SUPI, or to `identification`."""

    to: str


class AuthenticationStarted(Event, frozen=True):
    """A challenge was sent; `sqn` is used up."""

    challenge: Challenge
    sqn: int


class AuthenticationSucceeded(Event, frozen=True):
    """RES* is XRES*."""


class AuthenticationFailed(Event, frozen=True):
    """The UE refused the challenge, or its response is wrong."""

    cause: str


class SqnResynchronised(Event, frozen=True):
    """A verified AUTS gave the SQN of the USIM."""

    sqn: int


class SecurityModeStarted(Event, frozen=True):
    """A SECURITY MODE COMMAND was sent under this context."""

    context: SecurityContext


class SecurityModeCompleted(Event, frozen=True):
    """The pending context is the current one, with this next uplink COUNT."""

    uplink: int


class SecurityModeRejected(Event, frozen=True):
    """The UE refused the security mode; the context before stays."""

    cause: str


class SecurityContextDeleted(Event, frozen=True):
    """The current context must not be used again."""

    reason: str


class PeiLearned(Event, frozen=True):
    """The UE has told its IMEISV."""

    pei: str


class RegistrationStarted(Event, frozen=True):
    """A REGISTRATION REQUEST began a procedure."""

    registration: Registration


class RequestCompleted(Event, frozen=True):
    """The entire REGISTRATION REQUEST came protected."""

    request: bytes


class GutiAllocated(Event, frozen=True):
    """A new 5G-GUTI, valid beside the old until it is confirmed."""

    tmsi: int


class GutiConfirmed(Event, frozen=True):
    """The UE uses the new 5G-GUTI."""


class RegistrationAccepted(Event, frozen=True):
    """A REGISTRATION ACCEPT was sent."""

    accept: bytes
    allowed_nssai: tuple[SNssai, ...]
    registration_area: tuple[Tai, ...]


class RegistrationCompleted(Event, frozen=True):
    """The procedure is over, and the UE is registered."""


class RegistrationRejected(Event, frozen=True):
    """A REGISTRATION REJECT or AUTHENTICATION REJECT was sent. A registration from before
    stands, unless `Deregistered` says otherwise: whoever failed may not be this UE."""

    cause: str


class RegistrationAborted(Event, frozen=True):
    """The procedure ended without an answer."""

    reason: str


class DeregistrationPending(Event, frozen=True):
    """A DEREGISTRATION REQUEST without a valid MAC waits for authentication (4.4.4.3)."""


class Deregistered(Event, frozen=True):
    """The UE is deregistered."""

    reason: str


class SessionRequested(Event, frozen=True):
    """A PDU SESSION ESTABLISHMENT REQUEST is to be granted; its address is taken."""

    session: PduSession


class N4Sent(Event, frozen=True):
    """A PFCP request of a session was sent, or sent again."""

    seid: int
    request: N4Request


class N4Answered(Event, frozen=True):
    """The UPF has done what it was asked for. Of an establishment: its SEID and its F-TEID."""

    seid: int
    up_seid: int = 0
    uplink: Tunnel | None = None


class N4Failed(Event, frozen=True):
    """The UPF has refused a request, or not answered any of its repetitions."""

    seid: int
    cause: str


class N4Lost(Event, frozen=True):
    """The UPF has lost the session; it is to be established again."""

    seid: int
    reason: str


class UserPlaneWanted(Event, frozen=True):
    """The gNB is to be asked for the resources of a session once it can be."""

    seid: int


class UserPlaneRequested(Event, frozen=True):
    """The gNB was asked for them, by this connection."""

    seid: int
    amf_ue_ngap_id: int


class UserPlaneOn(Event, frozen=True):
    """The gNB has set them up, and takes downlink packets there."""

    seid: int
    access: Tunnel


class UserPlaneOff(Event, frozen=True):
    """The session has no resources at a gNB any more, or was refused them."""

    seid: int
    reason: str


class SessionModifying(Event, frozen=True):
    """A PDU SESSION MODIFICATION COMMAND was sent; `pti` is that of the UE's request, or 0."""

    seid: int
    ambr: Ambr
    pti: int = 0


class SessionModified(Event, frozen=True):
    """The UE has completed or rejected it, or never answered."""

    seid: int


class SessionReleasing(Event, frozen=True):
    """A PDU SESSION RELEASE COMMAND was sent; `pti` is that of the UE's request, or 0."""

    seid: int
    pti: int
    cause: str


class SessionGone(Event, frozen=True):
    """The session is no more for the UE; the UPF is to let it go."""

    seid: int
    reason: str


class SessionEnded(Event, frozen=True):
    """The UPF has let the session go, and its address is free."""

    seid: int
    reason: str


class PagingStarted(Event, frozen=True):
    """The UE is paged for downlink packets of these sessions, or for one more."""

    seids: tuple[int, ...]


class PagingEnded(Event, frozen=True):
    """The UE has come, or nobody pages it any more."""

    reason: str


class PagingFailed(Event, frozen=True):
    """No PAGING was answered."""


class TimerStarted(Event, frozen=True):
    """A timer runs until `at`."""

    name: str
    at: int
    count: int = 0


class TimerStopped(Event, frozen=True):
    """A timer runs no more."""

    name: str


class WakeScheduled(Event, frozen=True):
    """A wake-up was asked for."""

    at: int


class Noted(Event, frozen=True):
    """Something worth a line in the log that changes nothing: why a message was ignored."""

    text: str


UeEvent: TypeAlias = (
    ConnectionEstablished
    | UplinkTaken
    | DownlinkCounted
    | ContextRequested
    | ContextSetUp
    | ContextSetupFailed
    | ConnectionReleasing
    | ConnectionAbandoned
    | ConnectionReleased
    | RadioCapabilityReported
    | SubscriberIdentified
    | IdentityRequested
    | HandedOver
    | AuthenticationStarted
    | AuthenticationSucceeded
    | AuthenticationFailed
    | SqnResynchronised
    | SecurityModeStarted
    | SecurityModeCompleted
    | SecurityModeRejected
    | SecurityContextDeleted
    | PeiLearned
    | RegistrationStarted
    | RequestCompleted
    | GutiAllocated
    | GutiConfirmed
    | RegistrationAccepted
    | RegistrationCompleted
    | RegistrationRejected
    | RegistrationAborted
    | DeregistrationPending
    | Deregistered
    | SessionRequested
    | N4Sent
    | N4Answered
    | N4Failed
    | N4Lost
    | UserPlaneWanted
    | UserPlaneRequested
    | UserPlaneOn
    | UserPlaneOff
    | SessionModifying
    | SessionModified
    | SessionReleasing
    | SessionGone
    | SessionEnded
    | PagingStarted
    | PagingEnded
    | PagingFailed
    | TimerStarted
    | TimerStopped
    | WakeScheduled
    | Noted
)
