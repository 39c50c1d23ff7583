"""`Procedures.decide`: the whole of a decision about a UE, from the event to the step.

The runtime calls it for new events, and replay for recorded ones.
"""

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, Final, NamedTuple

from msgspec import DecodeError, msgpack

from functions.decision import connection
from functions.decision.env import Env
from functions.decision.inputs import (
    EventReceived,
    Input,
    PfcpEnded,
    PfcpReceived,
    PfcpUnanswered,
    TimerExpired,
)
from functions.decision.ue_decision import UeDecision
from functions.gsm import n4
from functions.messages import ngap
from functions.mobility import end
from functions.ue import stranger, uplink
from functions.ue.reconcile import reconcile
from schemas import cloudevents
from schemas.causes import GmmCause
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection.events import UplinkProcessed
from schemas.identity import index_ngap, seid_of_index
from schemas.procedures import (
    DEFAULT,
    EVENTS,
    MODULES,
    PFCP_MESSAGES,
    Procedure,
    procedure_of_timer,
)
from schemas.step import Output
from schemas.ue.events import TimerStopped
from schemas.ue.state import Ue

TIMER_SLACK_MS = 20
"""A timer that expires within this time after a wake-up expires in the same step."""

CLOCK_SKEW_MS = 250
"""A wake-up that is early by up to this time, by the clock of this host, is valid."""

Decide = Callable[[UeDecision, Input], None]
"""The type of `decide` in each procedure module."""


class Decision(NamedTuple):
    """The result of an event. Without a procedure, nothing is recorded."""

    procedure: Procedure | None
    code: str
    """The id of the code that decided."""
    events: tuple[Any, ...]
    outputs: tuple[Output, ...]
    forward: bool = False
    """Whether another process, which hosts `procedure`, must decide about the event."""


class _NotHostedError(Exception):
    def __init__(self, procedure: Procedure) -> None:
        super().__init__(procedure)
        self.procedure = procedure


class Procedures:
    """The procedure modules that a process hosts, imported when first needed."""

    def __init__(self, hosted: Collection[Procedure] = tuple(Procedure), code: str = "") -> None:
        self.code = code
        """The id of the code that decides (`schemas.code.Code`)."""
        self.hosted = frozenset(hosted)
        self._modules: dict[Procedure, Any] = {}

    def load(self) -> None:
        """Import the modules of all hosted procedures. A decision that is replayed imports none."""
        for procedure in self.hosted:
            self.module(procedure)

    def module(self, procedure: Procedure) -> Any:
        """Return the module of a procedure that is hosted."""
        if procedure not in self.hosted:
            raise _NotHostedError(procedure)
        if procedure not in self._modules:
            self._modules[procedure] = import_module(MODULES[procedure])
        return self._modules[procedure]

    def decide(self, ue: Ue, trigger: CloudEvent, env: Env) -> Decision:
        """Decide about one event of a UE."""
        d = UeDecision(ue, env, trigger)
        try:
            procedure = self._run(d, trigger)
            connection.resume(d)
            reconcile(d)
            if procedure is None and not d.events and not d.outputs:
                return Decision(None, "", (), ())
            procedure = procedure or DEFAULT
            self.module(procedure)
        except _NotHostedError as elsewhere:
            return Decision(elsewhere.procedure, "", (), (), forward=True)
        return Decision(procedure, self.code, tuple(d.events), tuple(d.outputs))

    def poisoned(self, ue: Ue, trigger: CloudEvent, env: Env) -> Decision:
        """Answer an event that no attempt could decide, because of a bug in this code.

        It reads as little of the event as possible.
        """
        d = UeDecision(ue, env, trigger)
        _answer_poisoned(d, trigger)
        stranger.record(d)
        return Decision(DEFAULT, self.code, tuple(d.events), tuple(d.outputs))

    def _run(self, d: UeDecision, trigger: CloudEvent) -> Procedure | None:
        match trigger.type:
            case EventType.NGAP_UPLINK:
                return uplink.decide(d, trigger, self.module)
            case EventType.TIMER:
                return self._timers(d, trigger)
            case EventType.PFCP_UPLINK | EventType.PFCP_UNANSWERED | EventType.PFCP_ENDED:
                return self._pfcp(d, trigger)
            case _:
                return self._event(d, trigger)

    # Timers and the core's own events

    def _timers(self, d: UeDecision, trigger: CloudEvent) -> Procedure | None:
        """Run the due timers of one procedure. Those of another procedure get a wake-up at once.

        The procedure is that of the wake-up, or of the first due timer. It does not depend on the
        hosted procedures, so replay decides the same.
        """
        due = sorted((t.at, name, t.count) for name, t in d.ue.timers.items() if _is_due(d, t.at))
        if not due:
            return d.rearm()
        owners = [procedure_of_timer(name) for _, name, _ in due]
        owner = next((o for o in owners if o == trigger.procedure), owners[0])
        module = self.module(owner)
        here = d.ue.connection.amf_ue_ngap_id if d.ue.connection is not None else None
        for at, name, count in due:
            if name in d.ue.timers and procedure_of_timer(name) == owner:
                d.emit(TimerStopped(name))
                module.decide(d, TimerExpired(name, count, max(0, d.env.now - at)))
                connection.activate(d, here)
        d.rearm()
        return owner

    def _event(self, d: UeDecision, trigger: CloudEvent) -> Procedure:
        procedure = EVENTS.get(trigger.type)
        if procedure is None:
            d.note(f"an event of the unknown type {trigger.type}")
            return DEFAULT
        module = self.module(procedure)
        try:
            data = msgpack.decode(trigger.data, type=_EVENT_DATA[trigger.type])
        except DecodeError as err:
            d.note(f"the data of an event of type {trigger.type} is not valid: {err}")
            return procedure
        module.decide(d, EventReceived(trigger.type, data))
        return procedure

    # PFCP of a session

    def _pfcp(self, d: UeDecision, trigger: CloudEvent) -> Procedure:
        seid = seid_of_index(trigger.partitionkey)
        if trigger.type == EventType.PFCP_UNANSWERED:
            self.module(Procedure.SESSION).decide(d, PfcpUnanswered(seid, trigger.sequence))
            return Procedure.SESSION
        if trigger.type == EventType.PFCP_ENDED:
            ended = PfcpEnded(seid, trigger.sequence, trigger.incarnation or 0)
            self.module(Procedure.SESSION).decide(d, ended)
            return Procedure.SESSION
        message, tree, faults = n4.read(trigger.data)
        procedure = PFCP_MESSAGES.get(message, Procedure.SESSION)
        module = self.module(procedure)
        if faults:
            d.note(faults)
        foreign = n4.sender_fault(d, trigger, seid, tree)
        if foreign:
            d.note(foreign)
            if message.endswith("Request"):
                n4.not_found(d, trigger)
        elif tree is None and message.endswith("Request"):
            n4.refuse(d, trigger, seid)
        else:
            received = PfcpReceived(message, tree, seid, trigger.sequence, trigger.partitionkey)
            module.decide(d, received)
        return procedure


