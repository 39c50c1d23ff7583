"""The pull side of a worker: events of many consumers, through one inbox, in batches.

Each consumer has a pull request outstanding, which JetStream answers as events come; there is
no polling. A consumer is asked for more only when what it gave has been taken, so what waits
here is bounded.
"""

import asyncio
import json
import logging
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from eventing import subjects

log = logging.getLogger(__name__)

PULL: Final = 64
"""Events asked for at a time, of one consumer."""
EXPIRES: Final = 5.0
"""Seconds after which JetStream lets an unanswered pull request go: for so long a consumer that
was left to another worker may still bring events here."""

_SECOND: Final = 1_000_000_000


class Delivery(NamedTuple):
    """One event as JetStream delivered it."""

    subject: str
    data: bytes
    headers: dict[str, str]
    reply: str
    """Where to acknowledge it."""
    deliveries: int
    """How often it has been delivered, this time included."""
    consumer: str


class _Pull:
    """The state of one consumer's pulling."""

    __slots__ = ("asked", "name", "until", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        """Events that the outstanding request may still give."""
        self.until = 0.0
        """When that request is void, in the loop's time."""
        self.waiting = 0
        """Events delivered and not taken yet."""


class Intake:
    """Events for a worker. `take` gives them; `ack`, `delay` and the like answer them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = client.new_inbox()
        self._pulls: dict[str, _Pull] = {}
        self._ready: deque[Delivery] = deque()
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Listen for deliveries. Called once."""
        self._subscription = await self._client.subscribe(
            f"{self._inbox}.*", cb=self._delivered, pending_bytes_limit=0
        )

    async def stop(self, seconds: float = 1.0) -> None:
        """Listen no more. What has been delivered until this returns can still be taken."""
        self._pulls.clear()
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await subscription.drain()
        except (TimeoutError, NatsError) as err:
            log.info("the last deliveries are not known: %s", err)

    async def consume(self, consumers: Iterable[str]) -> None:
        """Pull from exactly these consumers from now on.

        What was delivered already from others can still be taken, and what their outstanding
        requests still bring: to end those is to lose what is on its way.
        """
        wanted = set(consumers)
        held = Counter(delivery.consumer for delivery in self._ready)
        for name in self._pulls.keys() - wanted:
            del self._pulls[name]
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

    async def _delivered(self, message: Msg) -> None:
        consumer, deliveries = _acknowledgement(message.reply)
        if not consumer:
            await self._status(message)
            return
        pull = self._pulls.get(consumer)
        if pull is not None:
            pull.asked = max(0, pull.asked - 1)
            pull.waiting += 1
        headers = message.headers or {}
        self._ready.append(
            Delivery(message.subject, message.data, headers, message.reply, deliveries, consumer)
        )
        self._arrived.set()

    async def _status(self, message: Msg) -> None:
        """The end of a pull request: it expired, or the consumer cannot serve it."""
        pull = self._pulls.get(message.subject.rpartition(".")[2])
        status = (message.headers or {}).get("Status", "")
        if pull is None or status == "100":
            return
        pull.asked = 0
        if status == "408":
            await self._ask(pull)
        else:
            # Asked again by the next `refresh`: at once might be for ever.
            log.info("%s: %s", pull.name, (message.headers or {}).get("Description", status))
            pull.until = 0.0

    async def take(self, limit: int, patience: float | None = None) -> list[Delivery]:
        """Up to `limit` events, as soon as there is one; none when `patience` seconds pass."""
        if not self._ready:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), patience)
            except TimeoutError:
                return []
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

    async def keep(self) -> None:
        """Tell JetStream that the events which wait here have not been lost."""
        for delivery in list(self._ready):
            await self.in_progress(delivery)

    def wake(self) -> None:
        """End a wait in `take`, with whatever there is."""
        self._arrived.set()

    @property
    def waiting(self) -> int:
        """Events that `take` would give at once."""
        return len(self._ready)

    async def ack(self, delivery: Delivery) -> None:
        """The event is done with: JetStream forgets it."""
        await self._answer(delivery, b"+ACK")

    async def in_progress(self, delivery: Delivery) -> None:
        """The event is still worked on: its acknowledgement may take as long again."""
        await self._answer(delivery, b"+WPI")

    async def again(self, delivery: Delivery, after: float) -> None:
        """Deliver the event again, after some seconds."""
        body = json.dumps({"delay": int(after * _SECOND)}).encode()
        await self._answer(delivery, b"-NAK " + body)

    async def _answer(self, delivery: Delivery, words: bytes) -> None:
        """An answer that does not reach JetStream is no loss: the event comes again."""
        try:
            await self._client.publish(delivery.reply, words)
        except NatsError as err:
            log.warning("%s is not answered: %s", delivery.subject, err)


def _acknowledgement(reply: str) -> tuple[str, int]:
    """The consumer and the number of deliveries in the reply subject of a delivery.

    ``$JS.ACK.<stream>.<consumer>.<deliveries>...``, or with a domain and an account before the
    stream (nine tokens, or eleven and more). An empty consumer for another subject.
    """
    if not reply.startswith("$JS.ACK."):
        return "", 0
    parts = reply.split(".")
    at = 3 if len(parts) == 9 else 5
    return parts[at], int(parts[at + 1])
