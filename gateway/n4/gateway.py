"""The N4 gateway: many UPFs, each PFCP message an event, each answer a message.

It keeps nothing that must survive it: requests that wait for answers, and answers that may be
asked for again. With it they are gone, and the timers of the functions and of UPFs repeat.
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
from gateway.n4.endpoint import Address, Counters, Endpoint, log, open_endpoint, written
from gateway.n4.events import Events
from gateway.n4.path import HEARTBEAT_REQUEST, Path, State
from gateway.n4.peer import Peer, Peers
from gateway.n4.relay import Downlink, Uplink
from gateway.n4.requests import Asked, Requests, Sequences, first_sequence
from gateway.outbox import Outbox
from schemas.config.n4 import N4Config, UpfConfig

QUEUE_GROUP: Final = "n4"
"""Of several gateways of a UPF, one takes each message."""

LOOK_UP: Final = 2.0
"""Seconds that the hosts of UPFs may take to be looked up, before UPFs are told as served."""


class N4Gateway:
    """Serves UPFs between `start` and `stop`."""

    def __init__(
        self, client: Client, publisher: Publisher, config: N4Config, upfs: tuple[UpfConfig, ...]
    ) -> None:
        self._client = client
        self._config = config
        self.counters = Counters()
        self._outbox = Outbox(publisher)
        self._events = Events(self._outbox, config.max_under_way)
        self._peers = Peers(upfs)
        sequences = Sequences(first_sequence())
        for peer in self._peers.all:
            self._equip(peer, sequences)
        self._uplink = Uplink(self._peers, self._events, self.counters, self._send)
        self._downlink = Downlink(self.counters, self._send)
        self._endpoint: Endpoint | None = None
        self._subscriptions: list[Subscription] = []
        self._chores: set[asyncio.Task[None]] = set()

    def _equip(self, peer: Peer, sequences: Sequences) -> None:
        config = self._config
        peer.requests = Requests(
            sequences,
            self.counters,
            config.t1,
            config.n1,
            config.max_requests,
            partial(self._send_to, peer),
            partial(self._given_up, peer),
        )
        peer.path = Path(
            config.heartbeat,
            partial(self._tell, peer),
            lambda octets: peer.requests.beat(octets, HEARTBEAT_REQUEST),
        )

    async def start(self) -> None:
        """Listen on both sides, and tell the core of each UPF that it is served.

        Raises:
            EndpointError: the UDP port cannot be had.
        """
        self._endpoint = await open_endpoint(
            self._config.host, self._config.port, self._uplink.received
        )
        self._outbox.start()
        for peer in self._peers.all:
            heard = partial(self._deliver, peer)
            found = await listen(self._client, subjects.n4(peer.node_id), heard, QUEUE_GROUP)
            self._subscriptions.append(found)
        # What is told of UPFs leaves by the same connection, behind the subscriptions.
        looking = [self._chore(self._locate(peer)) for peer in self._peers.all]
        await asyncio.wait(looking, timeout=LOOK_UP)
        for peer in self._peers.all:
            peer.path.start()

    async def stop(self, seconds: float = 3.0) -> None:
        """Take no more, wait for answers and publish what waits, for so long at most."""
        with contextlib.suppress(TimeoutError, NatsError):
            async with asyncio.timeout(min(seconds, self._config.t1)):
                for subscription in self._subscriptions:
                    await subscription.drain()
                for peer in self._peers.all:
                    await peer.requests.idle.wait()
        for peer in self._peers.all:
            peer.requests.close()
            peer.path.close()
        if self._endpoint is not None:
            self._endpoint.close()
        for chore in self._chores:
            chore.cancel()
        await self._outbox.stop(seconds)

    @property
    def address(self) -> str:
        """Where it listens."""
        return written(self._endpoint.address) if self._endpoint is not None else ""

    @property
    def port(self) -> int:
        """Its UDP port."""
        return self._endpoint.address[1] if self._endpoint is not None else 0

    @property
    def waiting(self) -> int:
        """Events that JetStream does not have yet."""
        return self._outbox.waiting

    async def _locate(self, peer: Peer) -> None:
        if self._endpoint is None:
            return
        address = await self._endpoint.resolve(peer.host, peer.port)
        if address is not None:
            self._peers.located(peer, address)

    def _deliver(
        self, peer: Peer, _: str, __: str, data: bytes, headers: dict[str, str] | None
    ) -> None:
        self._downlink.deliver(peer, headers, data)

    def _send(self, octets: bytes, address: Address) -> None:
        if self._endpoint is not None:
            self._endpoint.send(octets, address)

    def _send_to(self, peer: Peer, octets: bytes) -> None:
        if peer.address is not None:
            self._send(octets, peer.address)

    def _given_up(self, peer: Peer, asked: Asked) -> None:
        if asked.event is None:
            peer.path.silent()
        else:
            self._events.unanswered(peer, asked.event, asked.octets)

    def _tell(self, peer: Peer, state: State, stamp: int) -> None:
        """What the path of a UPF tells. Its host may have another address by then."""
        if state != "served":
            log.warning("UPF %s is %s", peer.node_id, state)
        if state != "up":
            self._chore(self._locate(peer))
        self._events.path(peer, state, stamp)

    def _chore(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chore_ended)
        return task

    def _chore_ended(self, task: asyncio.Task[None]) -> None:
        self._chores.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a UPF's address could not be looked up", exc_info=task.exception())
