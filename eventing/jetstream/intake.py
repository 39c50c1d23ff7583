"""The pull side of a worker: events of many consumers, through one inbox, in batches.

Each consumer has a pull request outstanding, which JetStream answers as events come; there is
no polling. A consumer is asked for more only when what it gave has been taken, so what waits
here is bounded.
"""

import asyncio
import json
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.jetstream.connection import listen
from eventing.jetstream.deadline_queue import ByDeadline, Waiting
from eventing.jetstream.delivery import Delivery, acknowledgement, split
from eventing.jetstream.messages import is_batch

log = logging.getLogger(__name__)

PULL: Final = 32
"""Messages asked for at a time, of one consumer."""
EXPIRES: Final = 5.0
"""Seconds after which JetStream lets an unanswered pull request go."""
HEAR_OUT: Final = 1.0
"""Seconds given to what is on its way when no more is wanted."""

PATIENT: Final = 100
"""Turns of the event loop, at most, that deliveries which are here already are waited for; each
brings what fits into a buffer of nats-py's."""
QUIET: Final = 3
"""Turns without a delivery after which there are none: what is read in pieces takes a few."""

_SECOND: Final = 1_000_000_000


class _Pull:
    """The state of one consumer's pulling."""

    __slots__ = ("asked", "name", "until", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        """Messages that the outstanding request may still give."""
        self.until = 0.0
        """When that request is void, in the loop's time."""
        self.waiting = 0
        """Events delivered and not taken yet."""


class Intake:
    """Events for a worker. `take` gives them; `ack`, `delay` and the like answer them."""

    def __init__(
        self, client: Client, objective: Callable[[Delivery], float] | None = None
    ) -> None:
        """Take events as they come; with `objective`, which tells the seconds that each may take,
        by their deadlines."""
        self._client = client
        self._ordered = objective is not None
        self._inbox = ""
        self._pulls: dict[str, _Pull] = {}
        self._ready: Waiting = deque[Delivery]() if objective is None else ByDeadline(objective)
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._subscription: Subscription | None = None
        self._asking: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen for deliveries. What is ready stays so."""
        self._inbox = self._client.new_inbox()
        self._subscription = await listen(self._client, f"{self._inbox}.*", self._delivered)

    async def stop(self) -> None:
        """Listen no more. What has been delivered until this returns can still be taken."""
        self._pulls.clear()
        await self._hang_up()

    async def _hang_up(self) -> None:
        """End all outstanding requests, and hear out what is on its way of them."""
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return
        try:
            async with asyncio.timeout(HEAR_OUT):
                await subscription.drain()
        except (TimeoutError, NatsError) as err:
            log.info("the last deliveries are not known: %s", err)

    async def consume(self, consumers: Iterable[str]) -> None:
        """Pull from exactly these consumers from now on.

        What was delivered already from others can still be taken. Their outstanding requests end
        here, and not when they expire: what those still brought, two workers would decide about
        in turns. JetStream has no word for that but that nobody listens where they are answered,
        so all requests are made anew; what it had just then on its way to nobody (about one event
        in 5,000 a second) it delivers again after its acknowledgement is late.
        """
        wanted = set(consumers)
        left = self._pulls.keys() - wanted
        for name in left:
            del self._pulls[name]
        if left:
            await self._hang_up()
            for pull in self._pulls.values():
                pull.asked = 0
        if self._subscription is None:
            await self.start()
        held = Counter(delivery.consumer for delivery in self._ready)
        for name in wanted - self._pulls.keys():
            pull = self._pulls[name] = _Pull(name)
            pull.waiting = held[name]  # delivered when it was pulled from before
        await self.refresh()

    async def refresh(self, *, forget: bool = False) -> None:
        """Renew every pull request that is void; all of them after a reconnection (`forget`)."""
        now = self._loop.time()
        for pull in list(self._pulls.values()):
            if forget or pull.until <= now:
                pull.asked = 0
            if pull.asked == 0 and pull.waiting == 0:
                await self._ask(pull)

    async def _ask(self, pull: _Pull) -> None:
        body = json.dumps({"batch": PULL, "expires": int(EXPIRES * _SECOND)}).encode()
        pull.asked += PULL
        # Past the expiry at JetStream, so that two requests do not stand at once for nothing.
        pull.until = self._loop.time() + EXPIRES + 1.0
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{subjects.STREAM}.{pull.name}"
        try:
            await self._client.publish(subject, body, f"{self._inbox}.{pull.name}")
        except NatsError as err:
            log.warning("%s cannot be asked: %s", pull.name, err)
            pull.asked, pull.until = 0, 0.0

    def _delivered(
        self, subject: str, reply: str, data: bytes, headers: dict[str, str] | None
    ) -> None:
        consumer, deliveries = acknowledgement(reply)
        if not consumer:
            self._status(subject, headers or {})
            return
        pull = self._pulls.get(consumer)
        if pull is not None:
            pull.asked = max(0, pull.asked - 1)
        message = Delivery(subject, data, headers or {}, reply, deliveries, consumer)
        for delivery in split(message) if is_batch(headers) else (message,):
            if pull is not None:
                pull.waiting += 1
            self._ready.append(delivery)
        self._arrived.set()

    def _status(self, subject: str, headers: dict[str, str]) -> None:
        """The end of a pull request: it expired, or the consumer cannot serve it."""
        pull = self._pulls.get(subject.rpartition(".")[2])
        status = headers.get("Status", "")
        if pull is None or status == "100":
            return
        pull.asked = 0
        if status == "408":
            asking = self._loop.create_task(self._ask_again(pull))
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)
        else:
            # Asked again by the next `refresh`: at once might be for ever.
            log.info("%s: %s", pull.name, headers.get("Description", status))
            pull.until = 0.0

    async def _ask_again(self, pull: _Pull) -> None:
        """Ask once more, unless somebody has meanwhile, or nothing of it is wanted any more."""
        if self._pulls.get(pull.name) is pull and pull.asked == 0:
            await self._ask(pull)

    async def take(self, limit: int, patience: float | None = None) -> list[Delivery]:
        """Up to `limit` events, as soon as there is one; none when `patience` seconds pass."""
        if not self._ready:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), patience)
            except TimeoutError:
                return []
        if self._ordered:
            await self._hear()
        taken: list[Delivery] = []
        while self._ready and len(taken) < limit:
            delivery = self._ready.popleft()
            taken.append(delivery)
            pull = self._pulls.get(delivery.consumer)
            if pull is not None:
                pull.waiting -= 1
                if pull.waiting == 0 and pull.asked <= PULL // 2:
                    await self._ask(pull)
        return taken

    async def _hear(self) -> None:
        """Take in what has reached this process already: the urgent may be behind the others."""
        heard, quiet = len(self._ready), 0
        for _ in range(PATIENT):
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._ready) == heard else 0
            heard = len(self._ready)
            if quiet == QUIET:
                return

    async def keep(self) -> None:
        """Tell JetStream that the events which wait here have not been lost."""
        await self.in_progress(*self._ready)

    def wake(self) -> None:
        """End a wait in `take`, with whatever there is."""
        self._arrived.set()

    def pulls(self, consumer: str) -> bool:
        """Whether the events of a consumer come here."""
        return consumer in self._pulls

    @property
    def waiting(self) -> int:
        """Events that `take` would give at once."""
        return len(self._ready)

    async def ack(self, delivery: Delivery) -> None:
        """The event is done with: JetStream forgets it."""
        await self._done(delivery, None)

    async def in_progress(self, *deliveries: Delivery) -> None:
        """Events are still worked on: their acknowledgements may take as long again. Of a batch one
        word is enough."""
        for delivery in {delivery.reply: delivery for delivery in deliveries}.values():
            await self._answer(delivery, b"+WPI")

    async def again(self, delivery: Delivery, after: float) -> None:
        """Deliver the event again, after some seconds; a batch as a whole, once nothing of it is
        worked on: what has been taken of it then is known to have been."""
        await self._done(delivery, after)

    async def _done(self, delivery: Delivery, after: float | None) -> None:
        parts = delivery.parts
        if parts is not None:
            parts.left.discard(delivery.place)
            if after is not None:
                parts.after = after if parts.after is None else max(parts.after, after)
            if parts.left:
                return
            after = parts.after
        if after is None:
            await self._answer(delivery, b"+ACK")
        else:
            body = json.dumps({"delay": int(after * _SECOND)}).encode()
            await self._answer(delivery, b"-NAK " + body)

    async def _answer(self, delivery: Delivery, words: bytes) -> None:
        """An answer that does not reach JetStream is no loss: the event comes again."""
        try:
            await self._client.publish(delivery.reply, words)
        except NatsError as err:
            log.warning("%s is not answered: %s", delivery.subject, err)
