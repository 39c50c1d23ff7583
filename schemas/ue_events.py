"""What can happen to a UE: the events that its log is made of."""

from typing import Final, TypeAlias

from msgspec import Struct

from schemas.handover import Moving, Place
from schemas.identity import SNssai, Tai
from schemas.indication import Indication
from schemas.session import N4Request, PduSession, Tunnel
from schemas.subscriber import Ambr
from schemas.ue import Challenge, Connection, Registration, Secret, SecurityContext

IGNORABLE: Final = "~"
"""How the name of an event begins that a version may ignore which does not know it."""


class Event(Struct, frozen=True, omit_defaults=True, tag=True, tag_field="event"):
    """A fact. It is stored with the name of its class under `event`."""


class IgnorableEvent(Event, frozen=True, tag=lambda name: IGNORABLE + name):
    """A fact that a version may ignore which does not know it: what that version folds and
    decides without it is right (docs/decisions/0011)."""


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


class ConnectionSetAside(Event, frozen=True):
    """Someone in the name of the UE is on another connection, and has not proved to be it: the
    current one is kept beside, with what goes on there."""

    amf_ue_ngap_id: int


class ConnectionAttended(Event, frozen=True):
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
    emergency: bool = False
    """Whether it is for emergency services alone."""
    t3512: int = 3600
    """The value of T3512 in it, in seconds."""


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


class N4Replaced(Event, frozen=True):
    """The UPF was asked for the session twice, and has it under another SEID by now; what it was
    asked for under the first, it is to be asked again."""

    seid: int
    up_seid: int


class UserPlaneWanted(Event, frozen=True):
    """The gNB is to be asked for the resources of a session once it can be."""

    seid: int


class UserPlaneRequested(Event, frozen=True):
    """The gNB was asked for them, by this connection, and told the AMBR of the UE."""

    seid: int
    amf_ue_ngap_id: int
    ambr: Ambr | None = None


class UserPlaneOn(Event, frozen=True):
    """The gNB has set them up, and takes downlink packets there."""

    seid: int
    access: Tunnel


class UserPlaneOff(Event, frozen=True):
    """The session has no resources at a gNB any more, or was refused them."""

    seid: int
    reason: str


class UserPlaneMoved(Event, frozen=True):
    """The gNB takes downlink packets elsewhere, or again where it did before."""

    seid: int
    access: Tunnel


class IndicationTaken(Event, frozen=True):
    """A PDU SESSION RESOURCE MODIFY INDICATION has come."""

    indication: Indication


class IndicationEnded(Event, frozen=True):
    """It was confirmed, or there is nobody to confirm it to."""

    reason: str


class SecondaryRatUsed(Event, frozen=True):
    """A gNB has reported what a PDU session has used of a secondary RAT (TS 23.502 4.21)."""

    psi: int
    rat: str
    start: int
    """The begin of the time that is reported, in seconds since 1900."""
    end: int
    uplink: int
    """In octets."""
    downlink: int
    qfi: int | None = None
    """The QoS flow; None for the whole session."""


class SessionModifying(Event, frozen=True):
    """A PDU SESSION MODIFICATION COMMAND was sent; `pti` is that of the UE's request, or 0."""

    seid: int
    ambr: Ambr
    pti: int = 0


class SessionModified(Event, frozen=True):
    """The UE has completed or rejected it, or never answered."""

    seid: int


class SessionReleasing(Event, frozen=True):
    """A PDU SESSION RELEASE COMMAND was sent; `pti` is that of the UE's request, or 0, `cause` the
    5GSM cause."""

    seid: int
    pti: int
    cause: int


class SessionGone(Event, frozen=True):
    """The session is no more for the UE; the UPF is to let it go."""

    seid: int
    reason: str


class SessionEnded(Event, frozen=True):
    """The UPF has let the session go, and its address is free."""

    seid: int
    reason: str


class DownlinkReported(Event, frozen=True):
    """The UPF holds downlink packets of a session, and has said so."""

    seid: int


class PagingStarted(Event, frozen=True):
    """The UE is paged for downlink packets of these sessions, or for one more."""

    seids: tuple[int, ...]


class PagingEnded(Event, frozen=True):
    """The UE has come, or nobody pages it any more."""

    reason: str


class PagingFailed(Event, frozen=True):
    """No PAGING was answered."""


