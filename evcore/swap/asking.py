"""Asking a core that runs for a swap, and waiting until its workers go by it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from nats.aio.client import Client
from nats.js.kv import KeyValue

from evcore.swap.runner import sentence
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import assignment_bucket
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment, Margins, SwapError

PATIENCE: Final = 40.0
"""Seconds for which the workers of a core are waited for."""
LOOK: Final = 0.1
"""Seconds between looks at the leases, in which workers say what they go by."""


class Asking:
    """The swaps of one procedure, of a core."""

    def __init__(self, client: Client, kv: KeyValue, procedure: str) -> None:
        """Use `asking`."""
        self._client = client
        self._kv = kv
        self._procedure = procedure

    async def begin(self, variant: str, partitions: tuple[int, ...], margins: Margins) -> str:
        """Have a variant decide in some partitions; a sentence about it, once it alone does.

        Raises:
            SwapError: it cannot be, was rolled back, or workers do not take it over in time.
            nats.errors.Error: JetStream does not take it.
        """
        last, revision = await self._read()
        made = assignments.begun(last, self._procedure, variant, partitions, margins, _now())
        await assignments.write(self._kv, made, revision)
        return await self._taken_over()

    async def finish(self) -> str:
        """Have the canary decide everywhere; a sentence about it, once it does.

        Raises:
            SwapError: there is none, or workers do not take it over in time.
            nats.errors.Error: JetStream does not take it.
        """
        last, revision = await self._read()
        made = assignments.finished(last, self._procedure, _now())
        await assignments.write(self._kv, made, revision)
        return await self._taken_over()

    async def abort(self) -> str:
        """Go back to what decided before; a sentence about it, once that does.

        Raises:
            SwapError: there is nothing to go back from, or workers do not take it over in time.
            nats.errors.Error: JetStream does not take it.
        """
        last, revision = await self._read()
        made = assignments.aborted(last, self._procedure, "by command", _now())
        await assignments.write(self._kv, made, revision)
        return await self._taken_over()

    async def _read(self) -> tuple[Assignment | None, int]:
        return await assignments.read(self._kv, self._procedure)

    async def _taken_over(self) -> str:
        """Wait until all workers go by the assignment, whatever becomes of it meanwhile."""
        behind: list[str] = []
        now: Assignment | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while True:
                    now, revision = await self._read()
                    if now is None or now.state == "rolled-back":
                        break
                    live = await leases.live(self._client)
                    behind = [one.worker for one in live if one.assignments < revision]
                    if now.state != "starting" and not behind:
                        return sentence(now)
                    await asyncio.sleep(LOOK)
        if now is not None and now.state == "rolled-back":
            raise SwapError(sentence(now))
        who = f"the workers {', '.join(behind)}" if behind else "the core"
        raise SwapError(f"{who} did not take it over within {PATIENCE:g} s")


@asynccontextmanager
async def asking(url: str, procedure: str) -> AsyncGenerator[Asking]:
    """The swaps of a procedure, of the core at a URL of NATS.

    Raises:
        BusError: NATS cannot be reached.
    """
    async with connected(url, "evcore swap") as client:
        yield Asking(client, await assignment_bucket(client), procedure)


async def histories(url: str, procedures: list[str]) -> dict[str, list[Assignment]]:
    """What became of all swaps of procedures, the oldest that is kept first.

    Raises:
        BusError: NATS cannot be reached.
        nats.errors.Error: JetStream does not say.
    """
    async with connected(url, "evcore swap") as client:
        kv = await assignment_bucket(client)
        return {name: await assignments.history(kv, name) for name in procedures}


def _now() -> int:
    return time.time_ns() // 1_000_000
