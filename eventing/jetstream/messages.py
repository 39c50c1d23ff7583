"""Several events in one message: a batch in the CloudEvents JSON format (1.0.2, clause 4).

What many UEs say at the same time costs the bus one message then: one to store, one to deliver, one
to acknowledge. An event that is alone goes in binary mode (`eventing.cloudevents.nats_binding`).
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
from schemas.procedures import DEFAULT

CONTENT_TYPE: Final = "Content-Type"
"""The header by which a batch is known."""
MOST: Final = 16
"""Events in a batch for a stream: autoscalers count messages, and one is not to hide too much."""
OCTETS: Final = 1 << 16
"""Octets of data in a batch; an event that has more of its own goes alone."""

_HEADERS: Final = {CONTENT_TYPE: BATCH_MEDIA_TYPE}


class Outgoing(NamedTuple):
    """One message for a stream."""

    subject: str
    data: bytes
    headers: dict[str, str]


class Addressed(NamedTuple):
    """An event, and the subject that it goes to."""

    subject: str
    event: CloudEvent
    counted: str = ""
    """The NAS COUNTs in a downlink message, as `binding.COUNTED` has them; empty for none."""
    repeated: bool = False
    """Whether it was published before, perhaps in vain."""

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
    """An event for an aggregate, which must have its slot; `repeated` tells that the receiver may
    have had the event before."""
    slot = event.slot or 0
    partition = partition_of(slot, partitions)
    subject = subjects.event(partition, event.procedure or DEFAULT, slot)
    return Addressed(subject, event, repeated=repeated)


def outgoing(event: CloudEvent, partitions: int, *, repeated: bool = False) -> Outgoing:
    """The message of an event for an aggregate: see `addressed`."""
    return addressed(event, partitions, repeated=repeated).outgoing


def gathered(
    messages: Iterable[Addressed],
    together: Callable[[str], str] = subjects.consumer_of,
    most: int = MOST,
) -> list[Outgoing]:
    """Events as messages, as few as may be; those for one subject stay in their order, and so do
    those of one key.

    Args:
        messages: the events.
        together: of a subject, what those have in common whose events may share a message, which
            goes to the subject of the first of them. Without it, those of one consumer.
        most: how many events may share one.
    """
    found: list[list[Addressed]] = []
    octets: list[int] = []
    latest: dict[str, int] = {}
    """The last message of those that belong together."""
    last: dict[str, int] = {}
    """The message that has the last event of a key."""
    for message in messages:
        together_by, key = together(message.subject), message.event.partitionkey
        size, at = len(message.event.data), latest.get(together_by, -1)
        if at < last.get(key, 0) or len(found[at]) >= most or octets[at] + size > OCTETS:
            at = latest[together_by] = len(found)
            found.append([])
            octets.append(0)
        last[key] = at
        found[at].append(message)
        octets[at] += size
    return [_one(some) for some in found]


def _one(some: list[Addressed]) -> Outgoing:
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
    )


def is_batch(headers: dict[str, str] | None) -> bool:
    """Whether a message has several events, by its headers."""
    return headers is not None and headers.get(CONTENT_TYPE) == BATCH_MEDIA_TYPE


def opened(data: bytes) -> list[BatchedEvent]:
    """The events of a batch.

    Raises:
        BadEventError: it is none, or one of its events is none of evcore's.
    """
    try:
        return batch.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise BadEventError(f"not a batch of events: {err}") from None


def events_of(headers: dict[str, str] | None, data: bytes) -> list[CloudEvent]:
    """The events of a message: one in binary mode, or those of a batch.

    Raises:
        BadEventError: it has none, or what is none of evcore's.
    """
    if is_batch(headers):
        return [entry.event for entry in opened(data)]
    return [nats_binding.from_message(headers, data)]


def schedule(event: CloudEvent, name: str, at: int, partitions: int) -> Outgoing:
    """The message that makes JetStream deliver `event` at a time.

    `at` is in milliseconds since the Unix epoch. `name` is that of an aggregate or of what many
    share; the message takes the place of a pending one of the same name.
    """
    slot = event.slot or 0
    partition = partition_of(slot, partitions)
    when = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    headers = nats_binding.to_headers(event)
    headers["Nats-Schedule"] = f"@at {when.removesuffix('+00:00')}Z"
    headers["Nats-Schedule-Target"] = subjects.event(partition, event.procedure or "", slot)
    return Outgoing(subjects.timer(partition, slot, name), event.data, headers)
