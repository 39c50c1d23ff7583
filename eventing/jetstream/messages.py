"""Messages for the bus: one event, a batch of events, or a scheduled event.

An event alone is in binary mode (`eventing.cloudevents.nats_binding`). Several events are a batch
in the CloudEvents JSON format (1.0.2, clause 4): many events that occur together cost the bus one
message to store, to deliver and to acknowledge. A scheduled event is a durable wake-up: a
JetStream scheduled message (ADR-51).
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from schemas import batch
from schemas.batch import BATCH_MEDIA_TYPE, BatchedEvent
from schemas.cloudevents import SPECVERSION, CloudEvent
from schemas.identity import partition_of
from schemas.origin import origin_of
from schemas.procedures import DEFAULT

CONTENT_TYPE: Final = "Content-Type"
"""The header that marks a batch."""
MOST: Final = 16
"""Maximum events in a batch for a stream: autoscalers count messages, so a message must not stand
for too many events."""
OCTETS: Final = 1 << 16
"""Maximum octets of data in a batch. A larger event goes alone."""

_HEADERS: Final = {CONTENT_TYPE: BATCH_MEDIA_TYPE}


class Outgoing(NamedTuple):
    """A message for the bus."""

    subject: str
    data: bytes
    headers: dict[str, str]


class Addressed(NamedTuple):
    """An event and its subject."""

    subject: str
    event: CloudEvent
    counted: str = ""
    """The NAS COUNTs in a downlink message, in the form of `nats_binding.COUNTED`; may be empty."""
    repeated: bool = False
    """Whether the event may have been published before."""

    @property
    def outgoing(self) -> Outgoing:
        """The event as a message of its own."""
        headers = nats_binding.to_headers(self.event)
        if self.counted:
            headers[nats_binding.COUNTED] = self.counted
        if self.repeated:
            headers[nats_binding.REPEATED] = "1"
        return Outgoing(self.subject, self.event.data, headers)


def addressed(event: CloudEvent, partitions: int, *, repeated: bool = False) -> Addressed:
    """Return an event for an aggregate with its subject. The event must have a slot.

    `repeated` tells the receiver that it may have processed the event before. An event with a
    position is published again.
    """
    slot = event.slot or 0
    partition, procedure = partition_of(slot, partitions), event.procedure or DEFAULT
    if event.position is None:
        subject = subjects.event(partition, procedure, origin_of(event), slot)
    else:
        subject = subjects.republished(partition, procedure, slot)
    return Addressed(subject, event, repeated=repeated)


def outgoing(event: CloudEvent, partitions: int, *, repeated: bool = False) -> Outgoing:
    """Return the message of an event for an aggregate; see `addressed`."""
    return addressed(event, partitions, repeated=repeated).outgoing


def gathered(
    messages: Iterable[Addressed],
    together: Callable[[str], str] = subjects.consumer_of,
    most: int = MOST,
) -> list[Outgoing]:
    """Return events as few messages. Events of one subject and of one key stay in order.

    An event that is published again is alone in its message: another event waits for the message
    of an earlier one, and that message must not wait for a later one.

    Args:
        messages: the events.
        together: maps a subject to a group; events of one group may share a message, which goes
            to the subject of the first event. The default group is a consumer and an origin.
        most: maximum events in a message.
    """
    return [_message(some) for some in _grouped(messages, together, most)]


def batched(
    messages: Iterable[Addressed], together: Callable[[str], str], most: int
) -> list[tuple[str, bytes]]:
    """Return events as few batches, each with its subject; see `gathered`. An event that is alone
    is a batch too."""
    groups = _grouped(messages, together, most)
    return [(some[0].subject, batch.encode([_entry(one) for one in some])) for some in groups]


def _grouped(
    messages: Iterable[Addressed], together: Callable[[str], str], most: int
) -> list[list[Addressed]]:
    found: list[list[Addressed]] = []
    octets: list[int] = []
    latest: dict[str, int] = {}
    """By group, its last message."""
    last: dict[str, int] = {}
    """By key, the message with its last event."""
    for message in messages:
        group, key = together(message.subject), message.event.partitionkey
        size, at = len(message.event.data), latest.get(group, -1)
        alone = message.event.position is not None
        full = at < 0 or len(found[at]) >= most or octets[at] + size > OCTETS
        if alone or full or at < last.get(key, 0):
            at = len(found)
            found.append([])
            octets.append(0)
            if not alone:
                latest[group] = at
        last[key] = at
        found[at].append(message)
        octets[at] += size
    return found


def _message(some: list[Addressed]) -> Outgoing:
    if len(some) == 1:
        return some[0].outgoing
    return Outgoing(some[0].subject, batch.encode([_entry(message) for message in some]), _HEADERS)


def _entry(message: Addressed) -> BatchedEvent:
    event = message.event
    return BatchedEvent(
        SPECVERSION,
        event.id,
        event.source,
        event.type,
        event.partitionkey,
        event.data,
        None,
        event.datacontenttype,
        event.procedure,
        event.slot,
        event.sequence,
        event.traceparent,
        message.counted,
        "1" if message.repeated else "",
        "" if event.position is None else str(event.position),
        event.incarnation,
    )


def is_batch(headers: dict[str, str] | None) -> bool:
    """Whether a message with these headers is a batch."""
    return headers is not None and headers.get(CONTENT_TYPE) == BATCH_MEDIA_TYPE


def opened(data: bytes) -> list[BatchedEvent]:
    """Return the events of a batch.

    Raises:
        BadEventError: the data is not a batch of evcore's events.
    """
    try:
        return batch.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise BadEventError(f"not a batch of events: {err}") from None


def events_of(headers: dict[str, str] | None, data: bytes) -> list[CloudEvent]:
    """Return the events of a message: one in binary mode, or all events of a batch.

    Raises:
        BadEventError: the message has no event, or an event that is not evcore's.
    """
    if is_batch(headers):
        return [entry.event for entry in opened(data)]
    return [nats_binding.from_message(headers, data)]


def schedule(event: CloudEvent, name: str, at: int, partitions: int) -> Outgoing:
    """Return the message that makes JetStream deliver `event` at a time.

    `at` is in milliseconds since the Unix epoch. `name` is the name of an aggregate, or of a
    wake-up that several share. The message replaces a pending message of the same name.
    """
    slot = event.slot or 0
    partition = partition_of(slot, partitions)
    when = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    headers = nats_binding.to_headers(event)
    headers["Nats-Schedule"] = f"@at {when.removesuffix('+00:00')}Z"
    headers["Nats-Schedule-Target"] = subjects.event(
        partition, event.procedure or "", origin_of(event), slot
    )
    return Outgoing(subjects.timer(partition, slot, name), event.data, headers)
