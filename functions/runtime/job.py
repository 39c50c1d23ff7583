"""One event in a worker."""

import re
from typing import Final

from msgspec import DecodeError, msgpack
from msgspec.structs import replace

from eventing import subjects
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.jetstream.delivery import Delivery, event_of
from eventing.jetstream.earlier import Waiting
from schemas.aggregates import KINDS
from schemas.cloudevents import CloudEvent, EventType, FanOutDue, TimersDue
from schemas.procedures import Procedure

_PROCEDURES: Final = frozenset(str(procedure) for procedure in Procedure)
_N2: Final = (re.compile("/n2/[^/]+/.+").fullmatch, "/n2/<gnb>/<association>")
_N4: Final = (re.compile("/n4/[^/]+").fullmatch, "/n4/<Node ID>")
_FROM_GATEWAYS: Final = {
    EventType.NGAP_UPLINK: _N2,
    EventType.ASSOCIATION_LOST: _N2,
    EventType.PFCP_UPLINK: _N4,
    EventType.PFCP_UNANSWERED: _N4,
    EventType.PFCP_ENDED: _N4,
    EventType.UPF_PATH: _N4,
}
"""The event types of gateways, with the syntax of their source."""


class Job:
    """A delivery, its event, and the state of its processing."""

    __slots__ = (
        "aggregate",
        "begun",
        "delivery",
        "event",
        "has_turn",
        "look_at",
        "looks",
        "rejected",
        "repeated",
        "touched",
        "waiting",
        "wake",
    )

    def __init__(self, delivery: Delivery, event: CloudEvent, now: float) -> None:
        self.delivery = delivery
        self.event = event
        self.aggregate = ""
        self.waiting: Waiting | None = None
        """What it waits for, when it was last found early."""
        self.has_turn = False
        """Whether it may be decided although it is early: nothing stood before it in the slots of
        `waiting`."""
        self.looks = 0
        """How often the stream was asked for earlier events."""
        self.look_at = 0.0
        """When the stream is asked again, in seconds of the monotonic clock."""
        self.repeated = delivery.deliveries > 1 or REPEATED in delivery.headers
        """Whether this worker or another may have processed the event before."""
        self.begun = now
        """When the worker took it, in seconds of the monotonic clock."""
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
    try:
        if event.type == EventType.TIMERS_DUE:
            msgpack.decode(event.data, type=TimersDue)
        elif event.type == EventType.FAN_OUT:
            msgpack.decode(event.data, type=FanOutDue)
    except DecodeError as err:
        raise BadEventError(f"the data of an event of {event.type} is not valid: {err}") from None
    return event