class ReachableUntil(Event, frozen=True):
    """The UE is in CM-IDLE, and should come by itself before this time; a wake-up was asked for
    then, in the place of any other."""

    at: int


class NetworkDeregistrationWanted(Event, frozen=True):
    """The network is to deregister the UE; `cause` is a 5GMM cause, 0 for none."""

    reason: str
    reregister: bool = False
    cause: int = 0


class NetworkDeregistrationSent(Event, frozen=True):
    """A DEREGISTRATION REQUEST was sent on this connection."""

    amf_ue_ngap_id: int


class NetworkDeregistrationAborted(Event, frozen=True):
    """The UE stays registered, or is anew."""

    reason: str


class ConfigurationUpdateOwed(Event, frozen=True):
    """The UE is to be told of a new 5G-GUTI, or of the network's name and time."""

    guti: bool = False
    nitz: bool = False


class ConfigurationUpdateSent(Event, frozen=True):
    """A CONFIGURATION UPDATE COMMAND was sent that the UE has to acknowledge."""

    command: bytes
    amf_ue_ngap_id: int
    allowed_nssai: tuple[SNssai, ...] = ()
    register: bool = False


class ConfigurationUpdateStopped(Event, frozen=True):
    """It was not acknowledged. What is still owed is told on another connection, or on this one
    again unless it was given up."""

    reason: str
    given_up: bool = False


class ConfigurationUpdated(Event, frozen=True):
    """The UE has acknowledged it, or need not."""


class HandoverTriggered(Event, frozen=True):
    """The gNB has refused something because it is handing the UE over."""


class NasNotDelivered(Event, frozen=True):
    """The gNB has refused to deliver a NAS message because of a handover."""


class NextHopDerived(Event, frozen=True):
    """A target is given this NH and its NCC (TS 33.501 6.9.2.3)."""

    ncc: int
    nh: Secret


class HandoverPrepared(Event, frozen=True):
    """A HANDOVER REQUEST was sent to a target, for these sessions."""

    target: Connection
    sessions: tuple[Moving, ...]
    refused: tuple[int, ...] = ()


class HandoverAdmitted(Event, frozen=True):
    """The target has admitted these sessions, and the UE is told to go there."""

    ran_ue_ngap_id: int
    sessions: tuple[Moving, ...]
    order: int = 0


class TargetTaken(Event, frozen=True):
    """An uplink message of the target was taken in its turn, or of one that was left."""

    sequence: int
    amf_ue_ngap_id: int


class HandoverCompleted(Event, frozen=True):
    """The UE is at the target: that connection is the UE's now, and the one before is left."""

    tai: Tai
    cell: int


class PathSwitched(Event, frozen=True):
    """The UE is at another gNB by Xn: its connection ends there, with these sessions."""

    place: Place
    sessions: tuple[Moving, ...]
    refused: tuple[int, ...] = ()


class PathSwitchFailed(Event, frozen=True):
    """No session could be switched: the connection ends where it did before."""


class HandoverEnded(Event, frozen=True):
    """The handover is over. A target that the UE has not come to is left."""

    reason: str


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
    | ContextModifying
    | ContextModified
    | ContextModificationFailed
    | ConnectionReleasing
    | ConnectionSetAside
    | ConnectionAttended
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
    | N4Replaced
    | UserPlaneWanted
    | UserPlaneRequested
    | UserPlaneOn
    | UserPlaneOff
    | UserPlaneMoved
    | IndicationTaken
    | IndicationEnded
    | SecondaryRatUsed
    | SessionModifying
    | SessionModified
    | SessionReleasing
    | SessionGone
    | SessionEnded
    | DownlinkReported
    | PagingStarted
    | PagingEnded
    | PagingFailed
    | ReachableUntil
    | NetworkDeregistrationWanted
    | NetworkDeregistrationSent
    | NetworkDeregistrationAborted
    | ConfigurationUpdateOwed
    | ConfigurationUpdateSent
    | ConfigurationUpdateStopped
    | ConfigurationUpdated
    | HandoverTriggered
    | NasNotDelivered
    | NextHopDerived
    | HandoverPrepared
    | HandoverAdmitted
    | TargetTaken
    | HandoverCompleted
    | PathSwitched
    | PathSwitchFailed
    | HandoverEnded
    | TimerStarted
    | TimerStopped
    | WakeScheduled
    | Noted
)
