"""Which events of a slot stand in the stream before another event.

The stream is a work queue: it has exactly the events that are not processed, in every procedure's
consumer. So an event is the first of its UE if the stream has no earlier event of the UE's slot.
A worker asks only for events that may be early (`functions.runtime.turn`).

There is one exception. JetStream removes a message when its consumer has the acknowledgement, and
writes the two to different files. If it dies in between, its stream has a message again that its
consumer never delivers. After SIGKILL this can be thousands of messages. The events of such a
message are published again here, and it is removed.
"""

import asyncio
import base64
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from random import sample
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace
from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.connection import BusError
from eventing.jetstream.messages import Outgoing, addressed, events_of
from eventing.jetstream.nats_internals import HEADER_VERSION, parse_headers
from eventing.jetstream.streams import (
    consumer_info,
    publish_once,
    remove_message,
    stored_message,
)
from eventing.process import is_logged
from schemas.cloudevents import CloudEvent
from schemas.identity import partition_of
from schemas.position import Position

log = logging.getLogger(__name__)

MOST_READ: Final = 64
"""Messages of a partition that one check reads. The rest is read by later checks."""
MOST_KNOWN: Final = 8192
"""Messages of a partition whose contents are remembered."""
PATIENCE: Final = 1.0
"""Seconds for which a message must stand before others, until its consumer is asked whether it has
the acknowledgement, and seconds between two questions to a consumer."""
FORGETFUL: Final = 10.0
"""Seconds for which consumers are asked without patience after JetStream had an acknowledged
message again. There may be thousands of them, and a UE cannot wait for each."""
STUCK: Final = 10.0
"""Seconds after which a message that is a publication again counts as acknowledged in any case: the
event that waits for it may hold the ack floor of their consumer below it."""
AT_ONCE: Final = 32
"""Maximum number of questions to JetStream without an answer."""
TIMEOUT: Final = 2.0
"""Seconds to wait for an answer of JetStream."""


class Waiting(Struct, frozen=True):
    """An event that may be early."""

    position: Position
    slots: frozenset[int]
    """The slots with events of its UE: the UE's own, and those of its connections."""
    own: int
    """The UE's own slot. Events of a connection move from the connection's slot to this one."""


class _Contents(Struct, frozen=True):
    """What is known about a message."""

    consumer: str
    """Empty if no consumer takes it."""
    slots: dict[int, Position]
    """The slots of its events, each with its first position."""


class _Seen(Struct):
    """What is known about the messages of a partition."""

    contents: dict[int, _Contents] = field(default_factory=dict[int, _Contents])
    """By stream sequence, in order."""
    upto: int = 0
    """All messages below this sequence are known, or were removed from the stream."""