def _is_due(d: UeDecision, at: int) -> bool:
    """Whether a timer has expired, by the clock of this host or by its wake-up."""
    now, wake_at = d.env.now, d.ue.wake_at
    return at <= now + TIMER_SLACK_MS or at <= wake_at <= now + CLOCK_SKEW_MS


def _answer_poisoned(d: UeDecision, trigger: CloudEvent) -> None:
    """Send 5GMM cause #111 (TS 24.501 7.8), and leave no connection and no due timer."""
    d.note(f"the event {trigger.id} of type {trigger.type} could not be decided")
    for found in d.ue.parked:
        if trigger.partitionkey == index_ngap(found.connection.amf_ue_ngap_id):
            connection.activate(d, found.connection.amf_ue_ngap_id)
    connection.abort(d, "protocol error")
    if trigger.type == EventType.TIMER:
        # The timers would expire again, and fail again.
        for old in connection.releasing(d):
            connection.released(
                d, old.amf_ue_ngap_id, "its release could not be decided", unconfirmed=True
            )
        for timer in tuple(d.ue.timers):
            d.stop_timer(timer)
        for found in d.ue.parked:
            connection.drop(d, found)
    here = d.ue.connection
    if here is None:
        return
    if trigger.partitionkey == index_ngap(here.amf_ue_ngap_id) and trigger.sequence is not None:
        # The next messages of the connection must not wait for it.
        d.emit(UplinkProcessed(max(trigger.sequence, here.sequence), None))
    if not here.releasing:
        cause = int(GmmCause.PROTOCOL_ERROR)
        d.send_nas_best({"message-type": "5gmm-status", "5gmm-cause": cause})
    d.release(ngap.NAS_UNSPECIFIED)
    end.reconcile(d)
    connection.resume(d)


_EVENT_DATA: Final[dict[str, Any]] = {
    EventType.IDENTIFIED: cloudevents.Identified,
    EventType.UNIDENTIFIED: cloudevents.Unidentified,
    EventType.CONNECTION_LOST: cloudevents.ConnectionLost,
    EventType.SESSION_LOST: cloudevents.SessionLost,
    EventType.SESSION_RELEASE: cloudevents.SessionRelease,
    EventType.DEREGISTER: cloudevents.Deregister,
    EventType.SUBSCRIPTION_CHANGED: cloudevents.SubscriptionChanged,
}
