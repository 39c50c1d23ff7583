"""Queue-depth autoscaling of worker processes, from zero and back to it.

It sees what KEDA's nats-jetstream scaler sees, the consumers' pending and unacknowledged
messages in the broker's monitoring endpoint, and scales as a ScaledObject does: active above
zero, one replica for each `target` messages, back to zero after a cool-down.
"""

import asyncio
import logging
import math
import sys
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from nats.aio.client import Client

from evcore.local.data import DataDirectory
from evcore.local.lag import lag
from evcore.local.process import Process
from schemas.procedures import Procedure

log = logging.getLogger(__name__)

POLL: Final = 0.5
"""Seconds between looks at the lag while anything runs."""
IDLE_POLL: Final = 2.0
"""The same while nothing does: new events are noticed at once, a timer's within this."""


class Group(Struct, frozen=True):
    """Procedures that are hosted together: a Deployment with its ScaledObject."""

    name: str
    procedures: tuple[Procedure, ...]
    max_workers: int = 2
    target: int = 32
    """Messages a worker is wanted for."""
    cooldown: float = 5.0
    """Seconds without a message before the last workers go."""


class Scale(Struct, frozen=True):
    """One change of a group's number of workers."""

    at: float
    group: str
    workers: int


class Autoscaler:
    """Keeps each group at the number of workers that its lag asks for."""

    def __init__(
        self,
        groups: tuple[Group, ...],
        data: DataDirectory,
        client: Client,
        monitor_url: str,
        changed: Callable[[Scale], None] | None = None,
    ) -> None:
        self._groups = groups
        self._data = data
        self._client = client
        self._monitor = monitor_url
        self._changed = changed
        self._workers: dict[str, list[Process]] = {group.name: [] for group in groups}
        self._active_until: dict[str, float] = dict.fromkeys(self._workers, 0.0)
        self._nudge = asyncio.Event()
        self._started = 0
        self._stops: set[asyncio.Task[None]] = set()
        self.history: list[Scale] = [Scale(time.monotonic(), group.name, 0) for group in groups]

    @property
    def workers(self) -> list[Process]:
        """All worker processes that run."""
        return [p for found in self._workers.values() for p in found if p.alive]

    async def run(self) -> None:
        """Scale, until cancelled."""
        lags = dict.fromkeys(self._workers, 0)
        while True:
            await self._scale(lags)
            idle = not self.workers
            if idle:
                await self._watch_for_events()
            wait = IDLE_POLL if idle else POLL
            try:
                await asyncio.wait_for(self._nudge.wait(), wait)
                lags = {name: max(lag, 1) for name, lag in lags.items()}
                self._nudge.clear()
            except TimeoutError:
                lags = await self._lags()

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.stop() for worker in self.workers), *self._stops)

    async def _watch_for_events(self) -> None:
        """Be nudged by the next event of any group, without polling for it."""

        async def seen(_: object) -> None:
            self._nudge.set()

        await self._client.subscribe("ue.>", cb=seen, max_msgs=1)

    async def _lags(self) -> dict[str, int]:
        """Messages that wait or are worked on, by group."""
        try:
            by_procedure = await lag(self._monitor)
        except OSError as err:
            log.warning("the broker's monitoring does not answer: %s", err)
            return dict.fromkeys(self._workers, 0)
        return {
            group.name: sum(by_procedure.get(procedure, 0) for procedure in group.procedures)
            for group in self._groups
        }

    async def _scale(self, lags: dict[str, int]) -> None:
        now = time.monotonic()
        for group in self._groups:
            lag, running = lags[group.name], self._workers[group.name]
            running[:] = [worker for worker in running if worker.alive]
            if lag > 0:
                self._active_until[group.name] = now + group.cooldown
            wanted = min(math.ceil(lag / group.target), group.max_workers)
            if now < self._active_until[group.name]:
                wanted = max(wanted, len(running), 1)
            if wanted != len(running):
                await self._set(group, running, wanted)

    async def _set(self, group: Group, running: list[Process], wanted: int) -> None:
        while len(running) < wanted:
            running.append(await self._start(group))
        while len(running) > wanted:
            task = asyncio.ensure_future(running.pop().stop())
            self._stops.add(task)
            task.add_done_callback(self._stops.discard)
        change = Scale(time.monotonic(), group.name, wanted)
        self.history.append(change)
        if self._changed is not None:
            self._changed(change)

    async def _start(self, group: Group) -> Process:
        self._started += 1
        name = f"worker-{group.name}-{self._started}"
        command = [
            *(sys.executable, "-m", "functions.runtime"),
            *("--config", str(self._data.config_file)),
            *("--secrets", str(self._data.secrets_file)),
            *("--procedures", ",".join(group.procedures)),
        ]
        return await Process.start(name, command, self._data.log(name))
