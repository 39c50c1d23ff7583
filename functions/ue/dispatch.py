"""`decide`: the whole of a decision about a UE, from the event as received to its step.

The runtime calls it on new events and replay calls it on recorded ones; nothing else decides.
"""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

from msgspec import DecodeError, msgpack

import wire
from functions.decision import connection, protocol_errors
from functions.decision.connection import Origin
from functions.decision.env import Env
from functions.decision.inputs import (
    EventReceived,
    Input,
    Nas,
    NasReceived,
    NgapReceived,
    PfcpReceived,
    PfcpUnanswered,
    TimerExpired,
    Unreadable,
    open_nas,
)
from functions.decision.ue_decision import UeDecision
from functions.gsm import n4
from functions.messages import ngap
from functions.messages.trees import Tree
from functions.ue import poisoned, reconcile
from schemas import cloudevents
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection.events import UplinkProcessed
from schemas.connection.state import NO_RAN_UE_NGAP_ID, Connection
from schemas.identity import seid_of_index
from schemas.mobility.events import TargetUplinkProcessed
from schemas.procedures import (
    DEFAULT,
    EVENTS,
    MODULES,
    NAS_MESSAGES,
    NGAP_MESSAGES,
    OPENING,
    PFCP_MESSAGES,
    UE_MESSAGES,
    Procedure,
    procedure_of_timer,
)
from schemas.step import Output
from schemas.ue.events import TimerStopped
from schemas.ue.state import Ue

TIMER_SLACK_MS = 20
"""A timer that expires within this of its wake-up has expired too: one step for both."""

CLOCK_SKEW_MS = 250
"""How early a wake-up may come by this host's clock, and be believed all the same."""

Decide = Callable[[UeDecision, Input], None]
"""What a procedure module has under the name `decide`."""


class Decision(NamedTuple):
    """What came of an event. Without a procedure there is nothing to record."""

    procedure: Procedure | None
    code: str
    """The id of the code that decided."""
    events: tuple[Any, ...]
    outputs: tuple[Output, ...]
    forward: bool = False
    """Whether `procedure` is not hosted here and must have the event instead."""


class _NotHostedError(Exception):
    def __init__(self, procedure: Procedure) -> None:
        super().__init__(procedure)
        self.procedure = procedure


