"""Wake-ups that UEs share: asked for once, and told to each UE when they come.

An index entry, appended with the step that started the timer, says whose wake-up it is
(`schemas.ue.waking`). So one scheduled message of JetStream serves all UEs of a partition whose timers
of one procedure end together, however many they are.
"""

import time
from collections.abc import Sequence
from typing import Final

from msgspec import msgpack

from eventing import subjects
from eventing.jetstream import messages as timers
from eventing.jetstream.messages import Outgoing
from functions.runtime.fan_out import Audience
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import MSGPACK_MEDIA_TYPE, CloudEvent, EventType, TimersDue
from schemas.identity import partition_of
from schemas.step import encode
from schemas.ue.waking import WAKE, shared_by, wake_prefix

AHEAD: Final = 2.0
"""Seconds before its time from which a wake-up is asked for again each time: it may have come
already, by the clock of JetStream's host, and have missed an entry that was written since."""
REMEMBERED: Final = 4096
"""Wake-ups known to be in JetStream, at most."""
TRUST: Final = 60.0
"""Seconds for which they are: then they are asked for again, whatever has become of JetStream."""


class SharedWakes:
    """Asks for shared wake-ups, each as rarely as is safe."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._kept: dict[str, float] = {}
        """The subjects of those that JetStream has, and until when that is believed."""

    def ask(self, identifier: str, aggregate: str, key: str) -> Outgoing | None:
        """The message that asks for the wake-up of an index entry, which is in the store by now;
        None where JetStream has it already."""
        at, procedure = shared_by(key)
        partition = partition_of(slot_of_aggregate(aggregate, 0), self._partitions)
        name = f"wakes-{procedure}-{at}"
        subject = subjects.timer(partition, partition, name)
        believed = self._kept.get(subject, 0.0) > time.monotonic()
        if believed and at > (time.time() + AHEAD) * 1000:
            return None
        event = CloudEvent(
            id=identifier,
            source=f"/{aggregate}",
            type=EventType.TIMERS_DUE,
            partitionkey=name,
            data=encode(TimersDue(at)),
            datacontenttype=MSGPACK_MEDIA_TYPE,
            procedure=procedure,
            slot=partition,  # as good as any other slot of that partition
        )
        return timers.schedule(event, name, at, self._partitions)

    def kept(self, messages: Sequence[Outgoing]) -> None:
        """JetStream has these messages, whatever they are."""
        for message in messages:
            if message.headers["ce-type"] == EventType.TIMERS_DUE:
                if len(self._kept) >= REMEMBERED:
                    del self._kept[next(iter(self._kept))]
                self._kept[message.subject] = time.monotonic() + TRUST


def audience_of(event: CloudEvent, partitions: int) -> Audience:
    """Who shares the wake-up of a TIMERS_DUE: each gets a TIMER.

    A UE that has another wake-up by now has another entry.
    """
    at = msgpack.decode(event.data, type=TimersDue).at
    partition = partition_of(event.slot or 0, partitions)
    procedure = event.procedure or ""

    def woken(_: str, owner: str) -> CloudEvent | None:
        slot = slot_of_aggregate(owner, 0)
        if partition_of(slot, partitions) != partition:
            return None
        return wake_up(f"{event.id}/{owner}", event.source, owner, procedure, slot)

    return Audience(WAKE, wake_prefix(at, procedure), woken)


def wake_up(identifier: str, source: str, aggregate: str, procedure: str, slot: int) -> CloudEvent:
    """The wake-up of one aggregate."""
    return CloudEvent(
        id=identifier,
        source=source,
        type=EventType.TIMER,
        partitionkey=aggregate,
        procedure=procedure,
        slot=slot,
    )
