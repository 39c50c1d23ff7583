"""Queue-depth autoscaling of worker processes, from zero and back to zero.

Like KEDA's nats-jetstream scaler, it reads the consumers' pending and unacknowledged messages, but
from JetStream's API. It scales like a ScaledObject: active above zero, one
replica for each `target` messages, back to zero after a cool-down. If procedures have objectives,
it starts as many workers as keep the predicted waiting time within them (`forecast`), as soon as
service times are measured. A worker that ends is replaced, as in a Deployment, with increasing
pauses if workers keep ending.
"""

import asyncio
import contextlib
import logging
import math
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import structs
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from evcore.local.data import DataDirectory
from evcore.local.forking import StartWorker, start_plainly
from evcore.local.group import Group, RunningWorker, Scale, ScaledGroup
from evcore.local.lag import queues
from evcore.local.process import Process, ProcessError
from eventing import subjects
from eventing.jetstream.connection import BusError
from eventing.stats import StatsWatch
from schemas.config.objectives import Objectives
from schemas.procedures import Procedure

log = logging.getLogger(__name__)

POLL: Final = 0.5
"""Seconds between readings of the lag. A new event wakes a group at zero at once; a timer that
expires waits for the next reading, because JetStream does not send it to subscribers."""
_HISTORY: Final = 4096

_FROM_OUTSIDE: Final = (0, -signal.SIGKILL, -signal.SIGTERM)
"""Exit statuses of workers that were stopped from outside. They are not failures of a worker."""
_ENDS: Final = 3
"""A group counts as failed after this number of ended workers, whatever their exit statuses."""