class Procedures:
    """The procedure modules that a process hosts, imported when first needed.

    `replaced` puts other code in the place of a procedure, which is how a new version is
    tried on recorded logs.
    """

    def __init__(
        self,
        hosted: Collection[Procedure] = tuple(Procedure),
        replaced: Mapping[Procedure, Any] | None = None,
        code: str = "",
    ) -> None:
        self.code = code
        """The id of the code that decides (`schemas.code.Code`)."""
        self.hosted = frozenset(hosted)
        self.replaced = frozenset(replaced or ())
        self._modules: dict[Procedure, Any] = dict(replaced or {})

    def narrowed(self, hosted: Collection[Procedure]) -> "Procedures":
        """The same modules, of which only those of some procedures are hosted."""
        found = Procedures(hosted, code=self.code)
        found._modules = self._modules
        return found

    def code_of(self, procedure: Procedure) -> str:
        """The id of the code that decides for a procedure."""
        return getattr(self._modules.get(procedure), "CODE", self.code)

    def load(self) -> None:
        """Import the modules of all hosted procedures: a decision that is replayed imports none."""
        for procedure in self.hosted:
            self.module(procedure)

    def module(self, procedure: Procedure) -> Any:
        """The module of a procedure that is hosted."""
        if procedure not in self.hosted:
            raise _NotHostedError(procedure)
        if procedure not in self._modules:
            self._modules[procedure] = import_module(MODULES[procedure])
        return self._modules[procedure]

    def decide(self, ue: Ue, trigger: CloudEvent, env: Env) -> Decision:
        """Decide about one event of a UE."""
        draft = UeDecision(ue, env, trigger)
        try:
            procedure = self._run(draft, trigger)
            connection.resume(draft)
            reconcile.reconcile(draft)
            if procedure is None and not draft.events and not draft.outputs:
                return Decision(None, "", (), ())
            procedure = procedure or DEFAULT
            self.module(procedure)
        except _NotHostedError as elsewhere:
            return Decision(elsewhere.procedure, "", (), (), forward=True)
        return Decision(
            procedure, self.code_of(procedure), tuple(draft.events), tuple(draft.outputs)
        )

    def poisoned(self, ue: Ue, trigger: CloudEvent, env: Env) -> Decision:
        """Give the UE a cause for an event that could not be decided, by a bug of ours.

        It reads as little of the event as it can.
        """
        draft = UeDecision(ue, env, trigger)
        poisoned.answer(draft, trigger)
        return Decision(DEFAULT, self.code, tuple(draft.events), tuple(draft.outputs))

    def _run(self, d: UeDecision, trigger: CloudEvent) -> Procedure | None:
        match trigger.type:
            case EventType.NGAP_UPLINK:
                return self._uplink(d, trigger)
            case EventType.TIMER:
                return self._timers(d, trigger)
            case EventType.PFCP_UPLINK | EventType.PFCP_UNANSWERED:
                return self._pfcp(d, trigger)
            case _:
                return self._event(d, trigger)

    # Timers and the core's own events

    def _timers(self, d: UeDecision, trigger: CloudEvent) -> Procedure | None:
        """Run the due timers of one procedure; those of another get a wake-up at once.

        That of the wake-up, or of the first timer that is due. It does not depend on what is
        hosted here: a step decides the same wherever it is replayed.
        """
        due = sorted((t.at, name, t.count) for name, t in d.ue.timers.items() if _is_due(d, t.at))
        if not due:
            return d.rearm()
        owners = [procedure_of_timer(name) for _, name, _ in due]
        owner = next((o for o in owners if o == trigger.procedure), owners[0])
        module = self.module(owner)
        here = d.ue.connection.amf_ue_ngap_id if d.ue.connection is not None else None
        for _, name, count in due:
            if name in d.ue.timers and procedure_of_timer(name) == owner:
                d.emit(TimerStopped(name))
                module.decide(d, TimerExpired(name, count))
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
            d.note(f"an event of type {trigger.type} without its data: {err}")
            return procedure
        module.decide(d, EventReceived(trigger.type, data))
        return procedure

    # PFCP of a session

    def _pfcp(self, d: UeDecision, trigger: CloudEvent) -> Procedure:
        seid = seid_of_index(trigger.partitionkey)
        if trigger.type == EventType.PFCP_UNANSWERED:
            self.module(Procedure.SESSION).decide(d, PfcpUnanswered(seid, trigger.sequence))
            return Procedure.SESSION
        message, tree, faults = n4.read(trigger.data)
        procedure = PFCP_MESSAGES.get(message, Procedure.SESSION)
        module = self.module(procedure)
        if faults:
            d.note(faults)
        if tree is None and message.endswith("Request"):
            n4.refuse(d, trigger, seid)
        else:
            received = PfcpReceived(message, tree, seid, trigger.sequence, trigger.partitionkey)
            module.decide(d, received)
        return procedure

    # Uplink NGAP

    def _uplink(self, d: UeDecision, trigger: CloudEvent) -> Procedure | None:
        origin = Origin(trigger.source)
        received = protocol_errors.read(d, origin, trigger.data)
        if received is None:
            return DEFAULT
        peek = received.peek
        procedure = NGAP_MESSAGES.get(peek.message, DEFAULT)
        initial = peek.message == "InitialUEMessage"
        if peek.message not in OPENING and _processed_before(d, peek, trigger.sequence):
            return None
        if not initial and _of(connection.find(d, peek.amf_ue_ngap_id or 0), origin, peek):
            connection.activate(d, peek.amf_ue_ngap_id)
        # An error of its ids comes before any other (TS 38.413 10.5).
        own = initial or self._from_its_connection(d, origin, peek)
        if own and peek.message not in UE_MESSAGES:
            return self._accepted(d, origin, peek, {}, trigger)
        if not own or protocol_errors.rejected_faults(d, origin, received):
            self.module(procedure)
            if not initial and _of(d.ue.connection, origin, peek):
                # It has had its turn: what comes after it must not wait for it.
                _processed(d, {}, trigger.sequence, None)
            else:
                _processed_of_target(d, origin, peek, trigger.sequence)
            return procedure
        ies = received.ies()
        if initial:
            return self._initial(d, origin, peek, ies, trigger.sequence)
        return self._accepted(d, origin, peek, ies, trigger)

    def _initial(
        self, d: UeDecision, origin: Origin, peek: wire.NgapPeek, ies: Tree, sequence: int | None
    ) -> Procedure:
        """A message that opens a connection: of the UE, if its MAC says so."""
        opened = open_nas(d.ue, peek.nas_pdu or b"", initial=True)
        proved = opened.count is not None
        ran_ue_ngap_id = ies["RAN-UE-NGAP-ID"]
        connection.establish(d, origin, ran_ue_ngap_id, ies, sequence or 0, proved=proved)
        procedure = self._nas(d, opened, ies, initial=True, sequence=sequence)
        protocol_errors.unbegun(d, opened)
        return procedure

    def _accepted(
        self, d: UeDecision, origin: Origin, peek: wire.NgapPeek, ies: Tree, trigger: CloudEvent
    ) -> Procedure:
        """A message without faults, on a connection of the UE."""
        procedure = NGAP_MESSAGES.get(peek.message, DEFAULT)
        switch = peek.message == "PathSwitchRequest"
        current = d.connection_is(peek.amf_ue_ngap_id) and not switch
        nas = peek.nas_pdu if peek.message == "UplinkNASTransport" else None
        if nas is not None and current:
            opened = open_nas(d.ue, nas)
            return self._nas(d, opened, ies, initial=False, sequence=trigger.sequence)
        if current:
            _processed(d, ies, trigger.sequence, None)
        else:
            _processed_of_target(d, origin, peek, trigger.sequence)
        if peek.message == "UplinkNASTransport":
            d.note("UplinkNASTransport on a connection that the UE has left")
            return DEFAULT
        if peek.message not in NGAP_MESSAGES:
            protocol_errors.ngap_procedure(d, origin, peek, trigger.data)
            return DEFAULT
        received = NgapReceived(peek.message, ies, peek.amf_ue_ngap_id or 0)
        self.module(procedure).decide(d, received)
        return procedure

    @staticmethod
    def _from_its_connection(d: UeDecision, origin: Origin, peek: wire.NgapPeek) -> bool:
        """Whether the pair of ids is that of a connection of this UE (TS 38.413 10.6)."""
        if peek.message == "PathSwitchRequest":
            return True  # it comes by another gNB, and has its own answer
        known = connection.find(d, peek.amf_ue_ngap_id or 0)
        if known is None:
            cause = ngap.UNKNOWN_LOCAL_ID
        elif (known.gnb, known.association) != (origin.gnb, origin.association) or (
            not _is_ran_id(known, peek)
        ):
            cause = ngap.INCONSISTENT_REMOTE_ID
        else:
            return True
        d.note(f"{peek.message}: {ngap.cause_text(cause)}")
        if peek.message not in ("ErrorIndication", "UEContextReleaseComplete"):
            pdu = ngap.error_indication(
                cause, amf_ue_ngap_id=peek.amf_ue_ngap_id, ran_ue_ngap_id=peek.ran_ue_ngap_id
            )
            protocol_errors.send_to(d, origin, pdu)
        if cause is ngap.INCONSISTENT_REMOTE_ID:
            protocol_errors.erroneous_id(d, origin, peek.ran_ue_ngap_id)
        return False

    # Uplink NAS

    def _nas(
        self,
        d: UeDecision,
        opened: Nas | Unreadable,
        ies: Tree,
        *,
        initial: bool,
        sequence: int | None,
    ) -> Procedure:
        secured = d.connection.secured
        counted = None if isinstance(opened, Nas) and opened.pending else opened.count
        if not initial or counted is not None:
            _processed(d, ies, sequence, counted)
        if isinstance(opened, Unreadable):
            self.module(DEFAULT)
            protocol_errors.unreadable(d, opened, initial=initial)
            return DEFAULT
        procedure = NAS_MESSAGES.get(opened.type, DEFAULT)
        module = self.module(procedure)
        discarded = protocol_errors.discarded(d, opened, secured=secured)
        if discarded:
            d.note(discarded)
            if initial:
                d.release(ngap.NAS_UNSPECIFIED)
            return procedure
        if not opened.verified and opened.type not in protocol_errors.PROCESSED_UNVERIFIED:
            protocol_errors.unverified(d, opened, initial=initial)
            return procedure
        read = wire.nas_read(opened.plain)
        if read.tree is None or read.answer is not None:
            reason = read.fault or "an unknown IE that must be understood"
            protocol_errors.faulty(d, opened, reason, read.answer, initial=initial)
        elif opened.type not in NAS_MESSAGES:
            protocol_errors.not_implemented(d, opened, read.tree, initial=initial)
        else:
            module.decide(d, NasReceived(opened, read.tree, initial, read.container))
        return procedure


