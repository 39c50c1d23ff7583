"""Events of 5GMM procedures (TS 24.501 clause 5)."""

from schemas.event import Event
from schemas.gmm.state import Challenge, ConfiguredNssai, Registration, SecurityContext
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
    """The UE's RES* is equal to XRES*."""


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
    """The UE refused the security mode command; the previous context remains."""

    cause: str


class SecurityContextDeleted(Event, frozen=True):
    """The current context must not be used again."""

    reason: str


class PeiLearned(Event, frozen=True):
    """The UE sent its IMEISV."""

    pei: str


class RegistrationStarted(Event, frozen=True):
    """A REGISTRATION REQUEST began a procedure."""

    registration: Registration


class RequestCompleted(Event, frozen=True):
    """The complete REGISTRATION REQUEST arrived with integrity protection."""

    request: bytes
    capability: bytes = b""
    """The UE security capability in it, if it differs from that of the first request. It replaces
    that of the current security context."""


class GutiAllocated(Event, frozen=True):
    """A new 5G-GUTI was allocated. The old one remains valid until the new one is confirmed."""

    tmsi: int


class GutiConfirmed(Event, frozen=True):
    """The UE uses the new 5G-GUTI."""


class RegistrationAccepted(Event, frozen=True):
    """A REGISTRATION ACCEPT was sent."""

    accept: bytes
    allowed_nssai: tuple[SNssai, ...]
    registration_area: tuple[Tai, ...]
    emergency: bool = False
    """Whether the registration is for emergency services only."""
    t3512: int = 3600
    """The value of T3512 in it, in seconds."""
    configured_nssai: ConfiguredNssai | None = None
    """The configured NSSAI in it; None for none."""
    drx: int = 0
    """The negotiated UE specific DRX cycle, in radio frames; 0 for none."""


class RegistrationCompleted(Event, frozen=True):
    """The procedure is completed, and the UE is registered."""


class RegistrationRejected(Event, frozen=True):
    """A REGISTRATION REJECT or AUTHENTICATION REJECT was sent. An earlier registration remains,
    unless `Deregistered` follows: the sender may not be this UE."""

    cause: str


class RegistrationAborted(Event, frozen=True):
    """The procedure ended without a response."""

    reason: str


class DeregistrationPending(Event, frozen=True):
    """A DEREGISTRATION REQUEST without a valid MAC waits for authentication (4.4.4.3)."""


class Deregistered(Event, frozen=True):
    """The UE is deregistered."""

    reason: str


class PagingStarted(Event, frozen=True):
    """The UE is paged for downlink packets of these sessions, or for one more session."""

    seids: tuple[int, ...]
    waits: bool = False
    """Whether PAGING is sent after the release of the connection."""


class PagingEnded(Event, frozen=True):
    """The UE answered the paging, or the paging is no longer needed."""

    reason: str


class PagingFailed(Event, frozen=True):
    """The UE did not answer any PAGING."""


class ReachableUntil(Event, frozen=True):
    """The UE is in CM-IDLE, and the mobile reachable timer ends at this time. A wake-up was
    scheduled for it, which replaces any other."""

    at: int


class NetworkDeregistrationPending(Event, frozen=True):
    """The network deregisters the UE as soon as possible; `cause` is a 5GMM cause, 0 for none."""

    reason: str
    reregister: bool = False
    cause: int = 0


class NetworkDeregistrationSent(Event, frozen=True):
    """A DEREGISTRATION REQUEST was sent on this connection."""

    amf_ue_ngap_id: int


class NetworkDeregistrationAborted(Event, frozen=True):
    """The UE remains registered, or registered again."""

    reason: str


class ConfigurationUpdatePending(Event, frozen=True):
    """The UE must be sent a new 5G-GUTI, or the network's name and time."""

    guti: bool = False
    nitz: bool = False
    allocated: bool = False
    """Whether the new 5G-GUTI is allocated by now."""


class ConfigurationUpdateSent(Event, frozen=True):
    """A CONFIGURATION UPDATE COMMAND was sent that requests an acknowledgement."""

    command: bytes
    amf_ue_ngap_id: int
    allowed_nssai: tuple[SNssai, ...] = ()
    register: bool = False
    configured_nssai: ConfiguredNssai | None = None
    registration_area: tuple[Tai, ...] = ()


class ConfigurationUpdateStopped(Event, frozen=True):
    """The command was not acknowledged. The pending values are sent on another connection, or again
    on this one unless `given_up`."""

    reason: str
    given_up: bool = False


class ConfigurationUpdated(Event, frozen=True):
    """The UE acknowledged the command, or no acknowledgement was requested."""
