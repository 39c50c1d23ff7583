"""An event as JetStream delivered it, alone or in a batch; a batch is acknowledged once."""

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec.structs import replace

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.jetstream.messages import Addressed, Outgoing, events_of, opened
from schemas.batch import BatchedEvent
from schemas.cloudevents import CloudEvent
from schemas.origin import Origin, origin_of
from schemas.position import Position

log = logging.getLogger(__name__)

_SCHEDULER: Final = "Nats-Scheduler"
"""The header in which JetStream names the subject of the scheduled message that it delivers
(ADR-51). JetStream removes the sender's own header of this name."""
_MAX_DIGITS: Final = 20
"""Digits that no number of JetStream reaches."""


class BatchProgress:
    """The events of a batch that are not processed yet; the message is acknowledged after all."""

    __slots__ = ("after", "left")

    def __init__(self, count: int) -> None:
        self.left = set(range(count))
        """The places of the events that are not processed."""
        self.after: float | None = None
        """Seconds until the redelivery that an event of the batch needs; None for no redelivery."""


class Delivery(NamedTuple):
    """One event as JetStream delivered it, alone or in a batch."""

    subject: str
    data: bytes
    headers: dict[str, str]
    reply: str
    """The subject for the acknowledgement."""
    deliveries: int
    """Number of deliveries of the event so far, this one included."""
    consumer: str
    event: CloudEvent | None = None
    """The event, if it was in a batch; None for an event alone, which is in `headers`."""
    progress: BatchProgress | None = None
    """The state of the batch; None for an event alone."""
    place: int = 0
    """The event's place in the batch."""

    @property
    def position(self) -> Position | None:
        """The place of this delivery in the stream; None if no stream delivered it."""
        tokens = _tokens(self.reply)
        sequence, stored = _number(tokens, 3), _number(tokens, 5)
        if sequence is None or stored is None:
            return None
        return Position(sequence, self.place, stored // 1_000_000)

    @property
    def is_next(self) -> bool:
        """Whether all events before it in its batch are processed, or stored in other messages."""
        return self.progress is None or self.place <= min(self.progress.left, default=self.place)


def split(message: Delivery) -> list[Delivery]:
    """Return the events of a batch, each as if it were delivered alone.

    A batch that cannot be read is returned whole: the receiver refuses it.
    """
    try:
        entries = opened(message.data)
        progress = BatchProgress(len(entries))
        return [_part(message, entry, progress, place) for place, entry in enumerate(entries)]
    except ValueError:
        return [message]


def _part(message: Delivery, entry: BatchedEvent, progress: BatchProgress, place: int) -> Delivery:
    event = entry.event
    repeated = entry.repeated or REPEATED in message.headers
    headers = {REPEATED: "1"} if repeated else dict[str, str]()
    if _SCHEDULER in message.headers:
        headers[_SCHEDULER] = message.headers[_SCHEDULER]
    return Delivery(
        subjects.in_slot(message.subject, event.slot),
        event.data,
        headers,
        message.reply,
        message.deliveries,
        message.consumer,
        event,
        progress,
        place,
    )


def event_of(delivery: Delivery) -> CloudEvent:
    """Return the event of a delivery, with its position.

    Raises:
        BadEventError: the delivery has no event, an event that is not evcore's, or an event that
            its sender may not send (`schemas.origin`).
    """
    event = delivery.event or events_of(delivery.headers, delivery.data)[0]
    origin = origin_of(event)
    if not subjects.is_from(delivery.subject, origin):
        raise BadEventError(f"only {origin} sends {event.type}, not {delivery.subject}")
    # The broker does not check who may publish on the target of a scheduled message.
    scheduler = delivery.headers.get(_SCHEDULER)
    if scheduler and not (origin == Origin.CORE and scheduler.startswith(subjects.TIMERS)):
        raise BadEventError(f"{scheduler} is not the subject of a wake-up")
    return event if event.position else replace(event, position=delivery.position)


def messages_of(deliveries: Iterable[Delivery]) -> int:
    """Return the number of messages whose first event is among `deliveries`.

    JetStream and autoscalers count messages.
    """
    return sum(1 for delivery in deliveries if not delivery.place)


def alone(delivery: Delivery) -> Outgoing:
    """Return the event of a delivery as a message of its own, with the same position.

    It replaces the event in its batch, so that the rest of the batch is not delivered again.
    """
    subject = subjects.republished_as(delivery.subject)
    return Addressed(subject, event_of(delivery), repeated=True).outgoing


def dead_letter(delivery: Delivery, reason: str) -> Outgoing:
    """Return a delivery as a message for the stream of dead letters, with the reason; log it.

    Headers for JetStream are left out: the stream would act on them, or refuse the message.
    """
    log.error("%s is a dead letter: %s", delivery.subject, reason)
    own = {k: v for k, v in delivery.headers.items() if not k.lower().startswith("nats-")}
    of_event = nats_binding.to_headers(delivery.event) if delivery.event is not None else {}
    headers = {**of_event, **own, "evcore-reason": nats_binding.header_value(reason)}
    return Outgoing(subjects.dead(delivery.subject), delivery.data, headers)


def stored_at(reply: str) -> float | None:
    """Return the time when JetStream stored an event, in seconds since 1970.

    `reply` is the reply subject of the delivery; None for any other subject.
    """
    nanoseconds = _number(_tokens(reply), 5)
    return None if nanoseconds is None else nanoseconds / 1e9


def pending_after(reply: str) -> int:
    """Return the messages of its consumer that JetStream had not delivered after a delivery.

    `reply` is the reply subject of the delivery; 0 for any other subject.
    """
    return _number(_tokens(reply), 6) or 0


def deliveries_of(reply: str) -> int:
    """Return the number of deliveries of an event by the reply subject of its delivery.

    1 for any other subject.
    """
    return acknowledgement(reply)[1] or 1


def acknowledgement(reply: str) -> tuple[str, int]:
    """Return the consumer and the number of deliveries in the reply subject of a delivery.

    An empty consumer and 0 for any other subject.
    """
    tokens = _tokens(reply)
    deliveries = _number(tokens, 2)
    return ("", 0) if deliveries is None else (tokens[1], deliveries)


def _number(tokens: list[str], index: int) -> int | None:
    """Return a number among the tokens of a reply subject; None if there is none."""
    known = len(tokens) > index and tokens[index].isdecimal() and len(tokens[index]) < _MAX_DIGITS
    return int(tokens[index]) if known else None


def _tokens(reply: str) -> list[str]:
    """Return the tokens of the reply subject of a delivery; none for any other subject.

    They are the stream, the consumer, the deliveries, two sequences, the time in nanoseconds and
    the number of pending messages. The subject is ``$JS.ACK.<stream>...`` (nine tokens), or has a
    domain and an account before the stream (eleven tokens or more).
    """
    if not reply.startswith("$JS.ACK."):
        return []
    parts = reply.split(".")
    return parts[2:] if len(parts) == 9 else parts[4:]
