"""Workers on a real broker and a real store, with their input and output."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg

from eventing import subjects
from eventing.cloudevents.nats_binding import to_headers
from eventing.jetstream import messages
from eventing.jetstream.connection import connected
from eventing.jetstream.messages import MOST, Addressed, addressed, events_of, gathered, is_batch
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkOpener
from eventing.jetstream.streams import BusConfig, ensure
from functions.runtime.hosting import NO_VARIANTS
from functions.runtime.variants import Variant
from functions.runtime.worker import Worker, WorkerConfig
from schemas.cloudevents import CloudEvent
from schemas.config.strangers import DEFAULT_POLICY, StrangerPolicy
from schemas.network import Network
from schemas.procedures import Procedure
from tests.eventing import brokers
from tests.eventing.brokers import Bus, Stored, until
from tests.functions.world import HOME_KEYS, NETWORK, TMSI_KEY
from tests.runtime.script import Lane, Script
from tests.runtime.store import Store, opened

ALL = tuple(Procedure)
BUS = BusConfig(partitions=2, ack_wait=30.0, max_deliveries=2)
"""An acknowledgement timeout so long that no late event is redelivered."""
IMPATIENT = replace(BUS, ack_wait=0.2)
"""An unacknowledged event is redelivered soon."""


async def _for_ever(_: str) -> None:
    await asyncio.Event().wait()


class Running:
    """A running worker."""

    def __init__(self, worker: Worker, store: Store, client: Client) -> None:
        self.worker = worker
        self.store = store
        self.client = client
        self.task = asyncio.ensure_future(worker.run())

    async def stop(self) -> None:
        """Stop the worker as SIGTERM does."""
        self.worker.stop()
        await asyncio.wait([self.task])
        assert self.task.exception() is None

    async def kill(self) -> None:
        """End the worker as SIGKILL does, as far as possible here: it sends nothing more."""
        self.store.before = _for_ever
        await self.client.close()
        self.task.cancel()
        await asyncio.wait([self.task])


class Heard(NamedTuple):
    """A published event, or a message without an event."""

    subject: str
    reply: str
    data: bytes
    headers: dict[str, str]

    @property
    def id(self) -> str:
        return self.headers.get("ce-id", "")


async def listen(client: Client, subject: str, heard: list[Heard]) -> None:
    """Record all messages from now on. A copy of a sealed message is not recorded."""
    opener = DownlinkOpener(TMSI_KEY)

    async def hear(message: Msg) -> None:
        subject, reply, data, headers = (
            message.subject,
            message.reply,
            message.data,
            message.headers,
        )
        if subject.startswith(subjects.N2):
            batch = opener.open(subject.rpartition(".")[2], data)
            events = [entry.event for entry in messages.opened(batch)] if batch else []
        elif is_batch(headers):
            events = events_of(headers, data)
        else:
            heard.append(Heard(subject, reply, data, headers or {}))
            return
        heard.extend(Heard(subject, reply, one.data, to_headers(one)) for one in events)

    await client.subscribe(subject, cb=hear, pending_bytes_limit=0)
    await brokers.arrived(client)


class Plant:
    """One broker, one store, and workers on them."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        script: Script,
        client: Client,
        path: Path,
        config: BusConfig,
    ) -> None:
        self.bus = bus
        self.store = store
        self.script = script
        self.client = client
        self.heard: list[Heard] = []
        """The messages to gateways, in order."""
        self.config = config
        self.path = path
        self.together = False
        """Whether events of one consumer that are published together share a message. The lanes are
        then played step by step, so that there are many."""
        self._published: set[str] = set()
        self._publisher = Publisher(client, config.partitions)
        self._workers = contextlib.AsyncExitStack()

    async def start(self) -> None:
        await ensure(self.client, self.config)
        await self._publisher.start()
        await listen(self.client, "n2.>", self.heard)

    async def end(self) -> None:
        await self._workers.aclose()

    async def worker(
        self,
        procedures: tuple[Procedure, ...] = ALL,
        *,
        clock: bool = False,
        network: Network = NETWORK,
        variants: Mapping[Procedure, Variant] = NO_VARIANTS,
        as_variant: bool = False,
        strangers: StrangerPolicy = DEFAULT_POLICY,
    ) -> Running:
        """Start a worker with the entropy of the script, and with its times or, with `clock`, real
        ones."""
        client = await self._workers.enter_async_context(connected(self.bus.url, "worker"))
        store = await opened(self.path, self.script)
        self._workers.push_async_callback(store.close)
        settings = WorkerConfig(
            procedures,
            self.config,
            network,
            HOME_KEYS,
            "test",
            variants=variants,
            as_variant=as_variant,
            strangers=strangers,
        )
        draw = self._draw_now if clock else self.script.draw
        running = Running(
            Worker(settings, client, store.log, store.subscribers, draw), store, client
        )
        self._workers.push_async_callback(self._ended, running)
        return running

    def _draw_now(self, event: CloudEvent) -> tuple[int, bytes]:
        return time.time_ns() // 1_000_000, self.script.draw(event)[1]

    @staticmethod
    async def _ended(running: Running) -> None:
        if not running.task.done():
            await running.stop()

    # Input

    async def publish(self, events: Iterable[CloudEvent]) -> None:
        """Publish events in order. A repeated event is marked as a copy."""
        messages: list[Addressed] = []
        for event in events:
            repeated = event.id in self._published
            self._published.add(event.id)
            messages.append(addressed(event, self.config.partitions, repeated=repeated))
        most = MOST if self.together else 1
        await self._publisher.publish(gathered(messages, most=most))

    async def play(self, *lanes: Lane) -> None:
        """Send the lanes concurrently, and return when the log has all steps.

        With `together`, send the first stretch of each lane at once, then the next."""
        if not self.together:
            await asyncio.gather(*(self._play(lane) for lane in lanes))
            return
        for row in zip_longest(*lanes):
            stretches = [stretch for stretch in row if stretch is not None]
            await self.publish(event for stretch in stretches for event in stretch.events)
            for stretch in stretches:
                await self.reached(stretch.heads)

    async def _play(self, lane: Lane) -> None:
        for stretch in lane:
            await self.publish(stretch.events)
            await self.reached(stretch.heads)

    async def play_all(self) -> None:
        """Play the whole script, RAN nodes first."""
        await self.play(self.script.lanes[0])
        await self.play(*self.script.lanes[1:])

    async def reached(self, heads: dict[str, int]) -> None:
        """Wait until aggregates have these numbers of steps."""

        async def there() -> bool:
            now = await self.store.heads()
            return all(now.get(name, 0) >= head for name, head in heads.items())

        try:
            await until(there)
        except TimeoutError:
            raise AssertionError(await self.store.otherwise(self.script)) from None

    # State

    async def idle(self) -> None:
        """Wait until every event is acknowledged."""

        async def none_waits() -> bool:
            return not await brokers.events(self.client)

        await until(none_waits)

    async def delivered(self) -> int:
        """Return the number of delivered and unacknowledged events."""
        names = [
            subjects.consumer(partition, procedure)
            for procedure in ALL
            for partition in range(self.config.partitions)
        ]
        return sum([(await brokers.consumer(self.client, n))["num_ack_pending"] for n in names])

    async def letters(self) -> list[Stored]:
        """Return the dead letters."""
        return await brokers.stored(self.client, subjects.DEAD_LETTERS)

    def downlinks(self, event_id: str) -> list[Heard]:
        """Return the messages to gateways with the id of an event."""
        return [heard for heard in self.heard if heard.id == event_id]


@asynccontextmanager
async def running(path: Path, script: Script, config: BusConfig = BUS) -> AsyncGenerator[Plant]:
    async with brokers.running(path) as bus, connected(bus.url, "test") as client:
        store = await opened(path, script)
        plant = Plant(bus, store, script, client, path, config)
        try:
            await plant.start()
            yield plant
        finally:
            await plant.end()
            await store.close()
