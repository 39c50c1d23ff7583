"""Swaps of a running core: writing the assignments, and waiting until its workers adopt them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from nats.aio.client import Client
from nats.js.kv import KeyValue

from evcore.swap.watching import START, milliseconds, sentence
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.streams import assignment_bucket
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment, Margins, SwapError
from eventing.ownership.leases import Lease
from schemas.config.nats import NatsConfig

PATIENCE: Final = 40.0
"""Seconds that the workers of a core have to adopt an assignment."""
LOOK: Final = 0.1
"""Seconds between looks at the leases, which have the adopted revisions."""


class Hosting(NamedTuple):
    """A variant of a procedure that live workers host."""

    procedure: str
    variant: str
    name: str
    workers: int


def hosted(live: Iterable[Lease]) -> list[Hosting]:
    """Return the variants that workers host, by procedure."""
    counts: dict[tuple[str, str, str], int] = {}
    for lease in live:
        for procedure, variant in lease.variants.items():
            key = (procedure, variant, lease.names.get(variant, ""))
            counts[key] = counts.get(key, 0) + 1
    return [Hosting(*key, workers) for key, workers in sorted(counts.items())]


class Asking:
    """The swaps of one procedure, of a core."""

    def __init__(self, client: Client, kv: KeyValue, procedure: str) -> None:
        """Use `asking`."""
        self.client = client
        self._kv = kv
        self._procedure = procedure

    async def variant(self, wanted: str, patience: float = START) -> str:
        """Return the id of a variant that live workers host, by its id or by its name.

        Raises:
            SwapError: no worker hosts it within `patience` seconds, or the name is of several.
        """
        found: list[Hosting] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while True:
                    found = hosted(await leases.live(self.client))
                    found = [one for one in found if one.procedure == self._procedure]
                    fitting = {o.variant for o in found if wanted in (o.variant, o.name)}
                    if len(fitting) > 1:
                        raise SwapError(f"{wanted} is the name of {', '.join(sorted(fitting))}")
                    if fitting:
                        return fitting.pop()
                    await asyncio.sleep(LOOK)
        there = ", ".join(f"{one.variant} ({one.name})" for one in found) or "none"
        raise SwapError(
            f"no live worker hosts {wanted} for {self._procedure}; hosted variants: {there}"
        )

    async def begin(self, variant: str, partitions: tuple[int, ...], margins: Margins) -> str:
        """Have a variant decide in some partitions; return a sentence once it alone does.

        Raises:
            SwapError: it is refused or rolled back, or workers do not adopt it in time.
            nats.errors.Error: JetStream refuses it.
        """
        last, revision = await self._read()
        made = assignments.begun(
            last, self._procedure, variant, partitions, margins, milliseconds()
        )
        if await self._is_released(variant):
            raise SwapError(f"{self._procedure} {variant} decides everywhere already")
        await assignments.write(self._kv, made, revision)
        return await self._adopted()

    async def finish(self) -> str:
        """Have the canary decide everywhere; return a sentence once it does.

        Raises:
            SwapError: there is no canary, or workers do not adopt it in time.
            nats.errors.Error: JetStream refuses it.
        """
        last, revision = await self._read()
        released = last is not None and await self._is_released(last.canary)
        made = assignments.finished(last, self._procedure, milliseconds(), released=released)
        await assignments.write(self._kv, made, revision)
        return await self._adopted()

    async def abort(self) -> str:
        """Go back to the version before; return a sentence once it decides.

        Raises:
            SwapError: there is no swap to undo, or workers do not adopt it in time.
            nats.errors.Error: JetStream refuses it.
        """
        last, revision = await self._read()
        made = assignments.aborted(last, self._procedure, "by command", milliseconds())
        await assignments.write(self._kv, made, revision)
        return await self._adopted()

    async def _is_released(self, variant: str) -> bool:
        """Whether all workers that host no variant of the procedure have the code of this one."""
        live = await leases.live(self.client)
        plain = [lease for lease in live if lease.is_plain(self._procedure)]
        return bool(plain) and all(lease.code == variant for lease in plain)

    async def _read(self) -> tuple[Assignment | None, int]:
        return await assignments.read(self._kv, self._procedure)

    async def _adopted(self) -> str:
        """Wait until all workers have adopted the assignment, even if it changes meanwhile."""
        behind: list[str] = []
        now: Assignment | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while True:
                    now, revision = await self._read()
                    if now is None or now.state == "rolled-back":
                        break
                    live = await leases.live(self.client)
                    behind = [one.worker for one in live if one.assignments < revision]
                    if now.state != "starting" and not behind:
                        return sentence(now)
                    await asyncio.sleep(LOOK)
        if now is not None and now.state == "rolled-back":
            raise SwapError(sentence(now))
        who = f"the workers {', '.join(behind)}" if behind else "the core"
        raise SwapError(f"{who} did not adopt it within {PATIENCE:g} s")


@asynccontextmanager
async def asking(bus: NatsConfig, procedure: str) -> AsyncGenerator[Asking]:
    """The swaps of a procedure, of the core on a bus.

    Raises:
        BusError: NATS cannot be reached.
    """
    async with connected_as(Role.OPERATOR, bus, "evcore swap") as client:
        yield Asking(client, await assignment_bucket(client), procedure)


class Status(NamedTuple):
    """The swaps of a core."""

    histories: dict[str, list[Assignment]]
    """By procedure, its swaps, the oldest that is kept first."""
    hosted: list[Hosting]
    unhosted: list[Assignment]
    """The swaps with a stable variant that no live worker hosts: their events wait."""


async def status(bus: NatsConfig, procedures: list[str]) -> Status:
    """Return the swaps of procedures, and the variants that workers host.

    Raises:
        BusError: NATS cannot be reached.
        nats.errors.Error: JetStream does not answer.
    """
    async with connected_as(Role.CONSOLE, bus, "evcore swap") as client:
        histories = {name: await assignments.history(client, name) for name in procedures}
        live = await leases.live(client)
    last = [found[-1] for found in histories.values() if found]
    unhosted = [
        one
        for one in last
        if one.stable and not any(lease.hosts(one.procedure, one.stable) for lease in live)
    ]
    return Status(histories, [one for one in hosted(live) if one.procedure in procedures], unhosted)
