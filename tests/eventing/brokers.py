"""A broker that tests freeze, end and restart, and the contents of its streams."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from evcore.local.broker import Broker
from eventing import subjects
from eventing.jetstream.connection import connected, request
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import slot_of
from schemas.procedures import Procedure


class Bus:
    """One nats-server with its files, on the same port after each restart."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self._folder = folder
        self.broker = broker

    @property
    def url(self) -> str:
        return self.broker.url

    async def end(self, *, kill: bool = False) -> None:
        """End the server; with `kill`, without any time to clean up."""
        if kill:
            self.broker.process.kill()
        await self.broker.stop()

    async def start(self) -> None:
        """Start the server again with the same files."""
        self.broker = await _start(self._folder, self.broker.port, self.broker.monitor_port or 0)

    async def restart(self, *, kill: bool = False) -> None:
        await self.end(kill=kill)
        await self.start()

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stop the server process for the length of a block; its connections stay open."""
        pid = self.broker.process.pid
        os.kill(pid, signal.SIGSTOP)
        while not _stands_still(pid):
            time.sleep(0.001)  # the kernel stops the last thread a moment later
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _stands_still(pid: int) -> bool:
    """Whether each thread of a process is stopped (proc(5): T, or dying)."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(") ")[2][0] in "TXZ" for stat in stats)


async def _start(folder: Path, port: int = 0, monitor_port: int = 0) -> Broker:
    """Start a broker without users, and with the monitoring endpoint, which KEDA reads."""
    store, log = folder / "jetstream", folder / "nats.log"
    return await Broker.start(store, log, port, monitor_port=monitor_port)


@asynccontextmanager
async def running(folder: Path) -> AsyncGenerator[Bus]:
    bus = Bus(folder, await _start(folder))
    try:
        yield bus
    finally:
        await bus.end(kill=True)  # its files are not needed any more


@asynccontextmanager
async def clients(bus: Bus, count: int) -> AsyncGenerator[list[Client]]:
    """Connections that stand for several processes."""
    if not count:
        yield []
        return
    async with connected(bus.url, f"test-{count}") as one, clients(bus, count - 1) as others:
        yield [one, *others]


async def arrived(client: Client) -> None:
    """Wait until the server has read everything sent so far, subscriptions included.

    The first PING of nats-py leaves before the data that waits to be written, the second after it.
    """
    await client.flush()
    await client.flush()


class Stored(NamedTuple):
    """A message in a stream."""

    subject: str
    headers: dict[str, str]
    data: bytes


async def stored(client: Client, stream: str = subjects.STREAM) -> list[Stored]:
    """Return every message of a stream, in order."""
    js = client.jetstream()
    state = (await request(client, f"STREAM.INFO.{stream}"))["state"]
    found: list[Stored] = []
    for seq in range(max(1, state["first_seq"]), state["last_seq"] + 1):
        with suppress(NotFoundError):
            message = await js.get_msg(stream, seq)
            found.append(Stored(message.subject or "", message.headers or {}, message.data or b""))
    return found


async def events(client: Client) -> dict[str, int]:
    """Return the number of unacknowledged events by subject."""
    wanted = {"subjects_filter": "ue.>"}
    state = (await request(client, f"STREAM.INFO.{subjects.STREAM}", wanted))["state"]
    found: dict[str, int] = state.get("subjects") or {}
    return found


async def count(client: Client, stream: str = subjects.STREAM) -> int:
    """Return the number of messages in a stream."""
    number: int = (await request(client, f"STREAM.INFO.{stream}"))["state"]["messages"]
    return number


async def consumer(client: Client, name: str) -> dict[str, Any]:
    """Return JetStream's information about a consumer."""
    return await request(client, f"CONSUMER.INFO.{subjects.STREAM}.{name}")


async def until(done: Callable[[], bool | Awaitable[bool]], seconds: float = 30) -> None:
    """Poll until a condition is true."""
    async with asyncio.timeout(seconds):
        while True:
            found = done()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)


def event(number: int, **changes: Any) -> CloudEvent:
    """Return an uplink event of UE number `number`; by default for `registration`."""
    supi = f"imsi-00101{number:010d}"
    values: dict[str, Any] = {
        "id": f"test-{number}",
        "source": "/n2/gnb-1/a1",
        "type": EventType.NGAP_UPLINK,
        "partitionkey": supi,
        "data": b"pdu %d" % number,
        "procedure": Procedure.REGISTRATION,
        "slot": slot_of(supi),
        **changes,
    }
    return CloudEvent(**values)
