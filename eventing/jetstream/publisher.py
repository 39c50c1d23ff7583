"""A publisher to JetStream: many messages at a time, each published until it is acknowledged."""

import asyncio
import json
import logging
from collections.abc import Sequence

from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing.cloudevents import nats_binding
from eventing.jetstream.connection import BusError, listen, when_reconnected
from eventing.jetstream.messages import Outgoing, outgoing
from schemas.cloudevents import CloudEvent

log = logging.getLogger(__name__)

ACK_TIMEOUT = 2.0
"""Seconds after which a message without an acknowledgement is published again."""
LONGEST_PAUSE = 0.25
"""Maximum seconds between two attempts. Timers run, so a message must not wait for much longer than
JetStream is away."""


class _Attempt:
    """The acknowledgements that one attempt of `publish` waits for."""

    __slots__ = ("done", "errors", "sent", "waiting")

    def __init__(self, count: int, done: asyncio.Future[None], *, sent: bool) -> None:
        self.sent = sent
        """Whether the messages were sent on a connection, and do not wait for the next one."""
        self.waiting = set(range(count))
        self.errors: dict[int, str] = {}
        self.done = done

    def acknowledge(self, index: int, error: str | None) -> None:
        self.waiting.discard(index)
        if error is not None:
            self.errors[index] = error
        if not self.waiting and not self.done.done():
            self.done.set_result(None)

    def lose(self) -> None:
        """End the attempt if its connection is lost: some acknowledgements will not come."""
        if self.sent and not self.done.done():
            self.done.set_result(None)
        self.sent = True


class Publisher:
    """Publishes messages to the stream until JetStream has stored them."""

    def __init__(self, client: Client, partitions: int) -> None:
        self._client = client
        self.partitions = partitions
        self._inbox = client.new_inbox()
        self._attempts: dict[int, _Attempt] = {}
        self._next = 0

    async def start(self) -> None:
        """Listen for acknowledgements. Called once, before the first `publish`."""
        when_reconnected(self._client, self._reconnected)
        await listen(self._client, f"{self._inbox}.*.*", self._acknowledged)

    def outgoing(self, event: CloudEvent, *, repeated: bool = False) -> Outgoing:
        """Return the message of an event; see `eventing.jetstream.messages.outgoing`."""
        return outgoing(event, self.partitions, repeated=repeated)

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish all of `messages` in order, and return when JetStream has stored all of them.

        A message that is refused or not acknowledged in time is published again, without end:
        receivers drop duplicates. Cancel the call to stop it.
        """
        todo = list(messages)
        pause = 0.05
        while todo:
            failed = await self._try(todo)
            if not failed:
                return
            again = [todo[index] for index in sorted(failed)]
            todo = [m._replace(headers={**m.headers, nats_binding.REPEATED: "1"}) for m in again]
            reason = next(iter(failed.values()))
            log.warning("publishing %d event(s) again: %s", len(todo), reason)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _try(self, messages: Sequence[Outgoing]) -> dict[int, str]:
        """Publish each message once; return the reasons of the failed ones by index."""
        number, self._next = self._next, self._next + 1
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        attempt = _Attempt(len(messages), done, sent=self._client.is_connected)
        self._attempts[number] = attempt
        try:
            for index, (subject, data, headers) in enumerate(messages):
                reply = f"{self._inbox}.{number}.{index}"
                await self._client.publish(subject, data, reply, headers)
            async with asyncio.timeout(ACK_TIMEOUT):
                await attempt.done
        except (TimeoutError, NatsError, BusError) as err:
            reason = str(err) or "no acknowledgement in time"
            return {**dict.fromkeys(attempt.waiting, reason), **attempt.errors}
        finally:
            del self._attempts[number]
        return {**dict.fromkeys(attempt.waiting, "the connection was lost"), **attempt.errors}

    def _reconnected(self, _: float) -> None:
        for attempt in self._attempts.values():
            attempt.lose()

    def _acknowledged(
        self, subject: str, _: str, data: bytes, headers: dict[str, str] | None
    ) -> None:
        _, number, index = subject.rsplit(".", 2)
        attempt = self._attempts.get(int(number))
        if attempt is not None:
            attempt.acknowledge(int(index), _error_of(data, headers))


def _error_of(data: bytes, headers: dict[str, str] | None) -> str | None:
    if headers and "Status" in headers:
        return "JetStream does not answer"
    if b'"error"' not in data:
        return None
    error = json.loads(data)["error"]
    return str(error.get("description", "refused"))
