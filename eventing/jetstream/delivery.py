"""An event as JetStream delivered it: by itself, or in a batch, whose message is answered once."""

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.jetstream.messages import Outgoing, events_of, opened
from schemas.batch import BatchedEvent
from schemas.cloudevents import CloudEvent

_LONG: Final = 20
"""Digits that no number of JetStream's has."""


class Parts:
    """What has become of the events of a batch: its message is answered once for all of them."""

    __slots__ = ("after", "left")

    def __init__(self, count: int) -> None:
        self.left = set(range(count))
        """The places of those that nothing has become of."""
        self.after: float | None = None
        """In how many seconds it is to come again, for one of them; None for none."""


class Delivery(NamedTuple):
    """One event as JetStream delivered it, by itself or in a batch."""

    subject: str
    data: bytes
    headers: dict[str, str]
    reply: str
    """Where to acknowledge it."""
    deliveries: int
    """How often it has been delivered, this time included."""
    consumer: str
    event: CloudEvent | None = None
    """The event of a batch; None for one that came by itself, whose headers have it."""
    parts: Parts | None = None
    """The batch that it came in."""
    place: int = 0
    """Its place there."""


def split(message: Delivery) -> list[Delivery]:
    """The events of a batch, each as if it had come by itself. What cannot be read is left whole,
    for whoever takes it to refuse."""
    try:
        entries = opened(message.data)
    except BadEventError:
        return [message]
    parts = Parts(len(entries))
    return [_part(message, entry, parts, place) for place, entry in enumerate(entries)]


def _part(message: Delivery, entry: BatchedEvent, parts: Parts, place: int) -> Delivery:
    event, subject = entry.event, message.subject
    repeated = entry.repeated or REPEATED in message.headers
    headers = {REPEATED: "1"} if repeated else dict[str, str]()
    if event.slot is not None:
        subject = f"{subjects.consumer_of(subject)}.{event.slot}"
    return Delivery(
        subject,
        event.data,
        headers,
        message.reply,
        message.deliveries,
        message.consumer,
        event,
        parts,
        place,
    )


def event_of(delivery: Delivery) -> CloudEvent:
    """The event of a delivery.

    Raises:
        BadEventError: it has none, or what is none of evcore's.
    """
    return delivery.event or events_of(delivery.headers, delivery.data)[0]


def messages_of(deliveries: Iterable[Delivery]) -> int:
    """How many messages some events came in, as far as those begin among them: what JetStream
    counts, and whoever scales by that."""
    return sum(1 for delivery in deliveries if not delivery.place)


def stored_at(reply: str) -> float | None:
    """When JetStream stored an event, in seconds since 1970, by the reply subject of its delivery;
    None for another subject."""
    tokens = _tokens(reply)
    known = len(tokens) > 5 and tokens[5].isdecimal() and len(tokens[5]) < _LONG
    return int(tokens[5]) / 1e9 if known else None


def stored_as(reply: str) -> int:
    """The place of an event in its stream, by the reply subject of its delivery; 0 by another
    subject."""
    tokens = _tokens(reply)
    known = len(tokens) > 3 and tokens[3].isdecimal() and len(tokens[3]) < _LONG
    return int(tokens[3]) if known else 0


def deliveries_of(reply: str) -> int:
    """How often an event has been delivered, by the reply subject of its delivery; 1 by another
    subject."""
    return acknowledgement(reply)[1] or 1


def acknowledgement(reply: str) -> tuple[str, int]:
    """The consumer and the number of deliveries in the reply subject of a delivery.

    An empty consumer for another subject.
    """
    tokens = _tokens(reply)
    known = len(tokens) > 2 and tokens[2].isdecimal() and len(tokens[2]) < _LONG
    return (tokens[1], int(tokens[2])) if known else ("", 0)


def _tokens(reply: str) -> list[str]:
    """The stream, the consumer, the deliveries, two sequences, the time in nanoseconds and what is
    pending, of the reply subject of a delivery; nothing for another subject.

    ``$JS.ACK.<stream>...``, or with a domain and an account before the stream (nine tokens, or
    eleven and more).
    """
    if not reply.startswith("$JS.ACK."):
        return []
    parts = reply.split(".")
    return parts[2:] if len(parts) == 9 else parts[4:]


log = logging.getLogger(__name__)


def dead_letter(delivery: Delivery, reason: str) -> Outgoing:
    """A delivery as a message for the stream of dead letters, with the reason."""
    log.error("%s is a dead letter: %s", delivery.subject, reason)
    of_event = nats_binding.to_headers(delivery.event) if delivery.event is not None else {}
    headers = {**of_event, **delivery.headers, "evcore-reason": nats_binding.header_value(reason)}
    return Outgoing(subjects.dead(delivery.subject), delivery.data, headers)