class Autoscaler:
    """Keeps each group at the number of workers that its lag needs."""

    def __init__(
        self,
        groups: tuple[Group, ...],
        data: DataDirectory,
        client: Client,
        changed: Callable[[Scale], None] | None = None,
        ended: Callable[[str], None] | None = None,
        start: StartWorker = start_plainly,
        objectives: Objectives | None = None,
        stats: StatsWatch | None = None,
    ) -> None:
        """Scale `groups`. `start` starts a worker, `stats` receives the statistics of the workers.

        `client` has the role `setup`: it sees the events of all procedures arrive.
        `changed` is called with each change of a number of workers. `ended` is called with a
        sentence for each worker that ended unexpectedly.
        """
        self._data = data
        self._client = client
        self._changed = changed
        self._ended = ended
        self._start_worker = start
        self._objectives = objectives or Objectives()
        self._stats = stats or StatsWatch()
        self._groups = [ScaledGroup(group, self._objectives) for group in groups]
        self._watched: set[Procedure] = set()
        self._nudge = asyncio.Event()
        self._stops: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.Task[None]] = set()
        """Wait for the end of each worker, to replace one that was killed without polling."""
        self._relieved: set[Process] = set()
        """Workers that run until their successors have started."""
        self.queued: dict[str, int] = {}
        """Waiting and delivered messages by procedure, at the last reading."""
        self.history: deque[Scale] = deque(maxlen=_HISTORY)
        self.history.extend(Scale(time.monotonic(), group.name, 0) for group in groups)

    @property
    def workers(self) -> list[Process]:
        """All running worker processes."""
        running = [o.process for one in self._groups for o in one.running]
        return [process for process in (*running, *self._relieved) if process.alive]

    def workers_of(self, name: str) -> list[Process]:
        """Return the running worker processes of a group."""
        return [o.process for o in self._named(name).running if o.process.alive]

    def cold_starts_of(self, name: str) -> tuple[int, int]:
        """Return the number of cold starts of a group, and the process of the last one or 0."""
        one = self._named(name)
        return one.cold_starts, one.cold_start_pid

    @property
    def groups(self) -> list[Group]:
        """The scaled groups."""
        return [one.group for one in self._groups if not one.removed]

    def add(self, group: Group) -> None:
        """Start to scale another group."""
        self._groups.append(ScaledGroup(group, self._objectives))
        self._nudge.set()

    def remove(self, name: str) -> None:
        """Stop the workers of a group, and stop scaling it."""
        self._named(name).removed = True
        self._nudge.set()

    def failed(self, name: str) -> str:
        """Return how the last failed worker of a group ended, as a sentence; empty for none."""
        return self._named(name).failed

    def relieve(self, name: str, arguments: tuple[str, ...]) -> list[Process]:
        """Start the next workers of a group with other arguments. Return the workers before them.

        Those run until they are given to `retire`. If a worker ran, at least one is started.
        """
        one = self._named(name)
        before = len(one.running)
        one.group = structs.replace(one.group, arguments=arguments)
        relieved = [running.process for running in one.running]
        one.running.clear()
        self._relieved.update(relieved)
        self._note(one, before)
        self._nudge.set()
        return relieved

    async def retire(self, relieved: Iterable[Process]) -> None:
        """Stop workers in order after their successors have started."""
        leaving = list(relieved)
        await asyncio.gather(*(process.stop() for process in leaving))
        self._relieved.difference_update(leaving)

    def _named(self, name: str) -> ScaledGroup:
        return next(one for one in self._groups if one.group.name == name and not one.removed)

    async def run(self) -> None:
        """Scale, until cancelled."""
        while True:
            try:
                await self._once()
            except Exception as err:
                # After any error the autoscaler continues: a core needs its workers scaled.
                log.warning("the autoscaler failed and continues", exc_info=err)
                self._tell(f"the autoscaler failed and continues: {type(err).__name__}: {err}")
                await asyncio.sleep(POLL)

    async def _once(self) -> None:
        for one in [*self._groups]:
            await self._scale(one)
            if one.removed and not one.running:
                self._groups.remove(one)
                continue
            if not one.running and time.monotonic() >= one.not_before:
                await self._watch(one)
        try:
            async with asyncio.timeout(POLL):
                await self._nudge.wait()
            self._nudge.clear()
        except TimeoutError:
            await self._look()

    async def restart(self) -> None:
        """Stop all workers in order. New ones start as needed, and read the new configuration."""
        ending = self.workers
        for one in self._groups:
            before = len(one.running)
            one.running.clear()
            self._note(one, before)
        await asyncio.gather(*(worker.stop() for worker in ending))
        self._nudge.set()

    async def stop(self) -> None:
        """Stop all workers."""
        await asyncio.gather(*(worker.stop() for worker in self.workers), *self._stops)

    async def _watch(self, one: ScaledGroup) -> None:
        """Subscribe to the next event of a group at zero, to start a worker without polling.

        Then read the lag again. An event between the last reading and the subscription would wait
        for the next reading. So would one that a stopping worker gives back.
        """
        missing = [each for each in one.group.procedures if each not in self._watched]
        for procedure in missing:
            self._watched.add(procedure)
            await self._watch_procedure(one, procedure)
        if missing:
            with contextlib.suppress(NatsError):
                await self._client.flush(timeout=1)
            await self._look()
            if one.lag > 0:
                self._nudge.set()

    async def _watch_procedure(self, one: ScaledGroup, procedure: Procedure) -> None:
        async def seen(_: Msg) -> None:
            self._watched.discard(procedure)
            one.woken = True
            self._nudge.set()

        await self._client.subscribe(subjects.events_for(procedure), cb=seen, max_msgs=1)

    async def _look(self) -> None:
        """Read the number of waiting and delivered messages of each group."""
        try:
            found = await queues(self._client)
        except BusError as err:
            # Like KEDA, do not scale without a reading.
            log.warning("the waiting messages are not known: %s", err)
            return
        now = time.monotonic()
        self.queued = {procedure: queue.waits for procedure, queue in found.items()}
        for one in self._groups:
            one.lag = sum(self.queued.get(procedure, 0) for procedure in one.group.procedures)
            if one.forecast is not None:
                pids = {running.process.pid for running in one.running}
                one.forecast.served(s for s in self._stats.workers.values() if s.pid in pids)
                one.forecast.look(now, found)

    async def _scale(self, one: ScaledGroup) -> None:
        now = time.monotonic()
        group, running = one.group, one.running
        before = len(running)
        for dead in [o for o in running if not o.process.alive]:
            running.remove(dead)
            await dead.process.wait()
            self._died(one, dead, now)
        self._note(one, before)
        # The event that woke the group may be newer than the reading.
        lag, one.woken = max(one.lag, int(one.woken)), False
        if lag > 0:
            one.active_until = now + group.cooldown
        wanted = one.forecast.workers(len(running)) if one.forecast is not None else None
        if wanted is None:
            wanted = math.ceil(lag / group.target)
        wanted = min(wanted, group.max_workers)
        if now < one.active_until:
            wanted = max(wanted, len(running), 1)
        wanted = 0 if one.removed else max(wanted, group.min_workers)
        if wanted > len(running) and now < one.not_before:
            return
        if wanted != len(running):
            await self._set(one, wanted)

    def _died(self, one: ScaledGroup, dead: RunningWorker, now: float) -> None:
        pause = 0.0
        one.ends += 1
        if dead.process.status not in _FROM_OUTSIDE or one.ends >= _ENDS:
            one.failed = f"{dead.process.name} {dead.process.end}"
        if dead.process.status not in _FROM_OUTSIDE:
            pause = one.backoff.after(now - dead.since)
            one.not_before = max(one.not_before, now + pause)
        again = f"; the next one may start in {pause:g} s" if pause else ""
        self._tell(f"{dead.process.name} {dead.process.end}{again}")

    def _tell(self, sentence: str) -> None:
        if self._ended is not None:
            self._ended(sentence)

    async def _set(self, one: ScaledGroup, wanted: int) -> None:
        running = one.running
        before = len(running)
        try:
            while len(running) < wanted:
                running.append(await self._start(one))
                if len(running) == 1 and not self._relieved:
                    one.cold_starts += 1
                    one.cold_start_pid = running[0].process.pid
        except ProcessError as err:
            one.failed = str(err)
            pause = one.backoff.after(0.0)
            one.not_before = time.monotonic() + pause
            self._tell(f"{err}; again" + (f" in {pause:g} s" if pause else ""))
        while len(running) > wanted:
            task = asyncio.ensure_future(running.pop().process.stop())
            self._stops.add(task)
            task.add_done_callback(self._stops.discard)
        self._note(one, before)

    def _note(self, one: ScaledGroup, before: int) -> None:
        """Record and report the number of workers if it has changed."""
        if len(one.running) == before:
            return
        change = Scale(time.monotonic(), one.group.name, len(one.running), before)
        self.history.append(change)
        if self._changed is not None:
            self._changed(change)

    async def _start(self, one: ScaledGroup) -> RunningWorker:
        number = one.free_number()
        name = f"worker-{one.group.name}-{number}"
        arguments = [
            *("--config", str(self._data.config_file)),
            *("--secrets", str(self._data.secrets_file)),
            *("--procedures", ",".join(one.group.procedures)),
            *one.group.arguments,
        ]
        log_file, python = self._data.log(name), one.group.python
        if python:
            process = await start_plainly(name, arguments, log_file, python)
        else:
            process = await self._start_worker(name, arguments, log_file)
        task = asyncio.ensure_future(self._nudge_at_end(process))
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)
        return RunningWorker(number, time.monotonic(), process)

    async def _nudge_at_end(self, process: Process) -> None:
        await process.wait()
        self._nudge.set()