def _is_due(d: UeDecision, at: int) -> bool:
    """Whether a timer has expired: by this host's clock, or by the wake-up that came for it."""
    now, wake_at = d.env.now, d.ue.wake_at
    return at <= now + TIMER_SLACK_MS or at <= wake_at <= now + CLOCK_SKEW_MS


def _of(here: Connection | None, origin: Origin, peek: wire.NgapPeek) -> bool:
    """Whether a message came by a connection, as far as its ids can be read."""
    return (
        here is not None
        and (here.gnb, here.association) == (origin.gnb, origin.association)
        and here.amf_ue_ngap_id == peek.amf_ue_ngap_id
        and _is_ran_id(here, peek)
    )


def _is_ran_id(here: Connection, peek: wire.NgapPeek) -> bool:
    """Whether a RAN-UE-NGAP-ID may be that of a connection: the first of a target may."""
    if here.ran_ue_ngap_id == NO_RAN_UE_NGAP_ID:
        return peek.message in _OF_NEW_TARGET
    return peek.ran_ue_ngap_id in (None, here.ran_ue_ngap_id)


_OF_NEW_TARGET: Final = frozenset(
    {
        "HandoverRequestAcknowledge",
        "HandoverFailure",
        "UEContextReleaseComplete",
        "ErrorIndication",
    }
)
"""What the target of a handover may say before it has told its RAN-UE-NGAP-ID, or with it."""