class EarlierEvents:
    """Asks the stream for the events before an event."""

    def __init__(self, client: Client, partitions: int) -> None:
        self._client = client
        self._partitions = partitions
        self._seen: dict[int, _Seen] = {}
        self._since: dict[int, float] = {}
        """By stream sequence, the monotonic time since which a message stands before others."""
        self._forgetful = float("-inf")
        """The monotonic time until which JetStream counts as forgetful."""
        self._floors: dict[str, tuple[float, int]] = {}
        """By consumer, the monotonic time of the last question, and its answer: the sequence up to
        which it has all acknowledgements."""
        self._removed = 0
        """Messages that were published again and removed."""
        self._asking = asyncio.Semaphore(AT_ONCE)
        self._reconnects = 0
        """Reconnections of the client when `_seen` was read."""

    async def none_earlier(self, waiting: Sequence[Waiting]) -> list[bool]:
        """Return for each event whether the stream has no earlier event of its slots.

        An answer of False may be too cautious: if JetStream does not answer, or if more messages
        stand before the event than one check reads.
        """
        by_partition: dict[int, list[int]] = {}
        for index, one in enumerate(waiting):
            for partition in {partition_of(slot, self._partitions) for slot in one.slots}:
                by_partition.setdefault(partition, []).append(index)
        if self._client.stats["reconnects"] != self._reconnects:
            # The broker may have made its stream again, or lost its last messages.
            self._reconnects = self._client.stats["reconnects"]
            self._seen.clear()
            self._since.clear()
            self._floors.clear()
        for partition in self._seen.keys() - by_partition.keys():
            del self._seen[partition]
        try:
            found = await asyncio.gather(
                *(
                    self._blocked(partition, {index: waiting[index] for index in indexes})
                    for partition, indexes in by_partition.items()
                )
            )
            blocked = set[int]().union(*found)
            await self._republished(waiting, blocked)
        except (BusError, ValueError) as err:
            log.info("the events cannot be read: %s", err)
            return [False for _ in waiting]
        return [index not in blocked for index in range(len(waiting))]

    async def _republished(self, waiting: Sequence[Waiting], blocked: set[int]) -> None:
        """Add the events with an earlier event that is published again.

        It is published again before the first message is acknowledged. So this comes after the
        first messages of all partitions, and the slot that events move to comes last.
        """
        for own in (False, True):
            of_slot: dict[int, list[int]] = {}
            for index, one in enumerate(waiting):
                for slot in {one.own} if own else one.slots - {one.own}:
                    if index not in blocked:
                        of_slot.setdefault(slot, []).append(index)
            found = await asyncio.gather(
                *(
                    self._of_slot(slot, {index: waiting[index] for index in indexes})
                    for slot, indexes in of_slot.items()
                )
            )
            blocked |= set[int]().union(*found)

    async def _blocked(self, partition: int, asked: dict[int, Waiting]) -> set[int]:
        """Return the indexes of the events with an earlier first message in a partition."""
        seen = self._seen.setdefault(partition, _Seen())
        until = max(one.position.sequence for one in asked.values())
        known_until = await self._read_until(partition, seen, until)
        # Not all messages before the others are read yet.
        blocked = {i for i, one in asked.items() if one.position.sequence > known_until}
        of_slot = _by_slot(seen.contents, {slot for one in asked.values() for slot in one.slots})
        checks: dict[int, asyncio.Task[bool]] = {}
        """By stream sequence, whether the message stands there: one question for all."""

        async def check(index: int, one: Waiting) -> None:
            for sequence in _earlier(of_slot, one):
                if sequence not in checks:
                    checks[sequence] = asyncio.ensure_future(self._stands(sequence))
                if await checks[sequence]:
                    blocked.add(index)
                    return

        try:
            await asyncio.gather(*(check(i, one) for i, one in asked.items() if i not in blocked))
        finally:
            for task in checks.values():
                task.cancel()
        for sequence, stands in checks.items():
            if not stands.result():
                seen.contents.pop(sequence, None)
        await self._remove_acknowledged(seen)
        return blocked

    async def _remove_acknowledged(self, seen: _Seen) -> None:
        """Remove up to `MOST_READ` acknowledged messages that JetStream has again, also if no event
        waits for them: they take room, and each would stop an event later."""
        if time.monotonic() >= self._forgetful:
            return
        known = [
            sequence
            for sequence, one in seen.contents.items()
            if one.slots and sequence <= self._floors.get(one.consumer, (0.0, 0))[1]
        ]
        with suppress(BusError):
            # In random order, because other processes remove them too.
            for sequence in sample(known, min(len(known), MOST_READ)):
                if await self._stands(sequence):
                    return
                seen.contents.pop(sequence, None)

    async def _stands(self, sequence: int) -> bool:
        """Whether the stream has a message, and its consumer may deliver it."""
        found = await self._get({"seq": sequence})
        return found is not None and not await self._is_acknowledged(found)

    async def _read_until(self, partition: int, seen: _Seen, until: int) -> int:
        """Read the contents of the messages of a partition below the sequence `until`.

        Return the sequence below which all of them are known.
        """
        everything = subjects.events_in(partition)
        found = await self._get({"seq": 0, "next_by_subj": everything})
        oldest = until if found is None else found["seq"]
        for sequence in [known for known in seen.contents if known < oldest]:
            del seen.contents[sequence]
        if len(seen.contents) >= MOST_KNOWN:
            # Many of them are removed from the stream since.
            seen.contents.clear()
            seen.upto = 0
        if found is not None and oldest < seen.upto:
            found = await self._get({"seq": seen.upto, "next_by_subj": everything})
        for _ in range(MOST_READ):
            if found is None or found["seq"] >= until:
                return until
            seen.contents[found["seq"]] = _contents(found)
            seen.upto = found["seq"] + 1
            found = await self._get({"seq": seen.upto, "next_by_subj": everything})
        return seen.upto

    async def _of_slot(self, slot: int, asked: dict[int, Waiting]) -> set[int]:
        """Return the indexes of the events for which an earlier event of a slot is published
        again."""
        sequence, partition = 0, partition_of(slot, self._partitions)
        blocked: set[int] = set()
        while asked.keys() - blocked:
            body = {"seq": sequence, "next_by_subj": subjects.republished_in(partition, slot)}
            found = await self._get(body)
            if found is None:
                break
            contents = _contents(found)
            behind = {i for i, one in asked.items() if _has_earlier(contents, one)}
            if behind - blocked:
                await self._is_acknowledged(found)  # if so, its events are published again
                blocked |= behind
            sequence = found["seq"] + 1
        return blocked

    async def _is_acknowledged(self, found: dict[str, Any]) -> bool:
        """Whether the consumer of a message that stands before others has its acknowledgement. If
        so, its events are published again, and it is removed.

        It is safe if the consumer has not: an event that is processed twice has no effect.
        """
        sequence, now = found["seq"], time.monotonic()
        if len(self._since) >= MOST_KNOWN:
            self._since.clear()
        stood = now - self._since.setdefault(sequence, now)
        if stood < PATIENCE and now >= self._forgetful:
            return False
        consumer = subjects.consumer_name(found["subject"])
        stuck = stood >= STUCK and subjects.is_republished(found["subject"])
        try:
            if not stuck:
                if sequence > await self._floor(consumer):
                    return False
                if await self._get({"seq": sequence}) is None:
                    return True  # acknowledged and removed meanwhile
                self._forgetful = now + FORGETFUL
            for message in _again(found, self._partitions):
                await publish_once(self._client, message, TIMEOUT)
            await remove_message(self._client, sequence, TIMEOUT)
        except BusError as err:
            log.info("message %d of %s stays: %s", sequence, consumer, err)
            return False
        self._since.pop(sequence, None)
        self._removed += 1
        if is_logged(self._removed):
            text = "message %d of %s is acknowledged: published again (%d so far)"
            log.warning(text, sequence, consumer, self._removed)
        return True

    async def _floor(self, consumer: str) -> int:
        """Return the sequence up to which a consumer has all acknowledgements, as of the last
        question.

        Raises:
            BusError: JetStream does not answer.
        """
        now = time.monotonic()
        asked_at, floor = self._floors.get(consumer, (-PATIENCE, 0))
        if now - asked_at >= PATIENCE:
            self._floors[consumer] = now, floor  # others do not ask meanwhile
            info = await consumer_info(self._client, consumer, TIMEOUT)
            floor = info["ack_floor"]["stream_seq"]
            self._floors[consumer] = now, floor
        return floor

    async def _get(self, which: dict[str, Any]) -> dict[str, Any] | None:
        async with self._asking:
            return await stored_message(self._client, which, TIMEOUT)


