"""The part of a local core that sees to swaps: it starts the workers of canaries, watches whether
they are worse than the stable version, and rolls back those that are."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error
from nats.js.kv import KeyValue

from evcore.local.autoscaler import Autoscaler
from evcore.local.data import DataDirectory
from evcore.local.group import Group
from evcore.local.process import Process
from evcore.swap import kept
from evcore.swap.judge import Counts, counted, verdict
from evcore.swap.silence import Silence
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment, AssignmentWatch, SwapError
from eventing.ownership.leases import Lease
from eventing.stats import StatsWatch
from functions.runtime.variants import version_with
from schemas.procedures import Procedure
from schemas.version import VERSION

log = logging.getLogger(__name__)

LOOK: Final = 0.5
"""Seconds between looks at a canary, when nothing else asks for one."""
IDLE_LOOK: Final = 1.0
"""The same while there is none."""
START: Final = 30.0
"""Seconds that the first worker of a canary is given to start."""
RELIEF: Final = 10.0
"""Seconds that workers whose successors do not come go on."""
LOST: Final = 5.0
"""Seconds without any worker of a canary after which it is rolled back."""
HUNG: Final = 3.0
"""Seconds that a worker of a canary may run without its lease. Its UEs are lost when T3517 is over,
15 s after they have asked (TS 24.501 10.2.2), and most of that is needed for what comes before and
after: the lease lapses (4 s), and what the worker holds is delivered again (3 s)."""


class Swaps:
    """Sees to the swaps of one core."""

    def __init__(
        self,
        scaler: Autoscaler,
        data: DataDirectory,
        client: Client,
        stats: StatsWatch,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`stats` hears the workers. `tell` is told what becomes of a swap, in a sentence."""
        self._scaler = scaler
        self._data = data
        self._client = client
        self._tell = tell
        self._woken = asyncio.Event()
        self._assigned = AssignmentWatch(client, self._woken.set)
        self._stats = stats
        self._kv: KeyValue
        self._told: dict[str, Assignment] = {}
        self._begun: dict[str, tuple[Assignment, Counts]] = {}
        """By procedure, the canary that is judged, and what was counted when it began."""
        self._alive_at: dict[tuple[str, str], float] = {}
        """By procedure and canary, when a worker of it last lived, or was first looked for."""
        self._lived: set[tuple[str, str]] = set()
        """The canaries of which a worker was ever seen here: a core that was started anew waits for
        the first one as for any canary's."""
        self._silence = Silence()
        self._stable = {group.name: group for group in scaler.groups}
        self._relieved: dict[str, tuple[float, list[Process]]] = {}
        """By group, the workers that go on until their successors live, and since when."""

    async def begin(self) -> None:
        """Learn of the swaps that there are, and have workers host what is stable.

        Raises:
            nats.errors.Error: JetStream does not say.
        """
        self._kv = await self._assigned.start()
        self._told.update(self._assigned.current)
        self._reconcile()

    async def run(self) -> None:
        """See to swaps, until cancelled."""
        while True:
            looks = LOOK if self._on_trial or self._relieved else IDLE_LOOK
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), looks)
            self._woken.clear()
            try:
                await self._assigned.refresh()
                await self._once()
            except Exception as err:
                # A core whose canary nobody watches is worse than one more line in a log.
                log.warning("the swaps could not be seen to", exc_info=err)
                # Nothing can be told of workers in a time that nobody saw.
                self._alive_at.clear()
                self._silence.missed()

    async def stop(self) -> None:
        """See to them no more; canaries stay what they are."""
        await self._assigned.stop()

    @property
    def _on_trial(self) -> list[Assignment]:
        return [one for one in self._assigned.current.values() if one.under_way]

    async def _once(self) -> None:
        for procedure, one in self._assigned.current.items():
            if self._told.get(procedure) != one:
                self._told[procedure] = one
                if self._tell is not None:
                    self._tell(sentence(one))
        self._reconcile()
        on_trial = self._on_trial  # those that have their groups: others may come meanwhile
        keys = {(one.procedure, one.canary) for one in on_trial}
        self._alive_at = {key: at for key, at in self._alive_at.items() if key in keys}
        self._lived &= keys
        if not on_trial and not self._relieved:
            return
        live = await leases.live(self._client)
        pids = {lease.pid for lease in live}
        self._silence.look({process.pid for process in self._scaler.workers}, pids)
        for one in on_trial:
            await self._see_to(one, live)
        await self._retire(pids)

    # Workers

    def _reconcile(self) -> None:
        """Have each group host what is stable, and each canary a group of its own."""
        there = {group.name: group for group in self._scaler.groups}
        for group in self._stable.values():
            arguments = (*group.arguments, *kept.arguments(self._data, self._hosted_by(group)))
            if there[group.name].arguments != arguments:
                _, before = self._relieved.get(group.name, (0.0, []))
                relieved = [*before, *self._scaler.relieve(group.name, arguments)]
                if relieved:
                    self._relieved[group.name] = (time.monotonic(), relieved)
        canaries = {group.name: group for group in map(self._canary, self._on_trial)}
        for name, group in canaries.items():
            if name not in there:
                self._scaler.add(group)
        # Those of a canary that was finished go on until the others host what they do.
        if not self._relieved:
            for name in there.keys() - self._stable.keys() - canaries.keys():
                self._scaler.remove(name)

    def _hosted_by(self, group: Group) -> dict[str, str]:
        """The variants that a group of the stable versions hosts."""
        found = ((p, self._assigned.current.get(p)) for p in group.procedures)
        return {p: one.stable for p, one in found if one is not None and one.stable}

    def _canary(self, one: Assignment) -> Group:
        """The workers of a canary: one at least, for a start from zero is no fault of it."""
        procedure = Procedure(one.procedure)
        like = next(g for g in self._stable.values() if procedure in g.procedures)
        return replace(
            like,
            name=f"{one.procedure}-{one.canary}",
            procedures=(procedure,),
            min_workers=1,
            arguments=kept.arguments(self._data, {one.procedure: one.canary}),
        )

    async def _retire(self, live: set[int]) -> None:
        """End the workers whose successors live, or should by now."""
        for name, (since, relieved) in [*self._relieved.items()]:
            there = any(process.pid in live for process in self._scaler.workers_of(name))
            if there or time.monotonic() - since > RELIEF:
                del self._relieved[name]
                await self._scaler.retire(relieved)

    # Canaries

    async def _see_to(self, one: Assignment, live: Iterable[Lease]) -> None:
        lives = any(lease.hosts(one.procedure, one.canary) for lease in live)
        now = time.monotonic()
        key = (one.procedure, one.canary)
        seen = self._alive_at.setdefault(key, now)
        if lives:
            self._alive_at[key] = now
            self._lived.add(key)
        group = self._canary(one).name
        why = self._scaler.failed(group) or self._hung(group)
        patience = LOST if key in self._lived else START
        if not why and not lives and now - seen > patience:
            why = f"no worker of it has lived for {patience:g} s"
        if not why and one.state == "canary":
            why = self._judged(one)
        if why:
            await self._write(one, assignments.rolled_back(one, why, _now()))
        elif lives and one.state == "starting":
            await self._write(one, assignments.promoted(one, _now()))

    def _hung(self, group: str) -> str:
        """Which worker of a group runs without its lease for too long, in a sentence."""
        for process in self._scaler.workers_of(group):
            if self._silence.of(process.pid) >= HUNG:
                return f"{process.name} runs, and has renewed no lease for {HUNG:g} s"
        return ""

    def _judged(self, one: Assignment) -> str:
        label = version_with(VERSION, {one.procedure: one.canary})
        counts = counted(self._stats, one.procedure, one.canary, label)
        known = self._begun.get(one.procedure)
        if known is None or known[0] != one:
            self._begun[one.procedure] = (one, counts)
            return ""
        return verdict(counts.since(known[1]), one.margins)

    async def _write(self, before: Assignment, after: Assignment) -> None:
        """Write what becomes of a swap, if nobody has written anything else since."""
        found, revision = await assignments.read(self._kv, before.procedure)
        if found != before:
            return
        try:
            await assignments.write(self._kv, after, revision)
        except (SwapError, Error) as err:
            log.warning("%s: %s", before.procedure, err)


def sentence(one: Assignment) -> str:
    """What became of a swap, for people."""
    what = f"{one.procedure} {one.canary}"
    partitions = ", ".join(map(str, one.partitions))
    match one.state:
        case "starting":
            return f"{what} is being started for partitions {partitions}"
        case "canary":
            return f"{what} decides in partitions {partitions}"
        case "finished":
            return f"{what} decides everywhere"
        case "aborted":
            back = one.stable or "the version that evcore came with"
            return f"{what} was withdrawn ({one.reason}); {back} decides everywhere"
        case "rolled-back":
            return f"{what} is rolled back: {one.reason}"


def _now() -> int:
    return time.time_ns() // 1_000_000
