"""One event on its way through a worker."""

from collections.abc import Sequence

from msgspec.structs import replace

from eventing import binding, subjects
from eventing.intake import Delivery
from eventing.publisher import REPEATED
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import index_ngap
from schemas.ue import Ue


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
        BadEventError: it is not a CloudEvent.
        ValueError: its subject is not that of an event.
    """
    event = binding.from_message(delivery.headers, delivery.data)
    if event.slot is None or event.procedure is None:
        slot = subjects.slot_of_subject(delivery.subject)
        event = replace(event, slot=slot, procedure=delivery.subject.split(".")[2])
    return event


def out_of_turn(event: CloudEvent, state: object) -> bool:
    """Whether an earlier message of the same N2 connection has not been taken yet."""
    if not isinstance(state, Ue) or event.type != EventType.NGAP_UPLINK:
        return False
    here = state.connection
    if here is None or event.partitionkey != index_ngap(here.amf_ue_ngap_id):
        return False
    if state.successor:
        return True
    return event.sequence is not None and event.sequence > here.sequence + 1


def in_turn(jobs: Sequence[Job]) -> list[Job]:
    """`jobs` with those of one N2 connection together and in the order of its messages.

    Events of one UE come by several consumers, one for each procedure, which have no order
    among each other.
    """
    first: dict[str, int] = {}
    for index, job in enumerate(jobs):
        first.setdefault(job.event.partitionkey, index)
    return sorted(jobs, key=lambda job: (first[job.event.partitionkey], job.event.sequence or 0))
