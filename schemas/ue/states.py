"""The states of a UE by their names in the specifications, and its ongoing procedures.

Each is derived from the state of the UE: nothing here is stored.
"""

from enum import IntFlag, StrEnum
from typing import Final

from schemas.gsm.state import PduSession
from schemas.ue.state import Ue
from schemas.ue.waking import IMPLICIT_DEREGISTRATION, MOBILE_REACHABLE


class RmState(StrEnum):
    """Registration management states (TS 23.501 5.3.2)."""

    DEREGISTERED = "RM-DEREGISTERED"
    REGISTERED = "RM-REGISTERED"


class CmState(StrEnum):
    """Connection management states (TS 23.501 5.3.3)."""

    IDLE = "CM-IDLE"
    CONNECTED = "CM-CONNECTED"


class GmmState(StrEnum):
    """5GMM main states in the network (TS 24.501 5.1.3.2.3). They have no substates."""

    DEREGISTERED = "5GMM-DEREGISTERED"
    COMMON_PROCEDURE_INITIATED = "5GMM-COMMON-PROCEDURE-INITIATED"
    REGISTERED = "5GMM-REGISTERED"
    DEREGISTERED_INITIATED = "5GMM-DEREGISTERED-INITIATED"


class SmState(StrEnum):
    """5GSM states of a PDU session in the network (TS 24.501 6.1.3.3)."""

    INACTIVE = "PDU SESSION INACTIVE"
    ACTIVE = "PDU SESSION ACTIVE"
    INACTIVE_PENDING = "PDU SESSION INACTIVE PENDING"
    MODIFICATION_PENDING = "PDU SESSION MODIFICATION PENDING"


class Condition(IntFlag):
    """A state of the UE, or an ongoing procedure, that decides if another procedure may start.

    `functions.decision.collisions` has the table.
    """

    # States
    RM_DEREGISTERED = 1 << 0
    CM_IDLE = 1 << 1
    CM_CONNECTED = 1 << 2
    NOT_SECURED = 1 << 3
    """The secure exchange of NAS messages is not established (TS 24.501 4.4.2.5)."""
    TRANSFERRED = 1 << 4
    """The connection was handed over to another aggregate, by the identity that the UE gave."""
    SIGNALLING = 1 << 5
    """The UE can be sent NAS messages (`reachable`)."""
    NO_CONTEXT = 1 << 6
    """The gNB of the connection has no UE context."""
    UNREACHABLE = 1 << 7
    """The UE is in CM-IDLE, and did not answer the last paging or is not paged."""

    # 5GMM procedures
    IDENTIFICATION = 1 << 8
    AUTHENTICATION = 1 << 9
    SECURITY_MODE_CONTROL = 1 << 10
    REGISTRATION = 1 << 11
    """A registration before REGISTRATION ACCEPT."""
    REGISTRATION_ACCEPTED = 1 << 12
    """A registration that waits for REGISTRATION COMPLETE."""
    DEREGISTRATION_BY_UE = 1 << 13
    """A DEREGISTRATION REQUEST without a valid MAC: its sender is being authenticated."""
    DEREGISTRATION_BY_NETWORK = 1 << 14
    """The network deregisters the UE, or waits until it can."""
    DEREGISTRATION_FOR_LOCATION = 1 << 15
    """The same, and the UE was sent one of `LOCATION_CAUSES`."""
    CONFIGURATION_UPDATE = 1 << 16
    PAGING = 1 << 17
    PAGED_IN_VAIN = 1 << 18
    """The pause after a paging without an answer."""
    MOBILE_REACHABLE = 1 << 19
    """The mobile reachable timer runs (TS 24.501 5.3.7)."""
    IMPLICIT_DEREGISTRATION = 1 << 20
    """The implicit deregistration timer runs, and the paging proceed flag is clear (TS 23.501
    5.4.1.1)."""

    # NGAP procedures
    INITIAL_CONTEXT_SETUP = 1 << 21
    CONTEXT_MODIFICATION = 1 << 22
    AN_RELEASE = 1 << 23
    HANDOVER_TRIGGERED = 1 << 24
    """The gNB has refused a request because of a handover that the core does not know of yet."""
    HANDOVER_PREPARATION = 1 << 25
    HANDOVER_EXECUTION = 1 << 26
    PATH_SWITCH = 1 << 27
    MODIFY_INDICATION = 1 << 28

    # Procedures of one PDU session
    SESSION_ESTABLISHMENT = 1 << 29
    SESSION_ACTIVE = 1 << 30
    """The session has no 5GSM procedure."""
    SESSION_MODIFICATION = 1 << 31
    SESSION_RELEASE = 1 << 32
    SESSION_DELETION = 1 << 33
    """The UE has released the session, the UPF not yet."""
    RESOURCE_SETUP = 1 << 34
    """The gNB is to set up the resources of the session, or is asked to."""

    # Requests about the resources of PDU sessions that the gNB has not answered
    SETUP_UNANSWERED = 1 << 35
    MODIFY_UNANSWERED = 1 << 36
    RELEASE_UNANSWERED = 1 << 37


