"""Each procedure of the table of collisions, started in a state: the observed verdict."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from functions.decision.collisions import (
    HANDOVERS,
    SESSION_PROCEDURES,
    SESSIONS,
    Start,
    Verdict,
)
from schemas.cloudevents import (
    CloudEvent,
    Deregister,
    EventType,
    SessionRelease,
    SubscriptionChanged,
)
from schemas.gmm.events import PagingStarted, ReachableUntil
from schemas.gmm.state import Registration
from schemas.gsm.events import SessionModifying, SessionReleased, SessionReleasing
from schemas.gsm.state import PduSession
from schemas.identity import SNssai
from schemas.network import SecurityPolicy
from schemas.procedures import Procedure
from schemas.subscriber import Ambr
from schemas.ue.state import Timer, Ue
from schemas.ue.states import BUSY, Condition, ongoing
from schemas.ue.waking import IMPLICIT_DEREGISTRATION, MOBILE_REACHABLE
from tests.conformance import (
    outcomes,
    states,
    states_mobility,
    states_sessions,
)
from tests.conformance.answers import answers, gsm
from tests.conformance.bench import SUPI, Bench
from tests.conformance.messages import deregistration, encoded, registration, service
from tests.conformance.ngap import SAMPLES
from tests.conformance.state import event_of, report, respond, say, told
from tests.functions.world import SLICE

STATES: Final = (
    Condition.RM_DEREGISTERED
    | Condition.CM_IDLE
    | Condition.CM_CONNECTED
    | Condition.NOT_SECURED
    | Condition.TRANSFERRED
    | Condition.SIGNALLING
    | Condition.NO_CONTEXT
    | Condition.UNREACHABLE
    | Condition.MOBILE_REACHABLE
    | Condition.IMPLICIT_DEREGISTRATION
    | Condition.IDENTIFICATION
    | Condition.SESSION_ACTIVE
    | Condition.SESSION_DELETION
)
"""Conditions that no procedure aborts: states, timers, and parts of other procedures."""


class Trial(NamedTuple):
    """The start of a procedure in a state, and its result."""

    prepare: Callable[[Bench], bool]
    """Make the reason for the procedure. Return False if the state does not allow the reason."""
    trigger: Callable[[Bench], None]
    started: Callable[["Result"], bool]
    rejected: Callable[["Result"], bool] = lambda _: False
    local: Callable[["Result"], bool] = lambda _: False
    waits: Callable[["Result"], bool] = lambda _: False
    """Whether the reason still exists."""


class Result(NamedTuple):
    """The result of a trigger."""

    bench: Bench
    sends: Sequence[str]
    events: Sequence[Any]

    @property
    def ue(self) -> Ue:
        return self.bench.here

    def has(self, *kinds: type | str) -> bool:
        """Whether one of the events has one of the types."""
        names = {kind if isinstance(kind, str) else kind.__name__ for kind in kinds}
        return any(type(event).__name__ in names for event in self.events)

    def sent(self, text: str) -> bool:
        """Whether the description of a sent message contains a text."""
        return any(text in send for send in self.sends)


class Observation(NamedTuple):
    """The observed verdict of the core, and the aborted procedures."""

    verdict: Verdict
    ended: Condition


def observe(start: Start, bench: Bench) -> Observation | None:
    """Start a procedure. Return None if there is no reason for the procedure in this state."""
    trial = TRIALS[start]
    place = bench.place()
    own = place is None or (place.name == f"ue/{SUPI}" and place.connection is bench.ue.connection)
    if not own or not bench.core.states.get(f"ue/{SUPI}") or not trial.prepare(bench):
        return None
    before, first = ongoing(bench.here), len(bench.core.order)
    bench.core.downlink.clear()
    outcome = outcomes.watch(bench, lambda: trial.trigger(bench))
    events = [event for _, step in bench.core.order[first:] for event in step.events]
    result = Result(bench, outcome.sends, events)
    ended = _ended(start, before, result)
    if trial.started(result):
        return Observation(Verdict.ABORT if ended else Verdict.START, ended)
    for verdict, found in (
        (Verdict.REJECT, trial.rejected),
        (Verdict.LOCAL, trial.local),
        (Verdict.WAIT, trial.waits),
    ):
        if found(result):
            return Observation(verdict, Condition(0))
    return Observation(Verdict.IGNORE, Condition(0))


def _ended(start: Start, before: Condition, result: Result) -> Condition:
    """Return the procedures that the start has aborted or restarted."""
    ended = before & ~ongoing(result.ue) & ~STATES
    for kind, of in _ENDS.items():
        if result.has(kind):
            ended |= before & of
    if start in (Start.N2_HANDOVER, Start.XN_HANDOVER):
        ended &= ~Condition.HANDOVER_TRIGGERED  # it is that handover
    if start is Start.AN_RELEASE and result.has("Deregistered"):
        ended &= ~SESSIONS  # the deregistration releases them
    return ended


_ENDS: Final = {
    "RegistrationAborted": BUSY,
    "HandoverEnded": HANDOVERS,
    "SessionReleased": SESSIONS,
    "SessionReleasing": SESSION_PROCEDURES,
}
"""Events that end procedures, even if a new procedure of that kind has begun since."""


def change(bench: Bench, **fields: Any) -> None:
    """Change the state of the UE in the core."""
    name = f"ue/{SUPI}"
    bench.core.states[name] = replace(bench.core.states[name], **fields)


def session_of(bench: Bench) -> PduSession | None:
    """Return PDU session 1 of the UE, if it is not released."""
    return next((s for s in bench.here.sessions if s.id == 1 and s.stage != "released"), None)


# Procedures that the UE starts


def _by_ue(
    make: Callable[[Bench], bytes],
    started: str,
    rejected: str = "no message has this text",
    *,
    event: bool = True,
    session: bool = False,
    connected: bool = False,
) -> Trial:
    """Return the trial of a message with a valid MAC, on the connection of the UE if any."""

    def prepare(bench: Bench) -> bool:
        place = bench.place()
        ready = bench.here.security is not None and bench.here.tmsi is not None
        if session and bench.here.registered and session_of(bench) is None:
            return False
        return ready and (place is not None or not connected)

    def trigger(bench: Bench) -> None:
        initial = bench.place() is None
        bench.core.deliver(bench.nas(make(bench), "protected", initial=initial))

    return Trial(
        prepare,
        trigger,
        lambda result: (
            (result.has(started) if event else result.sent(started)) and not result.sent(rejected)
        ),
        lambda result: result.sent(rejected),
    )


_STATUS: Final = {"pdu-session-status": [1, 2]}
"""An IE that makes a request unique.

