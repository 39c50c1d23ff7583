"""One event on its way through a worker."""

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
"""The events that gateways make, with the form of their source."""


class Job:
    """A delivery, the event in it, and how long it has been waiting for its turn."""

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
        """When it stops waiting for its turn, in the loop's time; 0 while it has not begun to."""
        self.repeated = delivery.deliveries > 1 or REPEATED in delivery.headers
        """Whether another worker, or this one, may have taken the event before."""
        self.touched = now
        """When JetStream was last told that it is worked on."""
        self.rejected = False
        """Whether the decision denies the UE what it asked for."""
        self.wake = ""
        """The index entry of a shared wake-up that its step has written; empty where it has written
        none, and what wake-up it asks for is the UE's alone."""

    def reject(self) -> None:
        """Note that it does."""
        self.rejected = True

    def age(self, now: int) -> float:
        """For how many seconds the event has waited in its stream, at a time in milliseconds.

        0 for one that comes again, which has waited for another reason.
        """
        at = None if self.repeated else stored_at(self.delivery.reply)
        return 0.0 if at is None else max(0.0, now / 1000 - at)


def parse(delivery: Delivery) -> CloudEvent:
    """The event of a delivery, with the slot and procedure of its subject.

    Raises:
        BadEventError: it is not a CloudEvent, or not one that any aggregate could take.
        ValueError: its subject is not that of an event.
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
    """Whether something has to come first: an earlier message of the same N2 connection, or its
    arrival at the aggregate that it was handed over to."""
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
        # It is the successor's, but for a copy of what was taken before: that is to be found.
        return event.sequence is None or event.sequence > here.sequence
    if event.sequence is None:
        return False
    if event.source.endswith(f"/{here.gnb}/{here.association}"):
        return event.sequence > here.sequence + 1
    # By another gNB: a PATH SWITCH REQUEST, or what follows on one.
    return not _is_late(event, here.before) if event.sequence else _is_awaited(state, here)


def _targets(state: Ue) -> list[Connection]:
    """Where the UE is being handed over to, or has been: what a gNB has still to say comes before
    its UE CONTEXT RELEASE COMPLETE."""
    return [*state.stale] if state.target is None else [state.target, *state.stale]


def _is_awaited(state: Ue, here: Connection) -> bool:
    """Whether the gNB before has been asked for something: it has answered before it has handed
    the UE over, and a PATH SWITCH REQUEST that comes by another procedure's consumer is early."""
    asked = any(session.user_plane == "requested" for session in state.sessions)
    return asked or here.context == "pending"


def _is_late(event: CloudEvent, before: Place | None) -> bool:
    """Whether a message came by where the UE's connection ended before its path switch.

    One that came by neither association is of a path switch whose request is still on its way; so
    is one of another RAN-UE-NGAP-ID there, of a UE that has gone back.
    """
    if before is None or not event.source.endswith(f"/{before.gnb}/{before.association}"):
        return False
    try:
        ran_ue_ngap_id = wire.ngap_peek(event.data).ran_ue_ngap_id
    except wire.WireError:
        return True
    return ran_ue_ngap_id in (None, before.ran_ue_ngap_id)


def in_turn(jobs: Sequence[Job]) -> list[Job]:
    """`jobs` with those of one N2 connection together and in the order of its messages.

    Events of one UE come by several consumers, one for each procedure, which have no order
    among each other. Those of N4 stay as they come: their numbers tell requests apart, no more.
    """
    first: dict[str, int] = {}
    moved: set[tuple[str, str]] = set()
    for index, job in enumerate(jobs):
        event = job.event
        first.setdefault(event.partitionkey, index)
        if event.sequence == 0 and event.partitionkey.startswith("ngap-"):
            moved.add((event.partitionkey, event.source))

    def key(job: Job) -> tuple[int, bool, int]:
        # What a connection's next gNB says comes after what the one before has said.
        event = job.event
        later = (event.partitionkey, event.source) in moved
        return first[event.partitionkey], later, _place(event)

    return sorted(jobs, key=key)


def _place(event: CloudEvent) -> int:
    return 0 if event.source.startswith("/n4/") else event.sequence or 0
