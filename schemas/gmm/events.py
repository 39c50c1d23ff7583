"""Events of 5GMM procedures (TS 24.501 clause 5)."""

from schemas.event import Event
from schemas.gmm.state import Challenge, Registration, SecurityContext
from schemas.identity import SNssai, Tai


class DownlinkCounted(Event, frozen=True):
    """A protected downlink NAS message used this COUNT of the current or pending context."""

    nas_count: int
    pending: bool = False


class SubscriberIdentified(Event, frozen=True):
    """The SUPI of the UE is known."""

    supi: str


class IdentityRequested(Event, frozen=True):
    """An IDENTITY REQUEST for the SUCI was sent."""


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


class NetworkDeregistrationPending(Event, frozen=True):
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


class ConfigurationUpdatePending(Event, frozen=True):
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