def _by_slot(known: dict[int, _Contents], slots: set[int]) -> dict[int, list[tuple[int, Position]]]:
    """Return the messages with events of some slots, as stream sequences and first positions."""
    found: dict[int, list[tuple[int, Position]]] = {}
    for sequence, contents in known.items():
        for slot in slots & contents.slots.keys():
            found.setdefault(slot, []).append((sequence, contents.slots[slot]))
    return found


def _earlier(of_slot: dict[int, list[tuple[int, Position]]], one: Waiting) -> list[int]:
    """Return the stream sequences of the messages with earlier events of an event's slots."""
    return sorted(
        sequence
        for slot in one.slots
        for sequence, position in of_slot.get(slot, ())
        if sequence < one.position.sequence and position.precedes(one.position)
    )


def _has_earlier(contents: _Contents, one: Waiting) -> bool:
    return any(
        slot in one.slots and position.precedes(one.position)
        for slot, position in contents.slots.items()
    )


def _contents(found: dict[str, Any]) -> _Contents:
    """Return the consumer of a message, and the slots of its events with the earliest position of
    each."""
    slots: dict[int, Position] = {}
    for event in _events(found):
        slot, position = event.slot, event.position
        if slot is None or position is None:
            continue
        if slot not in slots or position.precedes(slots[slot]):
            slots[slot] = position
    try:
        consumer = subjects.consumer_name(found["subject"])
    except ValueError:
        consumer = ""
    return _Contents(consumer, slots)


def _again(found: dict[str, Any], partitions: int) -> list[Outgoing]:
    """Return the events of a message as messages of their own, with their positions."""
    return [addressed(event, partitions, repeated=True).outgoing for event in _events(found)]


def _events(found: dict[str, Any]) -> list[CloudEvent]:
    """Return the events of a message, with slot, procedure and position."""
    lines = base64.b64decode(found.get("hdrs", ""))
    headers = parse_headers(lines.removeprefix(HEADER_VERSION))
    stored = int(datetime.fromisoformat(found["time"]).timestamp() * 1000)
    subject: str = found["subject"]
    try:
        return [
            replace(
                event,
                slot=subjects.slot_of_subject(subject) if event.slot is None else event.slot,
                procedure=event.procedure or subject.split(".")[2],
                position=event.position or Position(found["seq"], index, stored),
            )
            for index, event in enumerate(
                events_of(headers, base64.b64decode(found.get("data", "")))
            )
        ]
    except ValueError:
        return []  # no event of evcore: its worker refuses it
