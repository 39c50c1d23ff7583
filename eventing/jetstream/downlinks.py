"""Messages to gateways, which core NATS delivers at most once: again after a loss that shows.

If nats-server dies, it takes along what it has read and not written, and a gateway may lose what it
has not read yet. The events that caused the messages may be acknowledged for good by then, so that
no redelivery sends them again. Gateways drop copies by the id of the event.

A message for an N4 gateway that is being restarted comes back, as it has no listener, and is sent
again. An N2 gateway takes its associations along, and what was sent on them.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from typing import Any, Final, NamedTuple

from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.jetstream.connection import listen, when_reconnected
from eventing.jetstream.messages import Addressed, Outgoing
from eventing.jetstream.sealed import DownlinkSealer

log = logging.getLogger(__name__)

KEPT: Final = 1.0
"""Seconds before the loss of a connection whose messages are sent again: nats-server writes what it
has read much sooner."""
TOGETHER: Final = 128
"""Maximum number of events for one gNB or UPF in a message."""
MOST: Final = 8192
"""Maximum number of messages that are kept."""
PAUSES: Final = (0.2, 0.8)
"""Seconds before each repetition. A gateway may be connected again later than this process: until
then it misses what is sent after the reconnection, too. Each is less than `KEPT`."""
AGAIN: Final = 0.1
"""Seconds after which returned messages are sent again."""
PATIENCE: Final = 2.0
"""Seconds for which a message without a listener is sent again: less than the timer `n4`. After its
repetition and the answer to that, the first request would be wrong."""


class _Sent(NamedTuple):
    """A message, and the loop's times at which it was sent: last, and for the first time."""

    at: float
    since: float
    subject: str
    data: bytes
    headers: dict[str, str]


class Downlinks:
    """Publishes messages to gateways, and keeps the last ones."""

    def __init__(self, client: Client, sealer: DownlinkSealer) -> None:
        self._client = client
        self._sealer = sealer
        self._loop = asyncio.get_running_loop()
        self._sent: OrderedDict[int, _Sent] = OrderedDict()
        """By number, the last messages."""
        self._returned: list[_Sent] = []
        """Messages without a listener: at most as many as in `_sent`."""
        self._number = 0
        self._inbox = ""
        """Where messages come back to."""
        self._repeating: set[asyncio.Task[None]] = set()
        when_reconnected(client, self._reconnected)

    def messages(self, leaving: Sequence[Addressed], most: int = TOGETHER) -> list[Outgoing]:
        """Return events for gateways as few messages, of `most` events each. Those for gNBs are
        sealed. The events for one gNB or UPF stay in order."""
        return self._sealer.messages(leaving, most)

    async def send(self, leaving: Sequence[Addressed]) -> None:
        """Publish events for gateways. A message that cannot be sent is logged."""
        for message in self.messages(leaving):
            try:
                await self.publish(*message)
            except NatsError as err:
                log.warning("%s: messages are not sent: %s", message.subject, err)

    async def publish(self, subject: str, data: bytes, headers: dict[str, str]) -> None:
        """Publish a message.

        Raises:
            NatsError: it cannot be sent, and does not wait for a connection either.
        """
        now = self._loop.time()
        await self._send(_Sent(now, now, subject, data, headers))

    async def _send(self, message: _Sent) -> None:
        number, sent = self._number, self._sent
        self._number += 1
        kept_since = message.at - KEPT if self._client.is_connected else 0.0
        while sent and (len(sent) >= MOST or next(iter(sent.values())).at < kept_since):
            sent.popitem(last=False)
        sent[number] = message
        reply = ""
        if message.subject.startswith(subjects.N4):
            if not self._inbox:
                self._inbox = self._client.new_inbox()
                await listen(self._client, f"{self._inbox}.*", self._has_no_listener)
            reply = f"{self._inbox}.{number}"
        await self._client.publish(message.subject, message.data, reply, message.headers)

    def _has_no_listener(self, subject: str, _: str, __: bytes, ___: dict[str, str] | None) -> None:
        """Note a message that came back. Nothing else answers it."""
        message = self._sent.pop(int(subject.rpartition(".")[2]), None)
        if message is None:
            return
        if self._loop.time() - message.since > PATIENCE or len(self._returned) >= MOST:
            log.warning("no gateway has received a message on %s", message.subject)
            return
        self._returned.append(message)
        if len(self._returned) == 1:
            self._start(self._send_again())

    async def _send_again(self) -> None:
        await asyncio.sleep(AGAIN)
        again, self._returned = self._returned, []
        try:
            for one in again:
                await self._send(one._replace(at=self._loop.time()))
        except NatsError as err:
            log.warning("returned messages are not sent again: %s", err)

    def _reconnected(self, lost: float) -> None:
        """Repeat what was sent shortly before the time `lost`, and since."""
        again = {number: one for number, one in self._sent.items() if one.at >= lost - KEPT}
        self._start(self._repeat(again, self._number))

    async def _repeat(self, again: dict[int, _Sent], following: int) -> None:
        """Repeat messages, and those from the number `following` on that are sent meanwhile."""
        for pause in PAUSES:
            await asyncio.sleep(pause)
            again |= {number: one for number, one in self._sent.items() if number >= following}
            try:
                for one in again.values():
                    await self._client.publish(one.subject, one.data, headers=one.headers)
            except NatsError as err:
                log.warning("messages to gateways are not sent again: %s", err)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._repeating.add(task)
        task.add_done_callback(self._repeating.discard)
