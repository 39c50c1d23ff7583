"""Workers that get a quarter of the processor time that they need."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.cpu import busy_seconds
from bench.overload.core import PROGRAMME, failures_of, running_core
from evcore.local.core import LocalCore
from loadgen import Procedure

UES: Final = 400
SHARE: Final = 0.25
"""The CPU time of the workers, as a share of what the same load uses without a limit."""
SLICE: Final = 0.01
"""Seconds between two looks at the CPU time of the workers."""
MEASURED: Final = 10.0
"""Seconds of the load without a limit."""
BOTH: Final = ("suci", "stored")
"""Registrations that cannot check a reject, and such that can."""
PERIOD: Final = 0.1
"""Seconds for which unused CPU time may be used later, like the period of a cgroup's quota."""
ROUND: Final = (*PROGRAMME, Procedure.SERVICE_REQUEST, Procedure.IDLE, Procedure.DEREGISTER)
"""A service request has the PDU session status, by which a UE learns of a lost session."""


class Starved(Struct, frozen=True):
    """The outcome of a closed loop with starved workers."""

    cores: float
    """The CPU time that the workers got, in CPU seconds a second."""
    procedures: int
    failures: dict[str, int]
    rejects: dict[str, int]
    expiries: int
    """Requests of UEs that had no answer in time."""
    sessions_lost: int

    @property
    def faults(self) -> list[str]:
        """What is out of its bounds."""
        found = {
            "no procedure ended": not self.procedures,
            "sessions are lost": self.sessions_lost > 0,
            f"requests had no answer: {self.failures}": self.expiries > 0,
            "a reject has no timer": any(" T3" not in reject for reject in self.rejects),
        }
        return [text for text, wrong in found.items() if wrong]

    @property
    def line(self) -> str:
        """The figures as ``name=value``."""
        return (
            f"cores={self.cores:.2f} procedures={self.procedures} "
            f"failures={sum(self.failures.values())} rejects={sum(self.rejects.values())} "
            f"expiries={self.expiries} lost={self.sessions_lost}"
        )


async def starved(folder: Path, seconds: float) -> Starved:
    """Run a closed loop of `UES` UEs while the workers get a quarter of the CPU time they need.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with running_core(folder) as there:
        load = await there.ues(UES)
        await there.closed(load, 3.0, programme=ROUND)
        used = Used(there.core)
        counting = asyncio.ensure_future(used.count())
        measured = asyncio.ensure_future(there.closed(load, MEASURED, programme=ROUND))
        await asyncio.sleep(MEASURED)
        counting.cancel()
        cores = SHARE * used.seconds / MEASURED
        await measured  # its last UEs may wait for T302
        holding = asyncio.ensure_future(_hold(there.core, cores))
        try:
            report = await there.closed(load, seconds, programme=ROUND, identities=BOTH)
        finally:
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
        return Starved(
            cores=cores,
            procedures=report.count,
            failures=failures_of(report),
            rejects=report.rejects,
            expiries=report.expiries,
            sessions_lost=there.lost(report),
        )


class Used:
    """The CPU time of the workers of a core since the start of the count, by process."""

    def __init__(self, core: LocalCore) -> None:
        self._core = core
        self._last: dict[int, float] = {}
        self.seconds = 0.0
        self.look()
        self.seconds = 0.0

    def look(self) -> list[int]:
        """Add the CPU time since the last look. Return the running workers."""
        pids = [worker.pid for worker in self._core.scaler.workers]
        for pid in pids:
            now = busy_seconds(pid)
            if now is not None:
                self.seconds += now - self._last.get(pid, 0.0)
                self._last[pid] = now
        return pids

    async def count(self) -> None:
        """Look now and then, without end."""
        while True:
            self.look()
            await asyncio.sleep(PERIOD)


async def _hold(core: LocalCore, cores: float) -> None:
    """Hold the workers with SIGSTOP whenever they have used their CPU time, without end."""
    used, held = Used(core), list[int]()
    last, left, spent = time.monotonic(), 0.0, 0.0
    try:
        while True:
            pids, now = used.look(), time.monotonic()
            left = min(cores * PERIOD, left + cores * (now - last) - (used.seconds - spent))
            last, spent = now, used.seconds
            _signal(held, signal.SIGCONT) if left > 0 else _signal(pids, signal.SIGSTOP)
            held = [] if left > 0 else pids
            await asyncio.sleep(SLICE)
    finally:
        _signal(held, signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