A repeated request starts no procedure.
"""
_RATE: Final = {"integrity-protection-maximum-data-rate": {"ul": "full-rate", "dl": "full-rate"}}
_ASK: Final = {"transport": {"request-type": "initial-request", "dnn": "internet"}}


def _gsm(kind: str, pti: int, **more: Any) -> Callable[[Bench], bytes]:
    return encoded(gsm(f"pdu-session-{kind}-request", 1, pti, **more))


# Procedures that the network starts, by a change of state, subscription or configuration


def _reconcile(bench: Bench) -> None:
    """Run the reconcilers by an event for an unchanged subscription."""
    bench.core.deliver(event_of(bench, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(1)))


def _always(_: Bench) -> bool:
    return True


def _deregister(bench: Bench) -> None:
    bench.core.deliver(event_of(bench, EventType.DEREGISTER, Deregister()))


def _reportable(bench: Bench) -> bool:
    found = session_of(bench)
    return found is not None and found is bench.ue.sessions[0] and bool(found.n4.up_seid)


def _paging_waits(result: Result) -> bool:
    paging = result.ue.paging
    return paging is not None and (paging.failed or paging.waits) and not result.sent("Paging")


_GONE: Final = SNssai(9)


def _outdate(bench: Bench) -> bool:
    change(bench, allowed_nssai=(SLICE, _GONE))
    return True


def _use_up(bench: Bench) -> bool:
    security = bench.here.security
    if security is None:
        return False
    change(bench, security=replace(security, uplink=max(security.uplink, 8)))
    core = bench.core
    core.network = replace(core.network, security=SecurityPolicy(reauthenticate_after=4))
    core.networks["due"] = core.network
    return True


def _used_up(result: Result) -> bool:
    security = result.ue.security
    return security is not None and security.uplink >= 4


def _rekey(bench: Bench) -> bool:
    place = bench.place()
    if place is None:
        return False
    change(bench, connection=replace(place.connection, rekeyed=True))
    return bench.here.security is not None


def _other_ambr(bench: Bench) -> bool:
    place = bench.place()
    if place is None:
        return False
    change(bench, connection=replace(place.connection, ambr=Ambr(1, 1)))
    return True


def _need_resources(bench: Bench) -> bool:
    """Give the UE a second PDU session, which needs resources."""
    found = session_of(bench)
    if found is None or found.stage == "establishing":
        return False
    n4 = replace(found.n4, seid=found.n4.seid ^ 1, downlink=None)
    other = replace(found, id=2, stage="active", n4=n4, access=None, user_plane="pending")
    change(bench, sessions=(*bench.here.sessions, other))
    return True


def _need_release(bench: Bench) -> bool:
    """Let the gNB have resources that are not needed."""
    place = bench.place()
    if place is None:
        return False
    change(bench, connection=replace(place.connection, unneeded=(7,)))
    return True


def _is_unneeded(result: Result) -> bool:
    here = result.ue.connection
    return here is not None and not here.releasing and bool(here.unneeded)


def _other_session_ambr(bench: Bench) -> bool:
    core = bench.core
    first = core.subscribers[SUPI]
    dnn = replace(first.slices[0].dnns[0], ambr=Ambr(1_000_000, 2_000_000))
    core.subscribers[SUPI] = replace(
        first, slices=(replace(first.slices[0], dnns=(dnn,)), *first.slices[1:])
    )
    return session_of(bench) is not None


def _is_outdated(result: Result) -> bool:
    found = session_of(result.bench)
    return found is not None and found.ambr != Ambr(1_000_000, 2_000_000)


def _release_session(bench: Bench) -> None:
    bench.core.deliver(event_of(bench, EventType.SESSION_RELEASE, SessionRelease(1)))


def _at_rest(bench: Bench) -> bool:
    return bench.ue.timers.keys() <= {MOBILE_REACHABLE, IMPLICIT_DEREGISTRATION}


def _expire(bench: Bench) -> None:
    name = f"ue/{SUPI}"
    state = bench.core.states.get(name, Ue())
    timers = {IMPLICIT_DEREGISTRATION: Timer(bench.core.now)}
    bench.core.states[name] = replace(state, timers=timers)
    bench.core.count += 1
    number = f"t-{bench.core.count}"
    procedure = Procedure.DEREGISTRATION
    bench.core.deliver(
        CloudEvent(number, f"/{name}", EventType.TIMER, name, procedure=procedure, slot=0)
    )


# Procedures that the gNB starts


_BY_NAME: Final = {sample.name: sample for sample in SAMPLES}


def _by_gnb(
    name: str, started: str, rejected: str, *, session: bool = True, then: str = ""
) -> Trial:
    def prepare(bench: Bench) -> bool:
        place = bench.place()
        found = session_of(bench)
        moves = found is not None and found.user_plane in ("on", "requested")
        moves = moves and found is not None and found.stage in ("active", "modifying")
        if place is None:
            return False
        # In other states the core refuses each message, because there is no session to move.
        return moves or not session or bool(place.connection.releasing) or not place.ue.registered

    def trigger(bench: Bench) -> None:
        bench.core.deliver(_BY_NAME[name].event(bench))
        bench.follow()
        for answer in [one for one in answers(bench) if one.name == then]:
            bench.core.deliver(answer.make())

    return Trial(
        prepare,
        trigger,
        lambda result: result.has(started) or result.sent(started),
        lambda result: result.sent(rejected),
    )


TRIALS: Final[dict[Start, Trial]] = {
    Start.INITIAL_REGISTRATION: _by_ue(
        registration("initial-registration", "guti", **_STATUS), "RegistrationStarted"
    ),
    Start.REGISTRATION_UPDATE: _by_ue(
        registration("mobility-registration-updating", "guti", **_STATUS),
        "RegistrationStarted",
        "REGISTRATION REJECT",
    ),
    Start.DEREGISTRATION_BY_UE: _by_ue(deregistration(switch_off=False), "Deregistered"),
    Start.SERVICE_REQUEST: _by_ue(service("data"), "SERVICE ACCEPT", "SERVICE REJECT", event=False),
    Start.SESSION_ESTABLISHMENT: _by_ue(
        _gsm("establishment", 2, **_RATE, **_ASK), "SessionRequested", connected=True
    ),
    Start.SESSION_MODIFICATION_BY_UE: _by_ue(
        _gsm("modification", 7),
        "SessionModifying",
        "PDU SESSION MODIFICATION REJECT",
        session=True,
        connected=True,
    ),
    Start.SESSION_RELEASE_BY_UE: _by_ue(
        _gsm("release", 9), "SessionReleasing", session=True, connected=True
    ),
    Start.DEREGISTRATION_BY_NETWORK: Trial(
        _always,
        _deregister,
        lambda result: result.has("NetworkDeregistrationSent"),
        local=lambda result: result.has("Deregistered"),
        waits=lambda result: result.has("NetworkDeregistrationPending"),
    ),
    Start.PAGING: Trial(
        _reportable,
        report,
        lambda result: result.has(PagingStarted) and result.sent("Paging"),
        waits=_paging_waits,
    ),
    Start.CONFIGURATION_UPDATE: Trial(
        _outdate,
        _reconcile,
        lambda result: result.has("ConfigurationUpdateSent"),
        waits=lambda result: _GONE in result.ue.allowed_nssai,
    ),
    Start.AUTHENTICATION: Trial(
        _use_up, _reconcile, lambda result: result.has("AuthenticationStarted"), waits=_used_up
    ),
    Start.KEY_MODIFICATION: Trial(
        _rekey,
        _reconcile,
        lambda result: any(getattr(event, "key", False) for event in result.events),
        waits=lambda result: result.ue.connection is not None and result.ue.connection.rekeyed,
    ),
    Start.AMBR_MODIFICATION: Trial(
        _other_ambr,
        _reconcile,
        lambda result: result.has("ContextModifying"),
        waits=lambda result: (
            result.ue.connection is not None and result.ue.connection.ambr == Ambr(1, 1)
        ),
    ),
    Start.RESOURCE_SETUP: Trial(
        _need_resources,
        _reconcile,
        lambda result: result.has("UserPlaneRequested"),
        waits=lambda result: result.ue.sessions[-1].user_plane == "pending",
    ),
    Start.RESOURCE_RELEASE: Trial(
        _need_release,
        _reconcile,
        lambda result: result.sent("PDUSessionResourceReleaseCommand"),
        waits=_is_unneeded,
    ),
    Start.SESSION_MODIFICATION_BY_NETWORK: Trial(
        _other_session_ambr,
        _reconcile,
        lambda result: result.has(SessionModifying),
        waits=_is_outdated,
    ),
    Start.SESSION_RELEASE_BY_NETWORK: Trial(
        lambda bench: bool(bench.ue.sessions),
        _release_session,
        lambda result: result.has(SessionReleasing),
        local=lambda result: result.has(SessionReleased),
    ),
    Start.MOBILE_REACHABLE: Trial(
        _at_rest,
        _reconcile,
        lambda result: result.has(ReachableUntil),
        waits=lambda result: result.ue.registered and result.ue.connection is not None,
    ),
    Start.IMPLICIT_DEREGISTRATION: Trial(
        _always, _expire, lambda result: result.has("Deregistered")
    ),
    Start.AN_RELEASE: _by_gnb(
        "UEContextReleaseRequest: user inactivity",
        "UEContextReleaseCommand",
        "no message has this text",
        session=False,
        then="UEContextReleaseCommand",
    ),
    Start.N2_HANDOVER: _by_gnb(
        "HandoverRequired", "HandoverPrepared", "HandoverPreparationFailure"
    ),
    Start.XN_HANDOVER: _by_gnb("PathSwitchRequest", "PathSwitched", "PathSwitchRequestFailure"),
    Start.MODIFY_INDICATION: _by_gnb(
        "PDUSessionResourceModifyIndication",
        "IndicationReceived",
        "PDUSessionResourceModifyConfirm",
    ),
}


# Situations


def without_parts(found: Condition) -> Condition:
    """Return the conditions without the authentication of a registration or of a deregistration."""
    if found & (Condition.REGISTRATION | Condition.DEREGISTRATION_BY_UE):
        return found & ~(Condition.AUTHENTICATION | Condition.SECURITY_MODE_CONTROL)
    return found


def _changed(build: Callable[[], Bench], **fields: Any) -> Callable[[], Bench]:
    """Return a state with other values of some fields of the UE."""

    def make() -> Bench:
        bench = build()
        change(bench, **fields)
        return bench

    return make


def _other_connection(build: Callable[[], Bench], **fields: Any) -> Callable[[], Bench]:
    """Return a state with other values of some fields of the connection."""

    def make() -> Bench:
        bench = build()
        here = bench.ue.connection
        assert here is not None
        change(bench, connection=replace(here, **fields))
        return bench

    return make


def _after(message: str) -> Callable[[], Bench]:
    """Return the state after a message of the gNB, with a PDU session and a silent UPF."""

    def make() -> Bench:
        bench = states_sessions.active()
        bench.silent = True
        bench.send(_BY_NAME[message].event(bench))
        return bench

    return make


def _taking_a_key() -> Bench:
    bench = states_sessions.active_signalling()
    change(bench, pending=bench.ue.security)
    return bench


def _reactivating() -> Bench:
    """The gNB is asked for the resources of a session that the UE has had before."""
    asked = {"pdu-session-status": [1], "uplink-data-status": [1]}
    return say(states_sessions.active_signalling(), service("data", **asked))


def _modified_by_the_ue() -> Bench:
    """The UE has completed a modification that the gNB has not answered."""
    bench = states_sessions.active()
    core, first = bench.core, bench.core.subscribers[SUPI]
    dnn = replace(first.slices[0].dnns[0], ambr=Ambr(3_000_000, 4_000_000))
    slices = (replace(first.slices[0], dnns=(dnn,)), *first.slices[1:])
    core.subscribers[SUPI] = replace(first, slices=slices)
    told(bench, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(1))
    return respond(bench, "T3591")


_BEGUN: Final = Registration(b"", b"", None, "guti")


SITUATIONS: Final[dict[str, Callable[[], Bench]]] = {
    **{name: state.build for name, state in states.STATES.items()},
    "security-mode-control-by-network": lambda: respond(
        states_mobility.reauthenticating_by_network(), "T3560"
    ),
    "deregistered-for-location": lambda: told(
        states_sessions.active(), EventType.DEREGISTER, Deregister(cause=12)
    ),
    "indicated": _after("PDUSessionResourceModifyIndication"),
    "reactivating": _reactivating,
    "modified-by-the-ue": _modified_by_the_ue,
    "active-releasing": _after("UEContextReleaseRequest: user inactivity"),
    "active-handover-triggered": _after("NASNonDeliveryIndication: handover"),
    # Transient states, and states after a fault
    "idle-without-timer": _changed(states_mobility.idle, timers={}),
    "not-registered": _changed(states_mobility.connected, registered=False),
    "registration-begun": _changed(states_sessions.active, registration=_BEGUN),
    "active-security-mode-control": _taking_a_key,
    "deregistration-begun": _changed(states_sessions.active, deregistering=True),
    "transferred": _changed(states_sessions.active, successor="ue/imsi-001010000000002"),
    "not-secured": _other_connection(states_sessions.active, secured=False),
    "without-context": _other_connection(states_sessions.active_signalling, context="none"),
    "active-without-context": _other_connection(states_sessions.active, context="none"),
    "active-release-unanswered": _other_connection(states_sessions.active, asked={"release": 1}),
    "context-pending": _other_connection(states_sessions.active, context="pending"),
}
"""The states of the table of messages, and more states."""
