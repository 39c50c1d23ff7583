"""Shared wake-ups: scheduled once, and sent to each UE, RAN node or UPF when they are due.

Index entries list the aggregates of a wake-up (`schemas.ue.waking`). They are appended with the
step that started the timer. So one scheduled message in JetStream serves all aggregates of a
partition whose timers of one procedure expire together.
"""

import math
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import DecodeError, msgpack
from msgspec.structs import replace

from eventing import subjects
from eventing.jetstream import messages as timers
from eventing.jetstream.messages import Outgoing
from functions.runtime.fan_out import Recipients
from schemas.aggregates import UNIDENTIFIED, slot_of_aggregate
from schemas.cloudevents import MSGPACK_MEDIA_TYPE, CloudEvent, EventType, TimersDue
from schemas.identity import partition_of, slot_of_amf_ue_ngap_id
from schemas.procedures import Procedure
from schemas.step import encode
from schemas.ue.waking import WAKE, shared_by, wake_prefix

AHEAD: Final = 2.0
"""A wake-up is always scheduled again within this time before it is due, in seconds: JetStream may
have sent it already, by its host's clock, without the entries that were written since."""
AWAY: Final = 1.0
"""Seconds after its time at which JetStream stores a wake-up that was due while no broker could."""
GRACE: Final = 2.5
"""Seconds for which such a wake-up then waits. Gateways keep what comes while JetStream is away,
and publish it soon after, at the latest when an attempt has failed and the next one begins
(`ACK_TIMEOUT` and `LONGEST_PAUSE` in `eventing.jetstream.publisher`): the answer that stops the
timer may be among it."""
REMEMBERED: Final = 4096
"""Maximum number of wake-ups that are known to be in JetStream."""
TRUST: Final = 60.0
"""Seconds before a known wake-up is scheduled again, in case JetStream has lost it."""


class SharedWake(NamedTuple):
    """A wake-up that the aggregates of a partition share."""

    at: int
    """Milliseconds since the Unix epoch."""
    procedure: str
    partition: int

    def message(self, identifier: str, source: str, partitions: int) -> Outgoing:
        """Return the message that schedules it, as an event of this id. It replaces a pending one.

        If its time has passed, JetStream delivers the event at once.
        """
        name = f"wakes-{self.procedure}-{self.at}"
        event = CloudEvent(
            id=identifier,
            source=source,
            type=EventType.TIMERS_DUE,
            partitionkey=name,
            data=encode(TimersDue(self.at)),
            datacontenttype=MSGPACK_MEDIA_TYPE,
            procedure=self.procedure,
            slot=self.partition,  # any slot of the partition
        )
        return timers.schedule(event, name, self.at, partitions)


def shared_wake(key: str, aggregate: str, partitions: int) -> SharedWake:
    """Return the wake-up of an index entry."""
    at, procedure = shared_by(key)
    return SharedWake(at, procedure, partition_of(_slot_of(key, aggregate), partitions))


def _slot_of(key: str, aggregate: str) -> int:
    """Return the slot of an aggregate, of which `key` ends with the identity."""
    if not aggregate.startswith(UNIDENTIFIED):
        return slot_of_aggregate(aggregate, 0)
    return slot_of_amf_ue_ngap_id(int(key.rpartition("-")[2], 16))


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
        wake = shared_wake(key, aggregate, self._partitions)
        name = f"wakes-{wake.procedure}-{wake.at}"
        subject = subjects.timer(wake.partition, wake.partition, name)
        known = self._known.get(subject, 0.0) > time.monotonic()
        if known and wake.at > (time.time() + AHEAD) * 1000:
            return None
        return wake.message(identifier, f"/{aggregate}", self._partitions)

    def stored(self, messages: Sequence[Outgoing]) -> None:
        """Record that JetStream has these messages. Other messages than wake-ups are ignored."""
        for message in messages:
            if message.headers["ce-type"] == EventType.TIMERS_DUE:
                if len(self._known) >= REMEMBERED:
                    del self._known[next(iter(self._known))]
                self._known[message.subject] = time.monotonic() + TRUST


def recipients_of(event: CloudEvent, partitions: int) -> Recipients:
    """Return the aggregates that share the wake-up of a TIMERS_DUE. Each gets a TIMER.

    An aggregate with another wake-up has another entry.
    """
    due = msgpack.decode(event.data, type=TimersDue)
    at, base = due.at, due.first or event.id
    partition = partition_of(event.slot or 0, partitions)
    procedure = event.procedure or ""

    def wake_up_of(identity: str, owner: str) -> CloudEvent | None:
        slot = _slot_of(identity, owner)
        if partition_of(slot, partitions) != partition:
            return None
        return wake_up(f"{base}/{owner}", event.source, owner, procedure, slot)

    return Recipients(WAKE, wake_prefix(at, procedure), wake_up_of)


def next_page(event: CloudEvent, after: str, *, in_turn: bool = False) -> CloudEvent:
    """Return the TIMERS_DUE for the page of UEs after an index key."""
    due = msgpack.decode(event.data, type=TimersDue)
    first = due.first or event.id
    data = encode(TimersDue(due.at, first, after, in_turn))
    identifier = f"{first}/page/{after}{'/turn' * in_turn}"
    return replace(event, id=identifier, data=data, position=None)


def wake_up(
    identifier: str, source: str, aggregate: str, procedure: str, slot: int, at: int | None = None
) -> CloudEvent:
    """Return the wake-up of one aggregate. One that is not shared has its time `at`."""
    return CloudEvent(
        id=identifier,
        source=source,
        type=EventType.TIMER,
        partitionkey=aggregate,
        data=b"" if at is None else encode(TimersDue(at)),
        datacontenttype=None if at is None else MSGPACK_MEDIA_TYPE,
        procedure=procedure,
        slot=slot,
    )


def postponed(event: CloudEvent, now: int, quiet: float = math.inf) -> float:
    """Return the seconds that a wake-up waits, because JetStream was away when it was due, or a
    moment before.

    `now` is in milliseconds since the Unix epoch, `quiet` has the seconds since JetStream was last
    known to be away. 0 for any other event, and for timers of sessions: they only repeat requests,
    and a path switch waits for the answer of the UPF.
    """
    if event.position is None or not event.data or event.procedure == Procedure.SESSION:
        return 0.0
    if event.type not in (EventType.TIMERS_DUE, EventType.TIMER):
        return 0.0
    try:
        due, stored = msgpack.decode(event.data, type=TimersDue), event.position.stored
    except DecodeError:
        return 0.0  # no wake-up of evcore
    if due.first:  # a later page
        return 0.0
    if stored - due.at < AWAY * 1000:  # in time
        return max(0.0, GRACE - quiet)
    return min(GRACE, max(0.0, GRACE - (now - stored) / 1000))
