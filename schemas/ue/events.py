"""All events of a UE. The events of each family are in the module of the family."""

from typing import TypeAlias

from schemas.connection.events import (
    CellsRecommended,
    ConnectionAbandoned,
    ConnectionActivated,
    ConnectionEstablished,
    ConnectionParked,
    ConnectionReleased,
    ConnectionReleasing,
    ConnectionTransferred,
    ContextModificationFailed,
    ContextModified,
    ContextModifying,
    ContextRequested,
    ContextSetUp,
    ContextSetupFailed,
    RadioCapabilityReported,
    RestrictionsSent,
    UplinkProcessed,
)
from schemas.event import Event, Noted
from schemas.gmm.events import (
    AuthenticationFailed,
    AuthenticationStarted,
    AuthenticationSucceeded,
    ConfigurationUpdated,
    ConfigurationUpdatePending,
    ConfigurationUpdateSent,
    ConfigurationUpdateStopped,
    Deregistered,
    DeregistrationPending,
    DownlinkCounted,
    GutiAllocated,
    GutiConfirmed,
    IdentityRequested,
    NetworkDeregistrationAborted,
    NetworkDeregistrationPending,
    NetworkDeregistrationSent,
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
    IndicationCompleted,
    IndicationReceived,
    N4Answered,
    N4Failed,
    N4Lost,
    N4Replaced,
    N4Sent,
    ResourcesAnswered,
    ResourcesAsked,
    ResourcesUnneeded,
    SecondaryRatUsed,
    SessionDeleted,
    SessionModified,
    SessionModifying,
    SessionReleased,
    SessionReleasing,
    SessionRequested,
    SessionUnconfirmed,
    UplinkReplaced,
    UserPlaneMoved,
    UserPlaneOff,
    UserPlaneOn,
    UserPlanePending,
    UserPlaneRequested,
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
    TargetUplinkProcessed,
)
from schemas.stranger import StrangerRecorded


class TimerStarted(Event, frozen=True):
    """A timer runs until `at`."""

    name: str
    at: int
    count: int = 0


class TimerStopped(Event, frozen=True):
    """A timer was stopped."""

    name: str


class WakeScheduled(Event, frozen=True):
    """A wake-up was scheduled."""

    at: int


UeEvent: TypeAlias = (
    ConnectionEstablished
    | UplinkProcessed
    | DownlinkCounted
    | ContextRequested
    | ContextSetUp
    | ContextSetupFailed
    | ContextModifying
    | ContextModified
    | ContextModificationFailed
    | ConnectionReleasing
    | ConnectionParked
    | ConnectionActivated
    | ConnectionAbandoned
    | ConnectionReleased
    | RadioCapabilityReported
    | CellsRecommended
    | RestrictionsSent
    | SubscriberIdentified
    | IdentityRequested
    | ConnectionTransferred
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
    | UplinkReplaced
    | UserPlanePending
    | UserPlaneRequested
    | UserPlaneOn
    | UserPlaneOff
    | UserPlaneMoved
    | IndicationReceived
    | IndicationCompleted
    | SecondaryRatUsed
    | ResourcesAsked
    | ResourcesAnswered
    | ResourcesUnneeded
    | SessionUnconfirmed
    | SessionModifying
    | SessionModified
    | SessionReleasing
    | SessionReleased
    | SessionDeleted
    | DownlinkReported
    | PagingStarted
    | PagingEnded
    | PagingFailed
    | ReachableUntil
    | NetworkDeregistrationPending
    | NetworkDeregistrationSent
    | NetworkDeregistrationAborted
    | ConfigurationUpdatePending
    | ConfigurationUpdateSent
    | ConfigurationUpdateStopped
    | ConfigurationUpdated
    | HandoverTriggered
    | NasNotDelivered
    | NextHopDerived
    | HandoverPrepared
    | HandoverAdmitted
    | TargetUplinkProcessed
    | HandoverCompleted
    | PathSwitched
    | PathSwitchFailed
    | HandoverEnded
    | TimerStarted
    | TimerStopped
    | WakeScheduled
    | StrangerRecorded
    | Noted
)
