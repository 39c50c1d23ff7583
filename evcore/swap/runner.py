"""Run the swaps of a local core: start the workers of variants, and judge the canaries."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace
from nats.aio.client import Client
from nats.errors import Error
from nats.js.kv import KeyValue

from evcore.local.autoscaler import Autoscaler
from evcore.local.data import DataDirectory
from evcore.local.group import Group
from evcore.local.process import Process
from evcore.swap.kept import Kept
from evcore.swap.silence import Silence
from evcore.swap.watching import LOOK, Canaries, milliseconds, sentence
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment, AssignmentWatch, SwapError
from eventing.stats import StatsWatch
from schemas.procedures import Procedure

log = logging.getLogger(__name__)

IDLE_LOOK: Final = 1.0
"""Seconds between two checks without a canary."""
RELIEF: Final = 10.0
"""Maximum seconds that relieved workers run while no successor has a lease."""
HUNG: Final = 3.0
"""Seconds without a lease after which a running worker of a canary counts as hanging.

Its UEs wait until T3517 expires after 15 s (TS 24.501 table 10.2.1). 4 s of them pass before the
lease expires. JetStream needs 3 s more to redeliver the worker's events after the rollback."""


class Swaps:
    """Starts and stops the workers of variants in one core, and judges its canaries."""

    def __init__(
        self,
        scaler: Autoscaler,
        data: DataDirectory,
        client: Client,
        stats: StatsWatch,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`stats` receives the statistics of the workers.

        `tell` is called with a sentence for each change of a swap.
        """
        self._scaler = scaler
        self._kept = Kept(data)
        self._client = client
        self._tell = tell
        self._woken = asyncio.Event()
        self._assigned = AssignmentWatch(client, self._woken.set)
        self._stats = stats
        self._kv: KeyValue
        self._canaries: Canaries
        self._told: dict[str, Assignment] = {}
        self._silence = Silence()
        self._stable = {group.name: group for group in scaler.groups}
        self._relieved: dict[str, tuple[float, list[Process]]] = {}
        """By group, the time of relief and the workers that run until a successor has a lease."""

    async def begin(self) -> None:
        """Read the assignments, and let workers host the stable variants.

        Raises:
            nats.errors.Error: JetStream does not answer.
        """
        self._kv = await self._assigned.start()
        self._canaries = Canaries(self._kv, self._stats, self._fault)
        self._told.update(self._assigned.current)
        for one in [*self._assigned.current.values()]:
            await self._withdraw_outdated(one)
        self._reconcile()

    async def run(self) -> None:
        """Check the swaps, until cancelled."""
        while True:
            period = LOOK if self._on_trial or self._relieved else IDLE_LOOK
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(period):
                    await self._woken.wait()
            self._woken.clear()
            try:
                await self._assigned.refresh()
                await self._once()
            except Exception as err:
                # After any error the checks continue: a canary must not run without them.
                log.warning("the check of the swaps failed", exc_info=err)
                self._canaries.missed()
                self._silence.missed()

    async def stop(self) -> None:
        """Stop watching the assignments. A canary stays a canary."""
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
        on_trial = self._on_trial  # a new canary has no group before the next check
        if not on_trial and not self._relieved:
            await self._canaries.look((), ())
            return
        live = await leases.live(self._client)
        pids = {lease.pid for lease in live}
        self._silence.look({process.pid for process in self._scaler.workers}, pids)
        await self._canaries.look(on_trial, live)
        await self._retire(pids)

    async def _withdraw_outdated(self, one: Assignment) -> None:
        """End the swap of a variant that workers cannot host after an upgrade of evcore."""
        reason = self._kept.outdated(one.stable) if one.stable else ""
        if reason:
            after = assignments.withdrawn(one, reason, milliseconds())
        elif one.under_way and (reason := self._kept.outdated(one.canary)):
            after = assignments.rolled_back(one, reason, milliseconds())
        else:
            return
        _, revision = await assignments.read(self._kv, one.procedure)
        try:
            await assignments.write(self._kv, after, revision)
        except (SwapError, Error) as err:
            log.warning("%s: %s", one.procedure, err)
        else:
            self._assigned.current[one.procedure] = after

    # Workers

    def _reconcile(self) -> None:
        """Let groups host their stable overlays; add or remove the groups of other variants."""
        scaled = {group.name: group for group in self._scaler.groups}
        for group in self._stable.values():
            arguments = (*group.arguments, *self._kept.arguments(self._stable_of(group)))
            if scaled[group.name].arguments != arguments:
                _, before = self._relieved.get(group.name, (0.0, []))
                relieved = [*before, *self._scaler.relieve(group.name, arguments)]
                if relieved:
                    self._relieved[group.name] = (time.monotonic(), relieved)
        own = {group.name: group for group in self._groups_of_variants()}
        for name, group in own.items():
            if name not in scaled:
                self._scaler.add(group)
        # The workers of a finished canary run until those of the other groups host its variant.
        if not self._relieved:
            for name in scaled.keys() - self._stable.keys() - own.keys():
                self._scaler.remove(name)

    def _stable_of(self, group: Group) -> list[tuple[str, str]]:
        """Return the stable variants of a group's procedures, as (procedure, variant) pairs."""
        found = ((p, self._assigned.current.get(p)) for p in group.procedures)
        return [(p, one.stable) for p, one in found if one is not None and one.stable]

    def _groups_of_variants(self) -> list[Group]:
        """Return the groups of canaries and of stable environments.

        A variant that this core does not keep has no group: other processes start its workers.
        """
        current = self._assigned.current.values()
        wanted = [(one.procedure, one.canary, 1) for one in current if one.under_way]
        wanted += [(one.procedure, one.stable, 0) for one in current if one.stable]
        return [
            self._group(procedure, variant, min_workers)
            for procedure, variant, min_workers in wanted
            if (self._kept.has(variant) if min_workers else self._kept.python(variant) is not None)
        ]

    def _group(self, procedure: str, variant: str, min_workers: int) -> Group:
        """Return the group of a variant.

        A canary has at least one worker. Otherwise its few events would meet many cold starts, and
        it would seem slow.
        """
        like = next(g for g in self._stable.values() if procedure in g.procedures)
        python = self._kept.python(variant)
        return replace(
            like,
            name=_name_of(procedure, variant),
            procedures=(Procedure(procedure),),
            min_workers=min_workers,
            arguments=self._kept.arguments([(procedure, variant)]) or ("--variant",),
            python="" if python is None else str(python),
        )

    async def _retire(self, live: set[int]) -> None:
        """Stop relieved workers when a successor has a lease, or after `RELIEF` seconds."""
        for name, (since, relieved) in [*self._relieved.items()]:
            has_successor = any(process.pid in live for process in self._scaler.workers_of(name))
            if has_successor or time.monotonic() - since > RELIEF:
                del self._relieved[name]
                await self._scaler.retire(relieved)

    def _fault(self, one: Assignment) -> str:
        """Return a sentence about a failed or hanging worker of a canary; empty without one."""
        name = _name_of(one.procedure, one.canary)
        if all(group.name != name for group in self._scaler.groups):
            return ""
        if failed := self._scaler.failed(name):
            return failed
        for process in self._scaler.workers_of(name):
            if self._silence.of(process.pid) >= HUNG:
                return f"{process.name} runs, and has renewed no lease for {HUNG:g} s"
        return ""


def _name_of(procedure: str, variant: str) -> str:
    return f"{procedure}-{variant}"
