"""What is killed, and when its successor serves."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final, Self

import msgspec
from nats.js.kv import KeyValue

from bench.kill.figures import Outage
from bench.memory import family
from evcore.local.core import LocalCore
from evcore.local.lag import wait_until_served
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.connection import when_reconnected
from eventing.jetstream.streams import lease_bucket
from eventing.ownership.bucket_watch import BucketWatch
from eventing.ownership.leases import Lease

EVERY: Final = 5.0
"""Seconds between two kills."""
PATIENCE: Final = 60.0
"""Seconds after which a successor that does not serve ends the run."""

Kill = Callable[[], Awaitable[None]]
"""Kills processes, and returns when their successors serve."""


class Victims:
    """Kills the processes of a core with SIGKILL, and notes their outages."""

    def __init__(self, core: LocalCore) -> None:
        """Use as a context manager."""
        self._core = core
        self._leased: set[int] = set()
        """The processes that have written a lease."""
        self._changed = asyncio.Event()
        self._stack = AsyncExitStack()
        self.outages: list[Outage] = []
        self.kills: dict[str, Kill] = {
            "workers": self._workers,
            "nats-server": self._brokers,
            "n4": self._n4,
            "n2": self._n2,
            "fork-server": self._fork_server,
        }
        """What can be killed, by name. UEs notice the loss of the N2 gateway: their gNBs lose the
        association."""

    async def __aenter__(self) -> Self:
        client = await self._stack.enter_async_context(
            connected_as(Role.WORKER, self._core.config.nats, "bench-kill")
        )
        watch = BucketWatch(client, "the leases", self._note)
        await watch.start(await lease_bucket(client))
        when_reconnected(client, self._reconnected)
        self._stack.push_async_callback(watch.stop)
        self._watch = watch
        return self

    def _reconnected(self, _: float) -> None:
        """Watch the leases again, before the next kill."""
        self._refreshing = asyncio.ensure_future(self._watch.refresh())

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _note(self, entry: KeyValue.Entry) -> None:
        if entry.value and entry.operation not in ("DEL", "PURGE"):
            self._leased.add(msgspec.json.decode(entry.value, type=Lease).pid)
            self._changed.set()

    async def kill(self, names: tuple[str, ...], seconds: float) -> None:
        """Kill one of `names` after the other, every `EVERY` seconds, for some seconds."""
        until = time.monotonic() + seconds
        turn = 0
        while (due := time.monotonic() + EVERY) < until:
            await asyncio.sleep(due - time.monotonic())
            await self._once(names[turn % len(names)])
            turn += 1

    async def _once(self, name: str) -> None:
        begun = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            await self.kills[name]()
        self.outages.append(Outage(begun, time.monotonic()))

    async def _workers(self) -> None:
        """Kill all workers. A worker serves as soon as it has a lease."""
        killed = self._core.scaler.workers
        for worker in killed:
            worker.kill()
        self._leased -= {worker.pid for worker in killed}
        while killed and not any(w.pid in self._leased for w in self._core.scaler.workers):
            self._changed.clear()
            await self._changed.wait()

    async def _brokers(self) -> None:
        """Kill all nats-servers at once, and start them again."""
        brokers = self._core.brokers
        for broker in brokers:
            broker.process.kill()
        await asyncio.gather(*(broker.process.wait() for broker in brokers))
        await asyncio.gather(*(broker.run() for broker in brokers))
        async with connected_as(Role.CONSOLE, self._core.config.nats, "bench-kill") as console:
            await wait_until_served(console)

    async def _n4(self) -> None:
        gateway = self._core.gateway_n4
        if gateway is None:
            raise RuntimeError(f"the core of process {os.getpid()} has no N4 gateway")
        gateway.kill()
        await gateway.wait()
        await self._core.start_gateway_n4()

    async def _n2(self) -> None:
        gateway = self._core.gateway
        if gateway is None:
            raise RuntimeError(f"the core of process {os.getpid()} has no N2 gateway")
        gateway.kill()
        await gateway.wait()
        await self._core.start_gateway()

    async def _fork_server(self) -> None:
        """Kill the fork server. Workers start without it, until the next one runs."""
        for pid, name in family(os.getpid()).items():
            if name == "evcore.local.fork_server":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