def _processed_before(d: UeDecision, peek: wire.NgapPeek, sequence: int | None) -> bool:
    """Whether a message was for the aggregate of a UE unknown, before it gave its connection."""
    known = connection.find(d, peek.amf_ue_ngap_id or 0)
    return known is not None and sequence is not None and sequence <= known.adopted


def _processed(d: UeDecision, ies: Tree, sequence: int | None, nas_count: int | None) -> None:
    """Record that an uplink message was taken in its turn, with what its location changed."""
    here = d.connection
    location = ngap.location_of(ies)
    tai = cell = None
    if location is not None and location != (here.tai, here.cell):
        tai, cell = location
    taken = here.sequence if sequence is None else sequence
    if taken > here.sequence + 1:
        d.note(f"gap: message {taken} of the connection after {here.sequence}")
    d.emit(UplinkProcessed(taken, nas_count, tai, cell))


def _processed_of_target(
    d: UeDecision, origin: Origin, peek: wire.NgapPeek, sequence: int | None
) -> None:
    """The same of a gNB that the UE is being handed over to, or that it has left."""
    others = (d.ue.target, *d.ue.stale)
    if sequence is not None and any(_of(found, origin, peek) for found in others):
        d.emit(TargetUplinkProcessed(sequence, peek.amf_ue_ngap_id or 0))


_EVENT_DATA: Tree = {
    EventType.IDENTIFIED: cloudevents.Identified,
    EventType.UNIDENTIFIED: cloudevents.Unidentified,
    EventType.CONNECTION_LOST: cloudevents.ConnectionLost,
    EventType.SESSION_LOST: cloudevents.SessionLost,
    EventType.SESSION_RELEASE: cloudevents.SessionRelease,
    EventType.DEREGISTER: cloudevents.Deregister,
    EventType.SUBSCRIPTION_CHANGED: cloudevents.SubscriptionChanged,
}
