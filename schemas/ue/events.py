"""All events of a UE. The events of each family are in its own module."""

from typing import TypeAlias

from schemas.connection.events import (
    ConnectionAbandoned,
    ConnectionAttended,
    ConnectionEstablished,
    ConnectionReleased,
    ConnectionReleasing,
    ConnectionSetAside,
    ContextModificationFailed,
    ContextModified,
    ContextModifying,
    ContextRequested,
    ContextSetUp,
    ContextSetupFailed,
    HandedOver,
    RadioCapabilityReported,
    UplinkTaken,
)
from schemas.event import Event, Noted
from schemas.gmm.events import (
    AuthenticationFailed,
    AuthenticationStarted,
    AuthenticationSucceeded,
    ConfigurationUpdated,
    ConfigurationUpdateOwed,
    ConfigurationUpdateSent,
    ConfigurationUpdateStopped,
    Deregistered,
    DeregistrationPending,
    DownlinkCounted,
    GutiAllocated,
    GutiConfirmed,
    IdentityRequested,
    NetworkDeregistrationAborted,
    NetworkDeregistrationSent,
    NetworkDeregistrationWanted,
    PagingEnded,
    PagingFailed,
    PagingStarted,
    PeiLearned,
    ReachableUntil,
    RegistrationAborted,
    RegistrationAccepted,
    RegistrationCompleted,
    RegistrationRejected,
    RegistrationStarted,
    RequestCompleted,
    SecurityContextDeleted,
    SecurityModeCompleted,
    SecurityModeRejected,
    SecurityModeStarted,
    SqnResynchronised,
    SubscriberIdentified,
)
from schemas.gsm.events import (
    DownlinkReported,
    IndicationEnded,
    IndicationTaken,
    N4Answered,
    N4Failed,
    N4Lost,
    N4Replaced,
    N4Sent,
    SecondaryRatUsed,
    SessionEnded,
    SessionGone,
    SessionModified,
    SessionModifying,
    SessionReleasing,
    SessionRequested,
    UserPlaneMoved,
    UserPlaneOff,
    UserPlaneOn,
    UserPlaneRequested,
    UserPlaneWanted,
)
from schemas.mobility.events import (
    HandoverAdmitted,
    HandoverCompleted,
    HandoverEnded,
    HandoverPrepared,
    HandoverTriggered,
    NasNotDelivered,
    NextHopDerived,
    PathSwitched,
    PathSwitchFailed,
    TargetTaken,
)


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
