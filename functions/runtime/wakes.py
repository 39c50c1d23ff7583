"""Shared wake-ups: scheduled once, and sent to each UE when they are due.

Index entries list the UEs of a wake-up (`schemas.ue.waking`). They are appended with the step that
started the timer. So one scheduled message in JetStream serves all UEs of a partition whose timers
of one procedure expire together.
"""

import time
from collections.abc import Sequence
from typing import Final

from msgspec import msgpack

from eventing import subjects
from eventing.jetstream import messages as timers
from eventing.jetstream.messages import Outgoing
from functions.runtime.fan_out import Recipients
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import MSGPACK_MEDIA_TYPE, CloudEvent, EventType, TimersDue
from schemas.identity import partition_of
from schemas.step import encode
from schemas.ue.waking import WAKE, shared_by, wake_prefix

AHEAD: Final = 2.0
"""A wake-up is always scheduled again within this time before it is due, in seconds: JetStream may
have sent it already, by its host's clock, without the entries that were written since."""
REMEMBERED: Final = 4096
"""Maximum number of wake-ups that are known to be in JetStream."""
TRUST: Final = 60.0
"""Seconds before a known wake-up is scheduled again, in case JetStream has lost it."""


class SharedWakes:
    """Schedules shared wake-ups, each as rarely as is safe."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._known: dict[str, float] = {}
        """The subjects of known wake-ups, with the time until which they are not scheduled
        again."""

    def schedule(self, identifier: str, aggregate: str, key: str) -> Outgoing | None:
        """Return the message that schedules the wake-up of a stored index entry; None if JetStream
        has it."""
        at, procedure = shared_by(key)
        partition = partition_of(slot_of_aggregate(aggregate, 0), self._partitions)
        name = f"wakes-{procedure}-{at}"
        subject = subjects.timer(partition, partition, name)
        known = self._known.get(subject, 0.0) > time.monotonic()
        if known and at > (time.time() + AHEAD) * 1000:
            return None
        event = CloudEvent(
            id=identifier,
            source=f"/{aggregate}",
            type=EventType.TIMERS_DUE,
            partitionkey=name,
            data=encode(TimersDue(at)),
            datacontenttype=MSGPACK_MEDIA_TYPE,
            procedure=procedure,
            slot=partition,  # any slot of the partition
        )
        return timers.schedule(event, name, at, self._partitions)

    def stored(self, messages: Sequence[Outgoing]) -> None:
        """Record that JetStream has these messages. Other messages than wake-ups are ignored."""
        for message in messages:
            if message.headers["ce-type"] == EventType.TIMERS_DUE:
                if len(self._known) >= REMEMBERED:
                    del self._known[next(iter(self._known))]
                self._known[message.subject] = time.monotonic() + TRUST


def recipients_of(event: CloudEvent, partitions: int) -> Recipients:
    """Return the UEs that share the wake-up of a TIMERS_DUE. Each gets a TIMER.

    A UE with another wake-up has another entry.
    """
    at = msgpack.decode(event.data, type=TimersDue).at
    partition = partition_of(event.slot or 0, partitions)
    procedure = event.procedure or ""

    def wake_up_of(_: str, owner: str) -> CloudEvent | None:
        slot = slot_of_aggregate(owner, 0)
        if partition_of(slot, partitions) != partition:
            return None
        return wake_up(f"{event.id}/{owner}", event.source, owner, procedure, slot)

    return Recipients(WAKE, wake_prefix(at, procedure), wake_up_of)


def wake_up(identifier: str, source: str, aggregate: str, procedure: str, slot: int) -> CloudEvent:
    """Return the wake-up of one aggregate."""
    return CloudEvent(
        id=identifier,
        source=source,
        type=EventType.TIMER,
        partitionkey=aggregate,
        procedure=procedure,
        slot=slot,
    )
