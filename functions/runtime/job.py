"""One event in a worker."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import DecodeError, msgpack
from msgspec.structs import replace

import wire
from eventing import subjects
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.jetstream.delivery import Delivery, event_of, stored_at
from schemas.aggregates import KINDS
from schemas.cloudevents import CloudEvent, EventType, TimersDue
from schemas.connection.state import Connection, Place
from schemas.identity import index_ngap
from schemas.procedures import Procedure
from schemas.ue.state import Ue

_PROCEDURES: Final = frozenset(str(procedure) for procedure in Procedure)
_N2: Final = (re.compile("/n2/[^/]+/.+").fullmatch, "/n2/<gnb>/<association>")
_N4: Final = (re.compile("/n4/[^/]+").fullmatch, "/n4/<Node ID>")
_FROM_GATEWAYS: Final = {
    EventType.NGAP_UPLINK: _N2,
    EventType.ASSOCIATION_LOST: _N2,
    EventType.PFCP_UPLINK: _N4,
    EventType.PFCP_UNANSWERED: _N4,
    EventType.UPF_PATH: _N4,
}
"""The event types of gateways, with the syntax of their source."""


class Job:
    """A delivery, its event, and the state of its processing."""

    __slots__ = (
        "aggregate",
        "deadline",
        "delivery",
        "event",
        "rejected",
        "repeated",
        "touched",
        "wake",
    )

    def __init__(self, delivery: Delivery, event: CloudEvent, now: float) -> None:
        self.delivery = delivery
        self.event = event
        self.aggregate = ""
        self.deadline = 0.0
        """When it stops waiting for its turn, in the loop's time; 0 if it does not wait."""
        self.repeated = delivery.deliveries > 1 or REPEATED in delivery.headers
        """Whether this worker or another may have processed the event before."""
        self.touched = now
        """When JetStream was last told that the event is in progress."""
        self.rejected = False
        """Whether the decision rejects the UE's request."""
        self.wake = ""
        """The index entry of the shared wake-up that its step wrote; empty if the step wrote none.
        Then a wake-up of the step is not shared."""

    def reject(self) -> None:
        """Record that the decision rejects the UE's request."""
        self.rejected = True

    def age(self, now: int) -> float:
        """Return the seconds that the event has waited in its stream, at a time in milliseconds.

        Return 0 for a redelivered event, because its delay has another reason.
        """
        at = None if self.repeated else stored_at(self.delivery.reply)
        return 0.0 if at is None else max(0.0, now / 1000 - at)


def parse(delivery: Delivery) -> CloudEvent:
    """Return the event of a delivery, with the slot and procedure of its subject.

    Raises:
        BadEventError: it is not a CloudEvent, or no aggregate can process it.
        ValueError: the subject is not that of an event.
    """
    event = event_of(delivery)
    if event.slot is None or event.procedure is None:
        slot = subjects.slot_of_subject(delivery.subject)
        event = replace(event, slot=slot, procedure=delivery.subject.split(".")[2])
    if event.procedure not in _PROCEDURES:
        raise BadEventError(f"there is no procedure {event.procedure!r}")
    kind, slash, _ = event.partitionkey.partition("/")
    if slash and kind not in KINDS:
        raise BadEventError(f"{event.partitionkey!r} is no aggregate and no key of one")
    if event.type in _FROM_GATEWAYS:
        matches, form = _FROM_GATEWAYS[EventType(event.type)]
        if not matches(event.source):
            raise BadEventError(f"the source {event.source!r} is not {form}")
    if event.type == EventType.TIMERS_DUE:
        try:
            msgpack.decode(event.data, type=TimersDue)
        except DecodeError as err:
            raise BadEventError(f"a shared wake-up without its time: {err}") from None
    return event


def out_of_turn(event: CloudEvent, state: object) -> bool:
    """Whether an event must wait: for an earlier message of its N2 connection, or for the transfer
    of the connection to another aggregate."""
    if not isinstance(state, Ue) or event.type != EventType.NGAP_UPLINK:
        return False
    here, successor = state.connection, state.successor
    for found in state.parked:
        if event.partitionkey == index_ngap(found.connection.amf_ue_ngap_id):
            here, successor = found.connection, found.successor
    for target in _targets(state):
        if event.partitionkey == index_ngap(target.amf_ue_ngap_id):
            here, successor = target, ""
    if here is None or event.partitionkey != index_ngap(here.amf_ue_ngap_id):
        return False
    if successor:
        # A message for the successor must wait. A copy of an already processed message must not.
        return event.sequence is None or event.sequence > here.sequence
    if event.sequence is None:
        return False
    if event.source.endswith(f"/{here.gnb}/{here.association}"):
        return event.sequence > here.sequence + 1
    # From another gNB: a PATH SWITCH REQUEST, or a message after it.
    return not _is_late(event, here.before) if event.sequence else _is_awaited(state, here)


def _targets(state: Ue) -> list[Connection]:
    """Return the target of a handover and the stale connections.

    Their earlier messages must be processed before their UE CONTEXT RELEASE COMPLETE.
    """
    return [*state.stale] if state.target is None else [state.target, *state.stale]


def _is_awaited(state: Ue, here: Connection) -> bool:
    """Whether the previous gNB has a pending request. It has responded before it handed the UE
    over, so a PATH SWITCH REQUEST that arrives by another procedure's consumer is early."""
    asked = any(session.user_plane == "requested" for session in state.sessions)
    return asked or here.context == "pending"


def _is_late(event: CloudEvent, before: Place | None) -> bool:
    """Whether a message is from the RAN end of the connection before its path switch.

    A message from neither end belongs to a path switch with a request that has not arrived yet. So
    does a message from the previous gNB with another RAN-UE-NGAP-ID: the UE has gone back.
    """
    if before is None or not event.source.endswith(f"/{before.gnb}/{before.association}"):
        return False
    try:
        ran_ue_ngap_id = wire.ngap_peek(event.data).ran_ue_ngap_id
    except wire.WireError:
        return True
    return ran_ue_ngap_id in (None, before.ran_ue_ngap_id)


def in_turn(jobs: Sequence[Job]) -> list[Job]:
    """Return `jobs` with those of one N2 connection together, in the order of its messages.

    Events of one UE arrive by several consumers, one for each procedure, without a common order.
    Events of N4 keep their order: their sequence numbers only identify requests.
    """
    first: dict[str, int] = {}
    moved: set[tuple[str, str]] = set()
    for index, job in enumerate(jobs):
        event = job.event
        first.setdefault(event.partitionkey, index)
        if event.sequence == 0 and event.partitionkey.startswith("ngap-"):
            moved.add((event.partitionkey, event.source))

    def key(job: Job) -> tuple[int, bool, int]:
        # Messages of a connection's next gNB come after the messages of the previous one.
        event = job.event
        later = (event.partitionkey, event.source) in moved
        return first[event.partitionkey], later, _place(event)

    return sorted(jobs, key=key)


def _place(event: CloudEvent) -> int:
    return 0 if event.source.startswith("/n4/") else event.sequence or 0
