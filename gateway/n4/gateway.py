"""The N4 gateway between UPFs and the bus.

The gateway publishes each PFCP message of a UPF as an event, and sends each downlink event to its
UPF as a PFCP message.

The gateway keeps no durable state, only pending requests, and responses for repeated requests. If
the gateway dies, the timers of the functions and of the UPFs repeat the requests.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.jetstream.connection import listen
from eventing.jetstream.publisher import Publisher
from gateway.n4.endpoint import Address, Endpoint, N4Counters, address_text, log, open_endpoint
from gateway.n4.events import N4Events
from gateway.n4.path import Path, State
from gateway.n4.peer import UpfPeer
from gateway.n4.pfcp import HEARTBEAT_REQUEST
from gateway.n4.received import ReceivedRequests
from gateway.n4.relay import DownlinkRelay, UplinkRelay
from gateway.n4.requests import PendingRequest, Requests
from gateway.n4.senders import Senders
from gateway.n4.sequences import Sequences
from gateway.outbox import Outbox
from schemas.config.n4 import N4Config, UpfConfig

QUEUE_GROUP: Final = "n4"
"""NATS queue group: only one of the gateways that serve a UPF receives each message."""

_STATES: Final[dict[State, str]] = {
    "up": "is up",
    "down": "does not answer heartbeats",
    "unknown": "answers heartbeats, but has no association",
    "ignoring": "answers heartbeats, but no requests about sessions",
}
"""The states of a path in the log of the process."""

LOOK_UP: Final = 2.0
"""Maximum seconds to look up the hosts of UPFs before the first reports to the core."""


class N4Gateway:
    """Serves UPFs between `start` and `stop`."""

    def __init__(
        self, client: Client, publisher: Publisher, config: N4Config, upfs: tuple[UpfConfig, ...]
    ) -> None:
        self._client = client
        self._config = config
        self.counters = N4Counters()
        self._outbox = Outbox(publisher)
        self._events = N4Events(self._outbox, config.max_under_way)
        self._senders = Senders(upfs)
        sequences = Sequences()
        for peer in self._senders.all:
            self._equip(peer, sequences)
        received = ReceivedRequests(len(upfs))
        shared = self._events, received, self.counters, self._send
        self._uplink = UplinkRelay(self._senders, *shared)
        self._downlink = DownlinkRelay(received, self.counters, self._send)
        self._endpoint: Endpoint | None = None
        self._subscriptions: list[Subscription] = []
        self._lookups: set[asyncio.Task[None]] = set()

    def _equip(self, peer: UpfPeer, sequences: Sequences) -> None:
        """Create the pending requests and the path of a UPF."""
        config = self._config
        peer.requests = Requests(
            sequences,
            self.counters,
            config.t1,
            config.n1,
            config.max_requests,
            partial(self._send_to, peer),
            partial(self._timed_out, peer),
            partial(self._events.ended, peer),
        )
        peer.path = Path(
            config.heartbeat,
            partial(self._report, peer),
            lambda octets: peer.requests.send_heartbeat(octets, HEARTBEAT_REQUEST),
        )

    async def start(self) -> None:
        """Open the UDP port, subscribe to the bus, and report each UPF as served.

        Raises:
            EndpointError: the UDP port cannot be opened.
        """
        self._endpoint = await open_endpoint(
            self._config.host, self._config.port, self._uplink.received
        )
        self._outbox.start()
        for peer in self._senders.all:
            handler = partial(self._deliver, peer)
            subject = subjects.n4(peer.node_id)
            self._subscriptions.append(await listen(self._client, subject, handler, QUEUE_GROUP))
        # The broker processes the subscriptions before the reports: both use one connection.
        lookups = [self._look_up(self._locate(peer)) for peer in self._senders.all]
        await asyncio.wait(lookups, timeout=LOOK_UP)
        for peer in self._senders.all:
            peer.path.start()

    async def stop(self, seconds: float = 3.0) -> None:
        """Stop listening. Wait up to `seconds` for responses and for the publisher."""
        with contextlib.suppress(TimeoutError, NatsError):
            async with asyncio.timeout(min(seconds, self._config.t1)):
                for subscription in self._subscriptions:
                    await subscription.drain()
                for peer in self._senders.all:
                    await peer.requests.idle.wait()
        for peer in self._senders.all:
            peer.requests.close()
            peer.path.close()
        if self._endpoint is not None:
            self._endpoint.close()
        for lookup in self._lookups:
            lookup.cancel()
        await self._outbox.stop(seconds)

    @property
    def address(self) -> str:
        """The local address."""
        return address_text(self._endpoint.address) if self._endpoint is not None else ""

    @property
    def port(self) -> int:
        """The local UDP port."""
        return self._endpoint.address[1] if self._endpoint is not None else 0

    @property
    def waiting(self) -> int:
        """Number of events that JetStream has not stored yet."""
        return self._outbox.waiting

    async def _locate(self, peer: UpfPeer) -> None:
        if self._endpoint is None:
            return
        address = await self._endpoint.resolve(peer.host, peer.port)
        if address is not None:
            self._senders.locate(peer, address)

    def _deliver(
        self, peer: UpfPeer, _: str, __: str, data: bytes, headers: dict[str, str] | None
    ) -> None:
        self._downlink.deliver(peer, headers, data)

    def _send(self, octets: bytes, address: Address) -> None:
        if self._endpoint is not None:
            self._endpoint.send(octets, address)

    def _send_to(self, peer: UpfPeer, octets: bytes) -> Address | None:
        if peer.address is not None:
            self._send(octets, peer.address)
        return peer.address

    def _timed_out(self, peer: UpfPeer, pending: PendingRequest) -> None:
        if pending.event is None:
            peer.path.heartbeat_unanswered()
        else:
            if pending.is_of_session:
                peer.path.session_unanswered(pending.began)
            self._events.unanswered(peer, pending.event, pending.octets)

    def _report(self, peer: UpfPeer, state: State, stamp: int) -> None:
        """Publish the state of the path to a UPF. Unless it is up, look up the host again."""
        if state != "served":
            log.warning("UPF %s %s", peer.node_id, _STATES[state])
        if state != "up":
            self._look_up(self._locate(peer))
        self._events.path(peer, state, stamp)

    def _look_up(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._lookups.add(task)
        task.add_done_callback(self._looked_up)
        return task

    def _looked_up(self, task: asyncio.Task[None]) -> None:
        self._lookups.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a UPF's address could not be looked up", exc_info=task.exception())
