"""Whether a procedure may start now: the one table of procedures against ongoing procedures.

A procedure that is not in a rule with a condition starts beside it. If several conditions hold, the
verdict that comes first in `Verdict` wins. `tests/conformance/test_collisions.py` drives each rule.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from functions.decision.ue_decision import UeDecision
from schemas.gsm.state import PduSession
from schemas.ue.states import Condition, conditions, session_conditions


class Verdict(StrEnum):
    """The effect of a condition on a procedure that is to start."""

    IGNORE = "ignore"
    """The procedure does not start. A request for it is not answered."""
    REJECT = "reject"
    """The procedure does not start. A request for it is answered with a cause."""
    LOCAL = "local"
    """The procedure takes effect in the core at once, and the UE gets no message."""
    WAIT = "wait"
    """The procedure starts when the condition has ended."""
    ABORT = "abort"
    """The procedure starts and ends the ongoing one."""
    START = "start"
    """The procedure starts, and the ongoing one goes on."""


class Start(StrEnum):
    """A procedure that is to start."""

    # By the UE, in a message with a valid MAC on its connection
    INITIAL_REGISTRATION = "initial registration"
    REGISTRATION_UPDATE = "mobility or periodic registration update"
    DEREGISTRATION_BY_UE = "deregistration by the UE"
    SERVICE_REQUEST = "service request"
    SESSION_ESTABLISHMENT = "PDU session establishment"
    """With the PDU session identity of the session in question."""
    SESSION_MODIFICATION_BY_UE = "PDU session modification by the UE"
    SESSION_RELEASE_BY_UE = "PDU session release by the UE"

    # By the network
    DEREGISTRATION_BY_NETWORK = "deregistration by the network"
    PAGING = "paging"
    CONFIGURATION_UPDATE = "generic UE configuration update"
    AUTHENTICATION = "authentication of a registered UE"
    KEY_MODIFICATION = "UE context modification with a new key"
    AMBR_MODIFICATION = "UE context modification with a new UE AMBR"
    RESOURCE_SETUP = "setup of PDU session resources at the gNB"
    RESOURCE_RELEASE = "release of PDU session resources at the gNB"
    SESSION_MODIFICATION_BY_NETWORK = "PDU session modification by the network"
    SESSION_RELEASE_BY_NETWORK = "PDU session release by the network"
    MOBILE_REACHABLE = "start of the mobile reachable timer"
    IMPLICIT_DEREGISTRATION = "expiry of the mobile reachable or implicit deregistration timer"

    # By the gNB
    AN_RELEASE = "AN release"
    N2_HANDOVER = "handover by N2"
    XN_HANDOVER = "handover by Xn"
    MODIFY_INDICATION = "PDU session resource modify indication"


class Rule(NamedTuple):
    """The effect of each of some conditions on the start of a procedure."""

    start: Start
    conditions: Condition
    verdict: Verdict
    clause: str
    """The clause that determines it; empty for a choice of this core."""
    reason: str = ""
    """The reason of a choice, or the difference from the clause."""


_C: Final = Condition
_V: Final = Verdict

NO_SIGNALLING: Final = _C.CM_IDLE | _C.NOT_SECURED | _C.AN_RELEASE | _C.TRANSFERRED
"""Conditions in which the UE cannot be sent a NAS message."""
NO_UE_CONTEXT: Final = _C.NO_CONTEXT | _C.INITIAL_CONTEXT_SETUP
REGISTRATIONS: Final = _C.REGISTRATION | _C.REGISTRATION_ACCEPTED
AUTHENTICATIONS: Final = _C.AUTHENTICATION | _C.SECURITY_MODE_CONTROL | _C.DEREGISTRATION_BY_UE
NETWORK_DEREGISTRATIONS: Final = _C.DEREGISTRATION_BY_NETWORK | _C.DEREGISTRATION_FOR_LOCATION
N2_HANDOVERS: Final = _C.HANDOVER_PREPARATION | _C.HANDOVER_EXECUTION
HANDOVERS: Final = _C.HANDOVER_TRIGGERED | N2_HANDOVERS | _C.PATH_SWITCH
PAGINGS: Final = _C.PAGING | _C.PAGED_IN_VAIN
SESSION_PROCEDURES: Final = _C.SESSION_ESTABLISHMENT | _C.SESSION_MODIFICATION | _C.SESSION_RELEASE
SESSIONS: Final = SESSION_PROCEDURES | _C.SESSION_ACTIVE | _C.RESOURCE_SETUP
UNANSWERED: Final = _C.SETUP_UNANSWERED | _C.MODIFY_UNANSWERED | _C.RELEASE_UNANSWERED

ONE_OF_A_KIND: Final = (
    "One request of a kind at a time: NGAP has no transaction identifier, so the answers to two "
    "requests cannot be told apart (TS 38.413 8.1, 9.2)."
)


def _registration(start: Start, clause: str) -> tuple[Rule, ...]:
    """Return the rules that an initial registration and an update share."""
    return (
        Rule(start, _C.AN_RELEASE, _V.IGNORE, "TS 38.413 8.3.3"),
        Rule(start, _C.REGISTRATION, _V.ABORT, f"TS 24.501 {clause} e"),
        Rule(start, _C.REGISTRATION_ACCEPTED, _V.ABORT, f"TS 24.501 {clause} d"),
        Rule(start, _C.SECURITY_MODE_CONTROL, _V.ABORT, "TS 24.501 5.4.2.7 c"),
        Rule(
            start,
            _C.AUTHENTICATION | _C.DEREGISTRATION_BY_UE,
            _V.ABORT,
            "",
            "The registration authenticates the UE, if that is necessary.",
        ),
        Rule(start, _C.DEREGISTRATION_FOR_LOCATION, _V.ABORT, "TS 24.501 5.5.2.3.5 d, e"),
        Rule(start, _C.CONFIGURATION_UPDATE, _V.ABORT, "TS 24.501 5.4.4.6 d"),
        Rule(start, PAGINGS, _V.ABORT, "TS 24.501 5.6.2.2.1"),
    )


TABLE: Final[tuple[Rule, ...]] = (
    # Registration. A request that repeats the one before starts nothing (5.5.1.2.8 d, e).
    *_registration(Start.INITIAL_REGISTRATION, "5.5.1.2.8"),
    Rule(
        Start.INITIAL_REGISTRATION,
        _C.DEREGISTRATION_BY_NETWORK,
        _V.ABORT,
        "TS 24.501 5.5.2.3.5 d",
    ),
    Rule(Start.INITIAL_REGISTRATION, SESSIONS, _V.ABORT, "TS 23.502 4.2.2.2.2"),
    *_registration(Start.REGISTRATION_UPDATE, "5.5.1.3.8"),
    Rule(
        Start.REGISTRATION_UPDATE,
        _C.DEREGISTRATION_BY_NETWORK,
        _V.IGNORE,
        "TS 24.501 5.5.2.3.5 e",
    ),
    Rule(Start.REGISTRATION_UPDATE, _C.RM_DEREGISTERED, _V.REJECT, "TS 24.501 5.5.1.3.5"),
    # Deregistration
    Rule(
        Start.DEREGISTRATION_BY_UE,
        REGISTRATIONS,
        _V.ABORT,
        "TS 24.501 5.5.1.2.8 g, 5.5.1.3.8",
    ),
    Rule(Start.DEREGISTRATION_BY_UE, _C.SECURITY_MODE_CONTROL, _V.ABORT, "TS 24.501 5.4.2.7 c"),
    Rule(
        Start.DEREGISTRATION_BY_UE,
        _C.AUTHENTICATION | _C.DEREGISTRATION_BY_UE,
        _V.ABORT,
        "",
        "The authentication has no purpose after the deregistration.",
    ),
    Rule(Start.DEREGISTRATION_BY_UE, NETWORK_DEREGISTRATIONS, _V.ABORT, "TS 24.501 5.5.2.3.5 c"),
    Rule(Start.DEREGISTRATION_BY_UE, _C.CONFIGURATION_UPDATE, _V.ABORT, "TS 24.501 5.4.4.6 c"),
    Rule(Start.DEREGISTRATION_BY_UE, SESSIONS, _V.ABORT, "TS 24.501 5.5.2.2.3"),
    Rule(Start.DEREGISTRATION_BY_UE, PAGINGS, _V.ABORT, "TS 24.501 5.6.2.2.1"),
    Rule(Start.DEREGISTRATION_BY_UE, HANDOVERS, _V.ABORT, "TS 23.502 4.2.2.3.2"),
    Rule(
        Start.DEREGISTRATION_BY_NETWORK,
        _C.RM_DEREGISTERED | NETWORK_DEREGISTRATIONS,
        _V.IGNORE,
        "",
        "The UE is deregistered, or is being deregistered.",
    ),
    Rule(Start.DEREGISTRATION_BY_NETWORK, _C.UNREACHABLE, _V.LOCAL, "TS 23.502 4.2.2.3.3"),
    Rule(
        Start.DEREGISTRATION_BY_NETWORK,
        NO_SIGNALLING,
        _V.WAIT,
        "TS 23.502 4.2.2.3.3",
        "A UE in CM-IDLE is paged.",
    ),
    Rule(
        Start.DEREGISTRATION_BY_NETWORK,
        REGISTRATIONS | AUTHENTICATIONS,
        _V.WAIT,
        "",
        "The UE may be another one, or the request may end the deregistration (5.5.2.3.5 d, e).",
    ),
    Rule(
        Start.DEREGISTRATION_BY_NETWORK,
        _C.CONFIGURATION_UPDATE,
        _V.ABORT,
        "",
        "The UE needs no configuration after the deregistration.",
    ),
    Rule(
        Start.IMPLICIT_DEREGISTRATION,
        _C.RM_DEREGISTERED | _C.CM_CONNECTED,
        _V.IGNORE,
        "TS 24.501 5.3.7",
    ),
    Rule(Start.IMPLICIT_DEREGISTRATION, _C.SESSION_ACTIVE | PAGINGS, _V.ABORT, "TS 24.501 5.3.7"),
    Rule(
        Start.MOBILE_REACHABLE,
        _C.RM_DEREGISTERED | _C.MOBILE_REACHABLE | _C.IMPLICIT_DEREGISTRATION,
        _V.IGNORE,
        "TS 24.501 5.3.7",
    ),
    Rule(Start.MOBILE_REACHABLE, _C.CM_CONNECTED, _V.WAIT, "TS 24.501 5.3.7"),
    # Service request and paging
    Rule(Start.SERVICE_REQUEST, _C.AN_RELEASE, _V.IGNORE, "TS 38.413 8.3.3"),
    Rule(Start.SERVICE_REQUEST, _C.RM_DEREGISTERED, _V.REJECT, "TS 24.501 5.6.1.5"),
    Rule(Start.SERVICE_REQUEST, NETWORK_DEREGISTRATIONS, _V.IGNORE, "TS 24.501 5.5.2.3.5 f"),
    Rule(
        Start.SERVICE_REQUEST,
        _C.REGISTRATION,
        _V.ABORT,
        "TS 24.501 5.5.1.2.8, 5.5.1.3.8",
        "The UE has ended the registration.",
    ),
    Rule(
        Start.SERVICE_REQUEST,
        _C.SECURITY_MODE_CONTROL,
        _V.ABORT,
        "TS 24.501 5.4.2.7 c",
        "A UE that is still due is authenticated again after the service request.",
    ),
    Rule(
        Start.SERVICE_REQUEST,
        _C.DEREGISTRATION_BY_UE,
        _V.ABORT,
        "",
        "The DEREGISTRATION REQUEST had no valid MAC, and the later SERVICE REQUEST has one.",
    ),
    Rule(Start.SERVICE_REQUEST, PAGINGS, _V.ABORT, "TS 24.501 5.6.2.2.1"),
    Rule(
        Start.PAGING,
        _C.SIGNALLING,
        _V.IGNORE,
        "TS 23.502 4.2.3.3",
        "Step 4a: the user plane is activated instead.",
    ),
    Rule(Start.PAGING, _C.PAGING, _V.IGNORE, "", "One paging is for all downlink packets."),
    Rule(
        Start.PAGING,
        _C.PAGED_IN_VAIN,
        _V.WAIT,
        "TS 23.502 4.2.3.3",
        "The pause lets no UPF page the UE without end.",
    ),
    Rule(Start.PAGING, _C.IMPLICIT_DEREGISTRATION, _V.WAIT, "TS 24.501 5.3.7, TS 23.501 5.4.1.1"),
    Rule(
        Start.PAGING,
        _C.AN_RELEASE,
        _V.WAIT,
        "TS 23.502 4.2.6",
        "The UE does not listen to paging before it has left its radio connection.",
    ),
    # Procedures of the network on a connection
    Rule(
        Start.CONFIGURATION_UPDATE,
        NO_SIGNALLING | _C.RM_DEREGISTERED,
        _V.WAIT,
        "TS 24.501 5.4.4.1",
    ),
    Rule(
        Start.CONFIGURATION_UPDATE,
        _C.INITIAL_CONTEXT_SETUP,
        _V.WAIT,
        "",
        "The message would overtake the one in INITIAL CONTEXT SETUP REQUEST.",
    ),
    Rule(
        Start.CONFIGURATION_UPDATE,
        REGISTRATIONS | AUTHENTICATIONS,
        _V.WAIT,
        "TS 24.501 5.4.4.6",
        "A registration would end it at once.",
    ),
    Rule(
        Start.CONFIGURATION_UPDATE,
        NETWORK_DEREGISTRATIONS,
        _V.WAIT,
        "TS 24.501 5.4.4.6",
        "A deregistration would end it at once.",
    ),
    Rule(Start.CONFIGURATION_UPDATE, HANDOVERS, _V.WAIT, "TS 23.502 4.9.1.3.2"),
    Rule(Start.CONFIGURATION_UPDATE, _C.CONFIGURATION_UPDATE, _V.WAIT, "", "One at a time."),
    Rule(
        Start.AUTHENTICATION,
        _C.RM_DEREGISTERED | NO_SIGNALLING,
        _V.WAIT,
        "TS 24.501 5.4.1.1",
    ),
    Rule(Start.AUTHENTICATION, REGISTRATIONS | AUTHENTICATIONS, _V.WAIT, "TS 24.501 5.4.1.1"),
    Rule(Start.AUTHENTICATION, NETWORK_DEREGISTRATIONS, _V.WAIT, "", "It has no purpose then."),
    Rule(
        Start.AUTHENTICATION,
        HANDOVERS | _C.INITIAL_CONTEXT_SETUP | _C.CONTEXT_MODIFICATION,
        _V.WAIT,
        "TS 33.501 6.9.5",
    ),
    *(
        Rule(
            start,
            _C.RM_DEREGISTERED | _C.NOT_SECURED | _C.AN_RELEASE | _C.TRANSFERRED | NO_UE_CONTEXT,
            _V.WAIT,
            "TS 38.413 8.3.4",
        )
        for start in (Start.KEY_MODIFICATION, Start.AMBR_MODIFICATION)
    ),
    *(
        Rule(
            start,
            _C.CONTEXT_MODIFICATION | _C.SECURITY_MODE_CONTROL | HANDOVERS,
            _V.WAIT,
            "TS 33.501 6.9.5",
            "One request at a time.",
        )
        for start in (Start.KEY_MODIFICATION, Start.AMBR_MODIFICATION)
    ),
    Rule(
        Start.KEY_MODIFICATION,
        _C.AUTHENTICATION,
        _V.WAIT,
        "",
        "The authentication makes another key.",
    ),
    # PDU sessions. A request that repeats the one before starts nothing (6.4.1.7, 6.4.3.6).
    *(
        rule
        for start in (
            Start.SESSION_ESTABLISHMENT,
            Start.SESSION_MODIFICATION_BY_UE,
            Start.SESSION_RELEASE_BY_UE,
        )
        for rule in (
            Rule(start, _C.RM_DEREGISTERED, _V.IGNORE, "TS 24.501 5.4.5.2.1"),
            Rule(start, _C.AN_RELEASE, _V.IGNORE, "TS 38.413 8.3.3"),
        )
    ),
    Rule(
        Start.SESSION_ESTABLISHMENT,
        SESSIONS,
        _V.ABORT,
        "TS 24.501 6.4.1.7",
        "The UE does not have the session any more.",
    ),
    Rule(Start.SESSION_MODIFICATION_BY_UE, _C.SESSION_RELEASE, _V.IGNORE, "TS 24.501 6.3.3.5"),
    Rule(
        Start.SESSION_MODIFICATION_BY_UE,
        _C.SESSION_ESTABLISHMENT | _C.SESSION_MODIFICATION,
        _V.REJECT,
        "TS 24.501 6.4.2.4",
    ),
    Rule(
        Start.SESSION_RELEASE_BY_UE,
        SESSION_PROCEDURES | _C.RESOURCE_SETUP,
        _V.ABORT,
        "TS 24.501 6.4.3.3",
        "A release starts again with the procedure transaction identity of the UE.",
    ),
    Rule(
        Start.SESSION_MODIFICATION_BY_NETWORK,
        NO_SIGNALLING | HANDOVERS | SESSION_PROCEDURES | _C.RESOURCE_SETUP,
        _V.WAIT,
        "TS 23.502 4.3.3.2, 4.9.1.3.2",
    ),
    Rule(
        Start.SESSION_MODIFICATION_BY_NETWORK,
        _C.MODIFY_UNANSWERED,
        _V.WAIT,
        "",
        ONE_OF_A_KIND,
    ),
    Rule(
        Start.SESSION_RELEASE_BY_NETWORK,
        _C.SESSION_RELEASE | _C.SESSION_DELETION,
        _V.IGNORE,
        "",
        "The session is being released.",
    ),
    Rule(
        Start.SESSION_RELEASE_BY_NETWORK,
        NO_SIGNALLING,
        _V.LOCAL,
        "TS 23.502 4.3.4.2",
        "The UE learns it from the PDU session status.",
    ),
    Rule(
        Start.SESSION_RELEASE_BY_NETWORK,
        _C.SESSION_ESTABLISHMENT | _C.SESSION_MODIFICATION | _C.RESOURCE_SETUP,
        _V.ABORT,
        "TS 24.501 6.3.3.2",
    ),
    *(
        Rule(
            start,
            ended,
            _V.ABORT,
            "TS 38.413 8.2.5, 8.4.4.3",
            "If it has no other session than the one that ends or moves.",
        )
        for start, ended in (
            (Start.INITIAL_REGISTRATION, _C.PATH_SWITCH | _C.MODIFY_INDICATION),
            (Start.SESSION_ESTABLISHMENT, _C.PATH_SWITCH | _C.MODIFY_INDICATION),
            (Start.SESSION_RELEASE_BY_UE, _C.PATH_SWITCH | _C.MODIFY_INDICATION),
            (Start.SESSION_RELEASE_BY_NETWORK, _C.PATH_SWITCH | _C.MODIFY_INDICATION),
            (Start.DEREGISTRATION_BY_UE, _C.MODIFY_INDICATION),
        )
    ),
    Rule(
        Start.RESOURCE_SETUP,
        _C.CM_IDLE | _C.AN_RELEASE,
        _V.IGNORE,
        "TS 23.502 4.2.6",
        "A session does not need resources without a connection.",
    ),
    Rule(
        Start.RESOURCE_SETUP,
        _C.NOT_SECURED | _C.TRANSFERRED | _C.INITIAL_CONTEXT_SETUP,
        _V.WAIT,
        "TS 38.413 8.3.1, 8.2.1",
    ),
    Rule(Start.RESOURCE_SETUP, HANDOVERS, _V.WAIT, "TS 23.502 4.9.1.3.2"),
    Rule(Start.RESOURCE_SETUP, _C.SETUP_UNANSWERED, _V.WAIT, "", ONE_OF_A_KIND),
    Rule(
        Start.RESOURCE_SETUP,
        _C.RELEASE_UNANSWERED,
        _V.WAIT,
        "TS 38.413 8.2.1.4",
        "The gNB refuses the setup of a session that it still has.",
    ),
    Rule(Start.RESOURCE_SETUP, _C.SECURITY_MODE_CONTROL, _V.WAIT, "TS 33.501 6.9.5"),
    Rule(
        Start.RESOURCE_RELEASE,
        _C.AN_RELEASE,
        _V.IGNORE,
        "TS 38.413 8.3.3",
        "The release of the connection releases them.",
    ),
    Rule(Start.RESOURCE_RELEASE, _C.NOT_SECURED | _C.TRANSFERRED, _V.WAIT, "TS 38.413 8.2.2"),
    Rule(Start.RESOURCE_RELEASE, _C.RELEASE_UNANSWERED, _V.WAIT, "", ONE_OF_A_KIND),
    Rule(
        Start.RESOURCE_RELEASE,
        _C.PATH_SWITCH,
        _V.WAIT,
        "TS 38.413 8.4.4.2",
        "The gNB gets the acknowledge first.",
    ),
    # Procedures of the gNB
    Rule(
        Start.AN_RELEASE,
        REGISTRATIONS | AUTHENTICATIONS,
        _V.ABORT,
        "TS 24.501 5.4.1.3.7 a, 5.4.2.7 a, 5.5.1.2.8 a, 5.5.1.3.8",
        "Once the gNB has released the connection.",
    ),
    Rule(Start.AN_RELEASE, _C.CONFIGURATION_UPDATE, _V.ABORT, "TS 24.501 5.4.4.6 b"),
    Rule(Start.AN_RELEASE, NETWORK_DEREGISTRATIONS, _V.ABORT, "TS 24.501 5.5.2.3.5 b"),
    Rule(
        Start.AN_RELEASE,
        _C.INITIAL_CONTEXT_SETUP
        | _C.CONTEXT_MODIFICATION
        | UNANSWERED
        | HANDOVERS
        | _C.MODIFY_INDICATION,
        _V.ABORT,
        "TS 38.413 8.3.3",
    ),
    Rule(
        Start.AN_RELEASE,
        SESSION_PROCEDURES | _C.RESOURCE_SETUP,
        _V.ABORT,
        "TS 23.502 4.2.6",
    ),
    Rule(Start.AN_RELEASE, _C.AN_RELEASE, _V.IGNORE, "TS 38.413 8.3.2"),
    Rule(Start.N2_HANDOVER, _C.AN_RELEASE, _V.IGNORE, "TS 38.413 8.3.3"),
    Rule(
        Start.N2_HANDOVER,
        _C.RM_DEREGISTERED | _C.NOT_SECURED | _C.TRANSFERRED | NO_UE_CONTEXT | _C.PATH_SWITCH,
        _V.REJECT,
        "TS 38.413 8.4.1.3, 10.4",
    ),
    Rule(
        Start.N2_HANDOVER,
        N2_HANDOVERS,
        _V.ABORT,
        "",
        "The gNB has given up the handover that it begins another for.",
    ),
    Rule(
        Start.XN_HANDOVER,
        _C.RM_DEREGISTERED | _C.NOT_SECURED | _C.AN_RELEASE | _C.TRANSFERRED | _C.NO_CONTEXT,
        _V.REJECT,
        "TS 38.413 8.4.4.3, 10.4",
    ),
    Rule(
        Start.XN_HANDOVER,
        N2_HANDOVERS | _C.PATH_SWITCH,
        _V.ABORT,
        "TS 23.502 4.9.1.2",
        "The UE is at the gNB that sends the request.",
    ),
    Rule(
        Start.XN_HANDOVER,
        _C.MODIFY_INDICATION,
        _V.ABORT,
        "",
        "The gNB that waits for the confirm is not that of the UE any more.",
    ),
    Rule(
        Start.XN_HANDOVER,
        _C.INITIAL_CONTEXT_SETUP,
        _V.ABORT,
        "TS 38.413 8.4.4.2",
        "The gNB has set the context up: its response has come later, on another association.",
    ),
    Rule(
        Start.XN_HANDOVER,
        _C.RESOURCE_SETUP | UNANSWERED,
        _V.ABORT,
        "TS 23.502 4.9.1.2",
        "The gNB that was asked is not that of the UE any more.",
    ),
    Rule(Start.MODIFY_INDICATION, _C.AN_RELEASE, _V.IGNORE, "TS 38.413 8.3.3"),
    Rule(
        Start.MODIFY_INDICATION,
        _C.MODIFY_INDICATION | _C.PATH_SWITCH,
        _V.REJECT,
        "TS 38.413 8.2.5, 10.4",
    ),
)
"""The table. `TS 24.501 x.y.z a` is item a of the clause."""


def _masks(start: Start) -> tuple[tuple[int, Verdict], ...]:
    """Return the conditions of each verdict about a procedure, in the order of `Verdict`."""
    found = dict.fromkeys(Verdict, 0)
    for rule in TABLE:
        if rule.start is start and rule.verdict is not Verdict.START:
            found[rule.verdict] |= rule.conditions.value
    return tuple((mask, verdict) for verdict, mask in found.items() if mask)


_MASKS: Final = {start: _masks(start) for start in Start}
_OF: Final = {(start, verdict): mask for start, masks in _MASKS.items() for mask, verdict in masks}


_ONGOING: Final = {
    Start.AN_RELEASE: (_C.AN_RELEASE | _C.CM_IDLE).value,
    Start.INITIAL_REGISTRATION: REGISTRATIONS.value,
    Start.DEREGISTRATION_BY_NETWORK: NETWORK_DEREGISTRATIONS.value,
}
"""The conditions that a procedure makes, of procedures that end others by reconciliation."""


def judge(start: Start, found: int) -> Verdict:
    """Return the verdict of the table about a procedure under some conditions."""
    for mask, verdict in _MASKS[start]:
        if found & mask:
            return verdict
    return Verdict.START


def check(d: UeDecision, start: Start, session: PduSession | None = None) -> Verdict:
    """Return the verdict about a procedure of the UE, or of one of its PDU sessions, now."""
    found = conditions(d.ue)
    if session is not None:
        found |= session_conditions(session)
    return judge(start, found)


def reasons(d: UeDecision, start: Start, verdict: Verdict) -> int:
    """Return the conditions of the UE that have one verdict about a procedure, 0 for none."""
    return conditions(d.ue) & _OF.get((start, verdict), 0)


def ended_by(d: UeDecision, ongoing: Condition) -> Start | None:
    """Return the procedure that ends an ongoing one by now, None for none."""
    found = conditions(d.ue)
    for start, mask in _ONGOING.items():
        if found & mask and _OF[start, Verdict.ABORT] & ongoing.value:
            return start
    return None