LOCATION_CAUSES: Final = frozenset({11, 12, 13, 15, 62, 74, 75, 78})
"""5GMM causes that depend on the location of the UE, which may have moved since (5.5.2.3.5 e)."""


# Plain integers: operations on the members of an IntFlag are slow.
_RM_DEREGISTERED: Final = Condition.RM_DEREGISTERED.value
_CM_IDLE: Final = Condition.CM_IDLE.value
_CM_CONNECTED: Final = Condition.CM_CONNECTED.value
_NOT_SECURED: Final = Condition.NOT_SECURED.value
_TRANSFERRED: Final = Condition.TRANSFERRED.value
_SIGNALLING: Final = Condition.SIGNALLING.value
_NO_CONTEXT: Final = Condition.NO_CONTEXT.value
_UNREACHABLE: Final = Condition.UNREACHABLE.value
_AUTHENTICATION: Final = Condition.AUTHENTICATION.value
_SECURITY_MODE_CONTROL: Final = Condition.SECURITY_MODE_CONTROL.value
_DEREGISTRATION_BY_UE: Final = Condition.DEREGISTRATION_BY_UE.value
_DEREGISTRATION_BY_NETWORK: Final = Condition.DEREGISTRATION_BY_NETWORK.value
_DEREGISTRATION_FOR_LOCATION: Final = Condition.DEREGISTRATION_FOR_LOCATION.value
_CONFIGURATION_UPDATE: Final = Condition.CONFIGURATION_UPDATE.value
_PAGING: Final = Condition.PAGING.value
_PAGED_IN_VAIN: Final = Condition.PAGED_IN_VAIN.value
_MOBILE_REACHABLE: Final = Condition.MOBILE_REACHABLE.value
_IMPLICIT_DEREGISTRATION: Final = Condition.IMPLICIT_DEREGISTRATION.value
_INITIAL_CONTEXT_SETUP: Final = Condition.INITIAL_CONTEXT_SETUP.value
_CONTEXT_MODIFICATION: Final = Condition.CONTEXT_MODIFICATION.value
_AN_RELEASE: Final = Condition.AN_RELEASE.value
_MODIFY_INDICATION: Final = Condition.MODIFY_INDICATION.value
_RESOURCE_SETUP: Final = Condition.RESOURCE_SETUP.value

_UNANSWERED: Final = {
    "context": 0,  # INITIAL_CONTEXT_SETUP
    "setup": Condition.SETUP_UNANSWERED.value,
    "modify": Condition.MODIFY_UNANSWERED.value,
    "release": Condition.RELEASE_UNANSWERED.value,
}
_REGISTRATION: Final = {
    "begun": Condition.REGISTRATION.value,
    "identifying": Condition.REGISTRATION.value | Condition.IDENTIFICATION.value,
    "authenticating": Condition.REGISTRATION.value,
    "securing": Condition.REGISTRATION.value,
    "accepted": Condition.REGISTRATION_ACCEPTED.value,
}
_CONTEXT: Final = {
    "none": _NO_CONTEXT,
    "pending": _INITIAL_CONTEXT_SETUP,
    "set-up": 0,
}
_HANDOVER: Final = {
    "triggered": Condition.HANDOVER_TRIGGERED.value,
    "preparing": Condition.HANDOVER_PREPARATION.value,
    "executing": Condition.HANDOVER_EXECUTION.value,
    "switching": Condition.PATH_SWITCH.value,
}
_SESSION: Final = {
    "establishing": Condition.SESSION_ESTABLISHMENT.value,
    "active": Condition.SESSION_ACTIVE.value,
    "modifying": Condition.SESSION_MODIFICATION.value,
    "releasing": Condition.SESSION_RELEASE.value,
    "released": Condition.SESSION_DELETION.value,
}

BUSY: Final = (
    Condition.REGISTRATION
    | Condition.REGISTRATION_ACCEPTED
    | Condition.AUTHENTICATION
    | Condition.SECURITY_MODE_CONTROL
    | Condition.DEREGISTRATION_BY_UE
)
"""Procedures of a connection that end with it."""

COMMON_PROCEDURES: Final = (
    Condition.IDENTIFICATION
    | Condition.AUTHENTICATION
    | Condition.SECURITY_MODE_CONTROL
    | Condition.REGISTRATION_ACCEPTED
    | Condition.CONFIGURATION_UPDATE
)
"""Procedures that make 5GMM-COMMON-PROCEDURE-INITIATED (TS 24.501 5.1.3.2.3.3, 5.5.1.2.4)."""


