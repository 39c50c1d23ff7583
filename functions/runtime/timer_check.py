"""Wake-ups made again from the log: JetStream may have lost them, with its disk or before a backup.

The index `wake` has an entry for every aggregate with a running timer, so it says which messages
JetStream must have. A mark in the stream says that it has had them all. A stream without the mark
gets every message of the index, which replaces any that is there. And now and then the entries are
checked that are overdue: if nothing waits for their consumer, their wake-up is lost, and they are
woken at once.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.connection import BusError, request
from eventing.jetstream.messages import Outgoing
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import consumer_info, stored_message
from functions.runtime.fan_out import SCHEDULED
from functions.runtime.wakes import SharedWake, shared_wake
from schemas.ue.waking import WAKE, shared_by
from statestore.contract import Engine, StoreError

log = logging.getLogger(__name__)

PERIOD: Final = 60.0
"""Seconds between two checks."""
LATE: Final = 10.0
"""Seconds after its time that the wake-up of an entry is overdue."""
PAGE: Final = 200
"""Entries read at a time."""
MOST: Final = 1024
"""Maximum number of wake-ups that one check makes. The next check makes more."""
SLOWEST: Final = 64
"""Maximum number of checks between two wake-ups for the same entries: a timer whose event cannot be
decided stays overdue."""


async def wake_ups(engine: Engine, partitions: int) -> AsyncIterator[list[tuple[SharedWake, str]]]:
    """Yield the wake-ups of the index in the order of time, page by page, each with one owner."""
    after = ""
    before: set[SharedWake] = set()
    """The wake-ups of the last page that the next page may continue."""
    while page := await engine.scan(WAKE, "", after, PAGE):
        after = page[-1][0]
        found = {shared_wake(key, owner, partitions): owner for key, owner in page}
        yield [(wake, owner) for wake, owner in found.items() if wake not in before]
        before = {wake for wake in before.union(found) if wake.at == shared_by(after)[0]}
        await asyncio.sleep(0)  # an engine may read without yielding to other tasks


async def schedule_all(engine: Engine, publisher: Publisher) -> int:
    """Give JetStream the message of every wake-up in the index, and return their number.

    Raises:
        StoreError: the index cannot be read.
    """
    count = 0
    async for page in wake_ups(engine, publisher.partitions):
        await publisher.publish(messages(page, publisher.partitions))
        count += len(page)
    return count


def messages(some: Sequence[tuple[SharedWake, str]], partitions: int) -> list[Outgoing]:
    """Return the messages of wake-ups, each with an owner. Each call makes other events: one that
    was processed before would have no effect."""
    call = os.urandom(4).hex()
    return [
        wake.message(f"wakes-{call}-{number}", f"/{owner}", partitions)
        for number, (wake, owner) in enumerate(some)
    ]


async def make_again(client: Client, engine: Engine, publisher: Publisher) -> int:
    """Give JetStream every wake-up of the index, and mark the stream. Return their number.

    Raises:
        StoreError: the index cannot be read.
        BusError: JetStream does not answer.
    """
    count = await schedule_all(engine, publisher)
    if not await is_marked(client):
        await publisher.publish([Outgoing(subjects.TIMERS_MADE, b"", {})])
    return count


async def is_marked(client: Client) -> bool:
    """Return whether the stream has had all wake-ups of the log.

    Raises:
        BusError: JetStream does not answer, or there is no stream.
    """
    return await stored_message(client, {"last_by_subj": subjects.TIMERS_MADE}) is not None


class TimerCheck:
    """Checks the wake-ups of a process, when it starts and then every `PERIOD`."""

    def __init__(
        self,
        client: Client,
        engine: Engine,
        publisher: Publisher,
        is_mine: Callable[[str], bool],
    ) -> None:
        """`is_mine` tells whether this process has the events of a consumer."""
        self._client = client
        self._engine = engine
        self._publisher = publisher
        self._is_mine = is_mine
        self._woken: dict[SharedWake, tuple[int, int]] = {}
        """By overdue wake-up, how often it was made, and the checks until it may be made again."""

    async def run(self) -> None:
        """Check, until cancelled."""
        while True:
            try:
                await self.check(time.time())
            except (StoreError, BusError) as err:
                log.warning("the timers cannot be checked: %s", err)
            except Exception:  # the checks must not end with one that fails
                log.exception("the timers cannot be checked")
            await asyncio.sleep(PERIOD)

    async def check(self, now: float) -> int:
        """Make the lost wake-ups again, and return their number. `now` is in seconds since 1970.

        Raises:
            StoreError: the index cannot be read.
            BusError: JetStream does not answer.
        """
        if not await is_marked(self._client):
            count = await make_again(self._client, self._engine, self._publisher)
            if count:
                log.warning("JetStream has lost its timers: %d wake-ups are made again", count)
            return count
        overdue = await self._overdue(int((now - LATE) * 1000))
        due = [wake for wake in overdue if self._is_due_again(wake)]
        queues = {(wake.partition, wake.procedure) for wake in due}
        idle = {queue for queue in queues if await self._is_idle(*queue)}
        lost = [(w, overdue[w]) for w in due if (w.partition, w.procedure) in idle]
        if lost:
            log.warning("%d wake-ups were lost and are made again", len(lost))
            await self._publisher.publish(messages(lost, self._publisher.partitions))
        made = {wake for wake, _ in lost}
        self._woken = {wake: self._next(wake, made=wake in made) for wake in overdue}
        return len(lost)

    async def _overdue(self, until: int) -> dict[SharedWake, str]:
        """Return wake-ups of this process that were due before a time in milliseconds, each with an
        owner: at most `MOST`, the oldest ones."""
        found: dict[SharedWake, str] = {}
        after = ""
        while page := await self._engine.scan(WAKE, "", after, PAGE):
            after = page[-1][0]
            for key, owner in page:
                if shared_by(key)[0] > until or len(found) >= MOST:
                    return found
                wake = shared_wake(key, owner, self._publisher.partitions)
                if self._is_mine(subjects.consumer(wake.partition, wake.procedure)):
                    found.setdefault(wake, owner)
            await asyncio.sleep(0)
        return found

    def _is_due_again(self, wake: SharedWake) -> bool:
        return self._woken.get(wake, (0, 0))[1] == 0

    def _next(self, wake: SharedWake, *, made: bool) -> tuple[int, int]:
        times, wait = self._woken.get(wake, (0, 0))
        if made:
            return times + 1, min(2**times, SLOWEST) - 1
        return times, max(0, wait - 1)

    async def _is_idle(self, partition: int, procedure: str) -> bool:
        """Return whether no event waits for a consumer, and no page of a wake-up of the partition
        waits for its turn. Otherwise the wake-ups are late, not lost."""
        consumer = subjects.consumer(partition, procedure)
        try:
            info = await consumer_info(self._client, consumer)
            pages = {"subjects_filter": subjects.timers_in(partition)}
            stream = await request(self._client, f"STREAM.INFO.{subjects.STREAM}", pages)
        except BusError as err:
            log.warning("the timers of %s are not checked: %s", consumer, err)
            return False
        scheduled: dict[str, int] = stream["state"].get("subjects") or {}
        paged = any(subject.rpartition(".")[2].startswith(SCHEDULED) for subject in scheduled)
        return info["num_pending"] == 0 and info["num_ack_pending"] == 0 and not paged
