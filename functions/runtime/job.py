"""One event on its way through a worker."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from eventing import binding, subjects
from eventing.binding import BadEventError
from eventing.intake import Delivery
from eventing.publisher import REPEATED
from schemas.aggregates import KINDS
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import index_ngap
from schemas.procedures import Procedure
from schemas.ue import Ue

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

    __slots__ = ("aggregate", "deadline", "delivery", "event", "repeated", "touched")

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


def parse(delivery: Delivery) -> CloudEvent:
    """The event of a delivery, with the slot and procedure of its subject.

    Raises:
        BadEventError: it is not a CloudEvent, or not one that any aggregate could take.
        ValueError: its subject is not that of an event.
    """
    event = binding.from_message(delivery.headers, delivery.data)
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
    return event


def out_of_turn(event: CloudEvent, state: object) -> bool:
    """Whether something has to come first: an earlier message of the same N2 connection, or its
    arrival at the aggregate that it was handed over to."""
    if not isinstance(state, Ue) or event.type != EventType.NGAP_UPLINK:
        return False
    here = state.connection
    if here is None or event.partitionkey != index_ngap(here.amf_ue_ngap_id):
        return False
    if state.successor:
        # It is the successor's, but for a copy of what was taken before: that is to be found.
        return event.sequence is None or event.sequence > here.sequence
    return event.sequence is not None and event.sequence > here.sequence + 1


def in_turn(jobs: Sequence[Job]) -> list[Job]:
    """`jobs` with those of one N2 connection together and in the order of its messages.

    Events of one UE come by several consumers, one for each procedure, which have no order
    among each other. Those of N4 stay as they come: their numbers tell requests apart, no more.
    """
    first: dict[str, int] = {}
    for index, job in enumerate(jobs):
        first.setdefault(job.event.partitionkey, index)
    return sorted(jobs, key=lambda job: (first[job.event.partitionkey], _place(job.event)))


def _place(event: CloudEvent) -> int:
    return 0 if event.source.startswith("/n4/") else event.sequence or 0
