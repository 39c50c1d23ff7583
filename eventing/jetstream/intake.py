"""The pull side of a worker: events of many consumers, through one inbox, in batches.

Each consumer has one outstanding pull request, which JetStream answers as events arrive; there is
no polling. The next request for a consumer goes out only after the worker has taken the events of
the last one, so the number of waiting events is bounded. Requests that open connections do not
count up to `AHEAD` waiting events: an event of an open connection may stand behind them.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.fair_shares import NO_WEIGHTS
from eventing.jetstream.connection import listen
from eventing.jetstream.deadline_queue import UNLIMITED, DeadlineQueue, opens
from eventing.jetstream.delivery import Delivery, acknowledgement, pending_after, split
from eventing.jetstream.messages import is_batch

log = logging.getLogger(__name__)

PULL: Final = 32
"""Messages in a pull request."""
AHEAD: Final = 1024
"""Waiting events up to which a consumer is pulled although requests of it wait."""
RECESS: Final = 0.005
"""Seconds until the next look if only requests wait and none may begin."""
EXPIRES: Final = 5.0
"""Seconds after which JetStream ends a pull request."""
DRAIN: Final = 1.0
"""Maximum seconds to wait for the last deliveries of an inbox."""

MAX_TURNS: Final = 100
"""Maximum turns of the event loop that `take` waits for deliveries already at this process. Each
turn reads one buffer of nats-py."""
QUIET_TURNS: Final = 3
"""Turns without a delivery after which none is left: a message in several reads takes a few."""

_SECOND: Final = 1_000_000_000


class Backlog(NamedTuple):
    """The events that wait for a worker, also those that JetStream has not delivered."""

    requests: float
    """They open connections."""
    others: float


class _Pull:
    """The state of one consumer's pull requests."""

    __slots__ = ("last", "left", "name", "requested", "until", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.last: Delivery | None = None
        """The last delivery."""
        self.left = 0
        """Messages that JetStream had not delivered then, as of the last `take`."""
        self.requested = 0
        """Messages that the outstanding request may still deliver."""
        self.until = 0.0
        """The loop's time at which the request has certainly ended."""
        self.waiting = 0
        """Events delivered but not taken yet."""


class Intake:
    """Events for a worker. `take` returns them; `ack`, `again` and `in_progress` answer them."""

    def __init__(
        self,
        client: Client,
        deadline: Callable[[Delivery], float] | None = None,
        *,
        reads_all: bool = False,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        """Create an intake that pulls from no consumer.

        Args:
            client: the connection.
            deadline: see `DeadlineQueue`.
            reads_all: whether `take` first reads all deliveries that are at this process. An urgent
                one may be behind others.
            weights: see `DeadlineQueue`.
        """
        self._client = client
        self._reads_all = reads_all
        self._inbox = ""
        self._pulls: dict[str, _Pull] = {}
        self._ready = DeadlineQueue(deadline, weights)
        self._messages = 0
        """Delivered messages; `_events` in them."""
        self._events = 0
        self._left = 0
        """The sum of `left` of all pulls."""
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._subscription: Subscription | None = None
        self._requesting: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen for deliveries. Waiting events stay."""
        self._inbox = self._client.new_inbox()
        self._subscription = await listen(self._client, f"{self._inbox}.*", self._delivered)

    async def stop(self) -> None:
        """Stop to listen. Events that were delivered before this returns can still be taken."""
        self._pulls.clear()
        await self._drain()

    async def _drain(self) -> None:
        """End all outstanding requests, and receive the deliveries on their way."""
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return
        try:
            async with asyncio.timeout(DRAIN):
                await subscription.drain()
        except (TimeoutError, NatsError) as err:
            log.info("the last deliveries did not arrive: %s", err)

    async def consume(self, consumers: Iterable[str]) -> None:
        """Pull from exactly these consumers from now on.

        Events that other consumers delivered already can still be taken. The outstanding requests
        of other consumers end now instead of at their expiry: until then two workers would decide
        their events in turns. JetStream has no command to end a request; it ends one if nothing
        listens to the inbox. So all requests are repeated with a new inbox. An event that JetStream
        sends to the old inbox at that moment (about one event at 5,000 a second) is redelivered
        after its acknowledgement timeout.
        """
        wanted = set(consumers)
        left = self._pulls.keys() - wanted
        for name in left:
            self._left -= self._pulls.pop(name).left
        if left:
            await self._drain()
            for pull in self._pulls.values():
                pull.requested = 0
        if self._subscription is None:
            await self.start()
        held = Counter(delivery.consumer for delivery in self._ready)
        for name in wanted - self._pulls.keys():
            pull = self._pulls[name] = _Pull(name)
            pull.waiting = held[name]  # delivered when this consumer was pulled before
        await self.refresh()

    async def refresh(self, *, reconnected: bool = False) -> None:
        """Repeat every pull request that has ended; after a reconnection, every pull request."""
        now = self._loop.time()
        for pull in list(self._pulls.values()):
            if reconnected or pull.until <= now:
                pull.requested = 0
            if pull.requested == 0 and self._has_room(pull):
                await self._request(pull)

    def _has_room(self, pull: _Pull) -> bool:
        """Whether more events of a consumer may be delivered."""
        if pull.waiting == 0:
            return True
        return pull.waiting == self._ready.opening[pull.name] and len(self._ready) < AHEAD

    async def _request(self, pull: _Pull) -> None:
        body = json.dumps({"batch": PULL, "expires": int(EXPIRES * _SECOND)}).encode()
        pull.requested += PULL
        # Later than the expiry at JetStream, so that a consumer never has two requests.
        pull.until = self._loop.time() + EXPIRES + 1.0
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{subjects.STREAM}.{pull.name}"
        try:
            await self._client.publish(subject, body, f"{self._inbox}.{pull.name}")
        except NatsError as err:
            log.warning("%s: the pull request cannot be sent: %s", pull.name, err)
            pull.requested, pull.until = 0, 0.0

    def _delivered(
        self, subject: str, reply: str, data: bytes, headers: dict[str, str] | None
    ) -> None:
        consumer, deliveries = acknowledgement(reply)
        if not consumer:
            self._status(subject, headers or {})
            return
        pull = self._pulls.get(consumer)
        if pull is not None:
            pull.requested = max(0, pull.requested - 1)
        self._messages += 1
        message = Delivery(subject, data, headers or {}, reply, deliveries, consumer)
        for delivery in split(message) if is_batch(headers) else (message,):
            if pull is not None:
                pull.waiting += 1
                pull.last = delivery
            self._events += 1
            self._ready.append(delivery)
        self._arrived.set()

    def _status(self, subject: str, headers: dict[str, str]) -> None:
        """Handle the end of a pull request: it has expired, or the consumer cannot serve it."""
        pull = self._pulls.get(subject.rpartition(".")[2])
        status = headers.get("Status", "")
        if pull is None or status == "100":
            return
        pull.requested = 0
        if status == "408":
            requesting = self._loop.create_task(self._request_again(pull))
            self._requesting.add(requesting)
            requesting.add_done_callback(self._requesting.discard)
        else:
            # The next `refresh` repeats the request. To repeat it at once could loop for ever.
            log.info("%s: %s", pull.name, headers.get("Description", status))
            pull.until = 0.0

    async def _request_again(self, pull: _Pull) -> None:
        """Repeat an expired request, unless a new one is out or the consumer is not pulled."""
        if self._pulls.get(pull.name) is pull and pull.requested == 0:
            await self._request(pull)

    async def take(
        self,
        limit: int,
        patience: float | None = None,
        excess: int = 0,
        begin: int = UNLIMITED,
    ) -> list[Delivery]:
        """Return up to `limit` events as soon as one is there; none after `patience` seconds, or
        if only requests wait and none may begin.

        For `excess` and `begin` see `DeadlineQueue.take`.
        """
        if not len(self._ready):
            self._arrived.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._arrived.wait()
            except TimeoutError:
                return []
        if self._reads_all:
            await self._read_all()
        taken = self._ready.take(limit, excess, begin)
        if not taken:
            await asyncio.sleep(RECESS)
            return []
        found: dict[str, _Pull] = {}
        for delivery in taken:
            pull = self._pulls.get(delivery.consumer)
            if pull is not None:
                pull.waiting -= 1
                found[pull.name] = pull
        for pull in found.values():
            left = 0 if pull.last is None else pending_after(pull.last.reply)
            self._left += left - pull.left
            pull.left = left
        # If events are left, room for them may be room for those of any other consumer.
        for pull in [*(self._pulls if len(self._ready) else found).values()]:
            if pull.requested <= PULL // 2 and self._has_room(pull):
                await self._request(pull)
        return taken

    def backlog(self) -> Backlog:
        """Return the number of events that the last `take` left. Those at JetStream are estimated:
        they are like those of their consumer that are here, or like the last one."""
        requests = float(self._ready.opening.total())
        others = len(self._ready) - requests
        each = self._events / max(1, self._messages)
        for pull in self._pulls.values() if self._left else ():
            if not pull.left or pull.last is None:
                continue
            here = self._ready.opening[pull.name]
            share = here / pull.waiting if pull.waiting else float(opens(pull.last))
            requests += each * pull.left * share
            others += each * pull.left * (1 - share)
        return Backlog(requests, others)

    def senders(self) -> dict[str, list[float]]:
        """Return the requests that are here by sender (`DeadlineQueue.requests`)."""
        return self._ready.requests()

    async def _read_all(self) -> None:
        """Read all deliveries already at this process: an urgent one may be behind others."""
        count, quiet = len(self._ready), 0
        for _ in range(MAX_TURNS):
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._ready) == count else 0
            count = len(self._ready)
            if quiet == QUIET_TURNS:
                return

    async def keep(self) -> None:
        """Tell JetStream that the waiting events are still in progress."""
        await self.in_progress(*self._ready)

    def wake(self) -> None:
        """End a wait in `take`, with or without an event."""
        self._arrived.set()

    def pulls(self, consumer: str) -> bool:
        """Whether this intake pulls the events of a consumer."""
        return consumer in self._pulls

    @property
    def waiting(self) -> int:
        """Number of events that `take` can return at once."""
        return len(self._ready)

    async def ack(self, delivery: Delivery) -> None:
        """Acknowledge an event that is processed: JetStream removes it."""
        await self._done(delivery, None)

    async def in_progress(self, *deliveries: Delivery) -> None:
        """Restart the acknowledgement timeout of events; once for each batch."""
        for delivery in {delivery.reply: delivery for delivery in deliveries}.values():
            await self._answer(delivery, b"+WPI")

    async def redeliver(self, delivery: Delivery, after: float) -> None:
        """Have an event redelivered after some seconds.

        A batch is redelivered whole, once no event of it is in progress: the receiver recognizes
        the events that it has processed.
        """
        await self._done(delivery, after)

    async def _done(self, delivery: Delivery, after: float | None) -> None:
        progress = delivery.progress
        if progress is not None:
            progress.left.discard(delivery.place)
            if after is not None:
                progress.after = after if progress.after is None else max(progress.after, after)
            if progress.left:
                return
            after = progress.after
        if after is None:
            await self._answer(delivery, b"+ACK")
        else:
            body = json.dumps({"delay": int(after * _SECOND)}).encode()
            await self._answer(delivery, b"-NAK " + body)

    async def _answer(self, delivery: Delivery, words: bytes) -> None:
        """Answer a delivery. If the answer is lost, the event is redelivered."""
        try:
            await self._client.publish(delivery.reply, words)
        except NatsError as err:
            log.warning("%s is not answered: %s", delivery.subject, err)
