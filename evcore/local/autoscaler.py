"""Queue-depth autoscaling of worker processes, from zero and back to it.

It sees what KEDA's nats-jetstream scaler sees, the consumers' pending and unacknowledged
messages in the broker's monitoring endpoint, and scales as a ScaledObject does: active above
zero, one replica for each `target` messages, back to zero after a cool-down. A worker that
ends is replaced, as a Deployment does, and one that keeps ending is given time.
"""

import asyncio
import logging
import math
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from nats.aio.client import Client
from nats.aio.msg import Msg

from evcore.local.backoff import Backoff
from evcore.local.data import DataDirectory
from evcore.local.lag import lag
from evcore.local.process import Process, ProcessError
from schemas.procedures import Procedure

log = logging.getLogger(__name__)

POLL: Final = 0.5
"""Seconds between looks at the lag while anything runs."""
IDLE_POLL: Final = 2.0
"""The same while nothing does: new events are noticed at once, a timer's within this."""
_HISTORY: Final = 4096

_FROM_OUTSIDE: Final = (0, -signal.SIGKILL, -signal.SIGTERM)
"""Ends of a worker that somebody else wanted: they say nothing about the worker."""


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
    before: int = 0


class _Running(Struct):
    """A worker, its number and when it was started."""

    number: int
    since: float
    process: Process


class _Scaled:
    """A group as it runs."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.running: list[_Running] = []
        self.lag = 0
        self.active_until = 0.0
        self.backoff = Backoff()
        self.not_before = 0.0
        """When the next worker may be started, after one that failed."""

    def free_number(self) -> int:
        """The lowest number that no worker has: its log file is used again."""
        taken = {one.number for one in self.running}
        return next(number for number in range(1, len(taken) + 2) if number not in taken)


class Autoscaler:
    """Keeps each group at the number of workers that its lag asks for."""

    def __init__(
        self,
        groups: tuple[Group, ...],
        data: DataDirectory,
        client: Client,
        monitor_url: str,
        changed: Callable[[Scale], None] | None = None,
        ended: Callable[[str], None] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "functions.runtime"),
    ) -> None:
        """Scale `groups`, of workers that run `command`.

        `changed` is told of each change, `ended` of each worker that ended unasked, in a
        sentence.
        """
        self._data = data
        self._client = client
        self._monitor = monitor_url
        self._changed = changed
        self._ended = ended
        self._command = tuple(command)
        self._groups = [_Scaled(group) for group in groups]
        self._watched: set[Procedure] = set()
        self._nudge = asyncio.Event()
        self._stops: set[asyncio.Task[None]] = set()
        self.history: deque[Scale] = deque(maxlen=_HISTORY)
        self.history.extend(Scale(time.monotonic(), group.name, 0) for group in groups)

    @property
    def workers(self) -> list[Process]:
        """All worker processes that run."""
        return [o.process for one in self._groups for o in one.running if o.process.alive]

    async def run(self) -> None:
        """Scale, until cancelled."""
        while True:
            try:
                await self._once()
            except Exception as err:
                # Whatever it is, a core whose workers nobody scales is of no use.
                log.warning("the autoscaler failed and goes on", exc_info=err)
                self._tell(f"the autoscaler failed and goes on: {type(err).__name__}: {err}")
                await asyncio.sleep(IDLE_POLL)

    async def _once(self) -> None:
        for one in self._groups:
            await self._scale(one)
            if not one.running and time.monotonic() >= one.not_before:
                await self._watch(one)
        try:
            await asyncio.wait_for(self._nudge.wait(), POLL if self.workers else IDLE_POLL)
            self._nudge.clear()
        except TimeoutError:
            await self._look()

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.stop() for worker in self.workers), *self._stops)

    async def _watch(self, one: _Scaled) -> None:
        """Be nudged by the next event of a group at zero, without polling for it."""
        for procedure in one.group.procedures:
            if procedure not in self._watched:
                self._watched.add(procedure)
                await self._watch_procedure(one, procedure)

    async def _watch_procedure(self, one: _Scaled, procedure: Procedure) -> None:
        async def seen(_: Msg) -> None:
            self._watched.discard(procedure)
            one.lag = max(one.lag, 1)
            self._nudge.set()

        await self._client.subscribe(f"ue.*.{procedure}.*", cb=seen, max_msgs=1)

    async def _look(self) -> None:
        """Ask how many messages of each group wait or are worked on."""
        try:
            by_procedure = await lag(self._monitor)
        except OSError as err:
            # As KEDA does, nothing is scaled by what is not known.
            log.warning("the broker's monitoring does not answer: %s", err)
            return
        for one in self._groups:
            one.lag = sum(by_procedure.get(procedure, 0) for procedure in one.group.procedures)

    async def _scale(self, one: _Scaled) -> None:
        now = time.monotonic()
        group, running = one.group, one.running
        before = len(running)
        for dead in [o for o in running if not o.process.alive]:
            running.remove(dead)
            self._died(one, dead, now)
        self._note(one, before)
        if one.lag > 0:
            one.active_until = now + group.cooldown
        wanted = min(math.ceil(one.lag / group.target), group.max_workers)
        if now < one.active_until:
            wanted = max(wanted, len(running), 1)
        if wanted > len(running) and now < one.not_before:
            return
        if wanted != len(running):
            await self._set(one, wanted)

    def _died(self, one: _Scaled, dead: _Running, now: float) -> None:
        pause = 0.0
        if dead.process.status not in _FROM_OUTSIDE:
            pause = one.backoff.after(now - dead.since)
            one.not_before = max(one.not_before, now + pause)
        again = f"; the next one may start in {pause:g} s" if pause else ""
        self._tell(f"{dead.process.name} {dead.process.end}{again}")

    def _tell(self, sentence: str) -> None:
        if self._ended is not None:
            self._ended(sentence)

    async def _set(self, one: _Scaled, wanted: int) -> None:
        running = one.running
        before = len(running)
        try:
            while len(running) < wanted:
                running.append(await self._start(one))
        except ProcessError as err:
            pause = one.backoff.after(0.0)
            one.not_before = time.monotonic() + pause
            self._tell(f"{err}; again" + (f" in {pause:g} s" if pause else ""))
        while len(running) > wanted:
            task = asyncio.ensure_future(running.pop().process.stop())
            self._stops.add(task)
            task.add_done_callback(self._stops.discard)
        self._note(one, before)

    def _note(self, one: _Scaled, before: int) -> None:
        """Remember how many run now, and say so, where it is another number than before."""
        if len(one.running) == before:
            return
        change = Scale(time.monotonic(), one.group.name, len(one.running), before)
        self.history.append(change)
        if self._changed is not None:
            self._changed(change)

    async def _start(self, one: _Scaled) -> _Running:
        number = one.free_number()
        name = f"worker-{one.group.name}-{number}"
        command = [
            *self._command,
            *("--config", str(self._data.config_file)),
            *("--secrets", str(self._data.secrets_file)),
            *("--procedures", ",".join(one.group.procedures)),
        ]
        process = await Process.start(name, command, self._data.log(name))
        return _Running(number, time.monotonic(), process)