def reachable(ue: Ue) -> bool:
    """Whether the UE has a connection that NAS messages can be sent on."""
    here = ue.connection
    return here is not None and here.secured and not here.releasing and not ue.successor


def conditions(ue: Ue) -> int:
    """Return the states and the ongoing procedures of a UE, without those of its PDU sessions."""
    return (_of_connection(ue) if ue.connection is not None else _of_idle(ue)) | _of_procedures(ue)


def _of_connection(ue: Ue) -> int:
    here = ue.connection
    if here is None:
        return 0
    found = _CM_CONNECTED | _CONTEXT[here.context]
    if here.releasing:
        found |= _AN_RELEASE
    elif here.secured and not ue.successor:
        found |= _SIGNALLING
    if not here.secured:
        found |= _NOT_SECURED
    if here.modifying:
        found |= _CONTEXT_MODIFICATION
    for kind in here.asked:
        found |= _UNANSWERED[kind]
    if ue.successor:
        found |= _TRANSFERRED
    if ue.handover is not None:
        found |= _HANDOVER[ue.handover.stage]
    if ue.indication is not None:
        found |= _MODIFY_INDICATION
    return found


def _of_idle(ue: Ue) -> int:
    found = _CM_IDLE
    if IMPLICIT_DEREGISTRATION in ue.timers:
        found |= _IMPLICIT_DEREGISTRATION | _UNREACHABLE
    elif MOBILE_REACHABLE in ue.timers:
        found |= _MOBILE_REACHABLE
    if ue.paging is not None and ue.paging.failed:
        found |= _UNREACHABLE
    return found


def _of_procedures(ue: Ue) -> int:
    found = 0 if ue.registered else _RM_DEREGISTERED
    if ue.registration is not None:
        found |= _REGISTRATION[ue.registration.stage]
    if ue.challenge is not None:
        found |= _AUTHENTICATION
    if ue.pending is not None:
        found |= _SECURITY_MODE_CONTROL
    if ue.deregistering:
        found |= _DEREGISTRATION_BY_UE
    if ue.paging is not None:
        found |= _PAGED_IN_VAIN if ue.paging.failed else _PAGING
    if ue.update is not None and ue.update.command:
        found |= _CONFIGURATION_UPDATE
    deregistration = ue.network_deregistration
    if deregistration is not None:
        moved = deregistration.amf_ue_ngap_id and deregistration.cause in LOCATION_CAUSES
        found |= _DEREGISTRATION_FOR_LOCATION if moved else _DEREGISTRATION_BY_NETWORK
    return found


def session_conditions(session: PduSession) -> int:
    """Return the state and the ongoing procedures of a PDU session."""
    setup = session.user_plane in ("pending", "requested")
    return _SESSION[session.stage] | (_RESOURCE_SETUP if setup else 0)


def ongoing(ue: Ue) -> Condition:
    """Return the states and the ongoing procedures of a UE and of all its PDU sessions."""
    found = conditions(ue)
    for session in ue.sessions:
        found |= session_conditions(session)
    return Condition(found)


def rm_state(ue: Ue) -> RmState:
    """Return the registration management state."""
    return RmState.REGISTERED if ue.registered else RmState.DEREGISTERED


def cm_state(ue: Ue) -> CmState:
    """Return the connection management state."""
    return CmState.IDLE if ue.connection is None else CmState.CONNECTED


def gmm_state(ue: Ue) -> GmmState:
    """Return the 5GMM main state in the network.

    A common procedure on a connection without a secure exchange of NAS messages does not change the
    state of a registered UE: another UE may use its identity. The release of the connection ends a
    common procedure.
    """
    found, deregistration = conditions(ue), ue.network_deregistration
    if deregistration is not None and deregistration.amf_ue_ngap_id:
        return GmmState.DEREGISTERED_INITIATED
    other = _AN_RELEASE | _NOT_SECURED if ue.registered else _AN_RELEASE
    if found & COMMON_PROCEDURES.value and not found & other:
        return GmmState.COMMON_PROCEDURE_INITIATED
    return GmmState.REGISTERED if ue.registered else GmmState.DEREGISTERED


def sm_state(session: PduSession) -> SmState:
    """Return the 5GSM state of a PDU session in the network."""
    return _SM_STATES[session.stage]


_SM_STATES: Final = {
    "establishing": SmState.INACTIVE,
    "active": SmState.ACTIVE,
    "modifying": SmState.MODIFICATION_PENDING,
    "releasing": SmState.INACTIVE_PENDING,
    "released": SmState.INACTIVE,
}
