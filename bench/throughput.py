"""Programmes of UEs per second, the latencies of their procedures, and the CPU time per process.

A closed loop: each UE runs its programme and starts again, as fast as the core answers.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from bench.core import core_for, processes
from bench.cpu import CpuMeter
from evcore.local.core import LocalCore
from loadgen import Procedure
from loadgen.report.report import Report

WARM_UP = 2.0
"""Seconds of load before the measurement, so that functions are running."""


PROGRAMMES: Final = {
    "registration": (Procedure.REGISTER, Procedure.DEREGISTER),
    "session": (
        Procedure.REGISTER,
        Procedure.SESSION,
        Procedure.IDLE,
        Procedure.SERVICE_REQUEST,
        Procedure.DEREGISTER,
    ),
}
"""The measured programmes by name. A registration uses a SUCI and includes 5G-AKA, security mode
control and initial context setup."""


class Latency(Struct, frozen=True):
    """Latency of a procedure as the UE sees it, in seconds."""

    p50: float
    p99: float


class Run(Struct, frozen=True):
    """One run of some UEs."""

    programmes: int
    """How often the last procedure of the programme succeeded."""
    per_second: float
    latency: dict[str, Latency]
    """By procedure."""
    failures: int
    cpu_ms: dict[str, float]
    """CPU milliseconds per programme, by process."""
    blocked: int = 0
    """Arrivals that found no free UE; 0 in a closed loop."""


async def runs_of(folder: Path, name: str, ues: int, seconds: float, count: int) -> list[Run]:
    """Run a programme with `ues` UEs several times on a new core.

    Raises:
        RuntimeError: the load could not be run.
    """
    programme = PROGRAMMES[name]
    async with core_for(folder, ues, programme) as core:
        await core.load.run(programme, WARM_UP)
        return [
            await measured(core.core, programme, core.load.run(programme, seconds))
            for _ in range(count)
        ]


async def measured(
    core: LocalCore, programme: tuple[Procedure, ...], load: Coroutine[Any, Any, Report]
) -> Run:
    """Run a load of a programme, and measure the use of the processes.

    Raises:
        RuntimeError: no UE completed its programme, or the load could not be run.
    """
    meter = CpuMeter(lambda: processes(core))
    metering = asyncio.ensure_future(meter.run())
    try:
        report = await load
    finally:
        metering.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await metering
    meter.look()
    last = report.procedures[programme[-1]]
    if not last.succeeded:
        raise RuntimeError(f"no UE completed its programme: {last.failures}")
    used = {**meter.totals(), "loadgen": report.cpu_seconds}
    return Run(
        programmes=last.succeeded,
        per_second=last.succeeded / report.seconds,
        latency={
            name: Latency(found.latency.p50, found.latency.p99)
            for name, found in report.procedures.items()
            if found.latency is not None
        },
        failures=report.failures,
        cpu_ms={name: 1000 * spent / last.succeeded for name, spent in used.items()},
        blocked=report.blocked_arrivals,
    )
