"""Queue-depth autoscaling of worker processes, from zero and back to it.

It sees what KEDA's nats-jetstream scaler sees, the consumers' pending and unacknowledged
messages in the broker's monitoring endpoint, and scales as a ScaledObject does: active above
zero, one replica for each `target` messages, back to zero after a cool-down. Where procedures
have objectives, it is as many as keep the predicted waiting time within them (`forecast`), from
when that is measured. A worker that ends is replaced, as a Deployment does, and one that keeps
ending is given time.
"""

import asyncio
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

from evcore.local.data import DataDirectory
from evcore.local.forking import StartWorker, start_plainly
from evcore.local.group import Group, RunningWorker, Scale, ScaledGroup
from evcore.local.lag import queues
from evcore.local.process import Process, ProcessError
from eventing.stats import StatsWatch
from schemas.config.objectives import Objectives
from schemas.procedures import Procedure

log = logging.getLogger(__name__)

POLL: Final = 0.5
"""Seconds between looks at the lag while anything runs."""
IDLE_POLL: Final = 2.0
"""The same while nothing does: new events are noticed at once, a timer's within this."""
_HISTORY: Final = 4096

_FROM_OUTSIDE: Final = (0, -signal.SIGKILL, -signal.SIGTERM)
"""Ends of a worker that somebody else wanted: they say nothing about the worker."""
_ENDS: Final = 3
"""Workers of a group after whose ends, whatever they were, it counts as one that fails."""


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
        start: StartWorker = start_plainly,
        objectives: Objectives | None = None,
        stats: StatsWatch | None = None,
    ) -> None:
        """Scale `groups`, of workers that are started by `start` and heard by `stats`.

        `changed` is told of each change, `ended` of each worker that ended unasked, in a
        sentence.
        """
        self._data = data
        self._client = client
        self._monitor = monitor_url
        self._changed = changed
        self._ended = ended
        self._start_worker = start
        self._objectives = objectives or Objectives()
        self._stats = stats or StatsWatch()
        self._groups = [ScaledGroup(group, self._objectives) for group in groups]
        self._watched: set[Procedure] = set()
        self._nudge = asyncio.Event()
        self._stops: set[asyncio.Task[None]] = set()
        self._relieved: set[Process] = set()
        """Workers that go on until those in their place are there."""
        self.queued: dict[str, int] = {}
        """Messages that wait or are worked on, by procedure, at the last look."""
        self.history: deque[Scale] = deque(maxlen=_HISTORY)
        self.history.extend(Scale(time.monotonic(), group.name, 0) for group in groups)

    @property
    def workers(self) -> list[Process]:
        """All worker processes that run."""
        running = [o.process for one in self._groups for o in one.running]
        return [process for process in (*running, *self._relieved) if process.alive]

    def workers_of(self, name: str) -> list[Process]:
        """Those of one group that run."""
        return [o.process for o in self._named(name).running if o.process.alive]

    def cold_starts_of(self, name: str) -> tuple[int, int]:
        """How often a group has gone up from zero, and the process that last did so; 0 for none."""
        one = self._named(name)
        return one.cold_starts, one.coldly_started

    @property
    def groups(self) -> list[Group]:
        """What is scaled, as it is now."""
        return [one.group for one in self._groups if not one.removed]

    def add(self, group: Group) -> None:
        """Scale another group, too."""
        self._groups.append(ScaledGroup(group, self._objectives))
        self._nudge.set()

    def remove(self, name: str) -> None:
        """End the workers of a group, and forget it."""
        self._named(name).removed = True
        self._nudge.set()

    def failed(self, name: str) -> str:
        """How the last worker of a group that fails has ended, in a sentence; empty for none."""
        return self._named(name).failed

    def relieve(self, name: str, arguments: tuple[str, ...]) -> list[Process]:
        """Have the next workers of a group be told something else; the workers before them, which
        go on until they are given to `retire`. Where any ran, at least one is started."""
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
        """End workers in order whose successors are there."""
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
                # Whatever it is, a core whose workers nobody scales is of no use.
                log.warning("the autoscaler failed and goes on", exc_info=err)
                self._tell(f"the autoscaler failed and goes on: {type(err).__name__}: {err}")
                await asyncio.sleep(IDLE_POLL)

    async def _once(self) -> None:
        for one in [*self._groups]:
            await self._scale(one)
            if one.removed and not one.running:
                self._groups.remove(one)
                continue
            if not one.running and time.monotonic() >= one.not_before:
                await self._watch(one)
        try:
            await asyncio.wait_for(self._nudge.wait(), POLL if self.workers else IDLE_POLL)
            self._nudge.clear()
        except TimeoutError:
            await self._look()

    async def restart(self) -> None:
        """End all workers in order. Those that are wanted start anew, and read their configuration
        anew with that."""
        ending = self.workers
        for one in self._groups:
            before = len(one.running)
            one.running.clear()
            self._note(one, before)
        await asyncio.gather(*(worker.stop() for worker in ending))
        self._nudge.set()

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.stop() for worker in self.workers), *self._stops)

    async def _watch(self, one: ScaledGroup) -> None:
        """Be nudged by the next event of a group at zero, without polling for it."""
        for procedure in one.group.procedures:
            if procedure not in self._watched:
                self._watched.add(procedure)
                await self._watch_procedure(one, procedure)

    async def _watch_procedure(self, one: ScaledGroup, procedure: Procedure) -> None:
        async def seen(_: Msg) -> None:
            self._watched.discard(procedure)
            one.lag = max(one.lag, 1)
            self._nudge.set()

        await self._client.subscribe(f"ue.*.{procedure}.*", cb=seen, max_msgs=1)

    async def _look(self) -> None:
        """Ask how many messages of each group wait or are worked on."""
        try:
            found = await queues(self._monitor)
        except OSError as err:
            # As KEDA does, nothing is scaled by what is not known.
            log.warning("the broker's monitoring does not answer: %s", err)
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
            self._died(one, dead, now)
        self._note(one, before)
        if one.lag > 0:
            one.active_until = now + group.cooldown
        wanted = one.forecast.workers(len(running)) if one.forecast is not None else None
        if wanted is None:
            wanted = math.ceil(one.lag / group.target)
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
                    one.coldly_started = running[0].process.pid
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
        """Remember how many run now, and say so, where it is another number than before."""
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
        process = await self._start_worker(name, arguments, self._data.log(name))
        return RunningWorker(number, time.monotonic(), process)
