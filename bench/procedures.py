"""Each procedure by itself: its rate, its latency, and the CPU time of each process.

All UEs run one procedure, then all run the next, round after round. The CPU time of the processes
is sampled during the run, and divided at the times at which the load reports the end of a phase.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.core import Core, core_for, processes
from bench.cpu import busy_seconds
from bench.sampler import Counters, Sampler
from bench.throughput import Latency
from loadgen import Procedure
from loadgen.load.phases import Phase, Share
from loadgen.report.report import Report

ROUND: Final = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.IDLE,
    Procedure.DEREGISTER,
)
"""A deregistration from idle starts with a connection. It has one UE message more than a
deregistration while connected."""
PROCESSES: Final = ("gateways", "workers", "nats-server")
LOADGEN: Final = "loadgen"
PROCEDURES: Final = 1024
"""The least number of each procedure in a run, if `MOST_ROUNDS` rounds are enough for it."""
MOST_ROUNDS: Final = 24
ENOUGH: Final = 32
"""With fewer UEs a phase is too short to measure its cost."""


class Cost(Struct, frozen=True):
    """One procedure in one run."""

    count: int
    per_second: float
    latency: Latency
    cpu_ms: dict[str, float]
    """CPU milliseconds of each core process per procedure; empty if the phases were too short."""
    loadgen_ms: float | None = None
    """CPU milliseconds of the load generator, which is not part of the core; None if the phases
    were too short."""


class Run(Struct, frozen=True):
    """One run of all procedures with some UEs."""

    failures: int
    costs: dict[str, Cost]


async def runs_of(folder: Path, ues: int, count: int, least: int = PROCEDURES) -> list[Run]:
    """Run `ues` UEs several times on a new core, each time with at least `least` of each procedure.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with measuring(folder, ues, least) as run:
        return [await run() for _ in range(count)]


@asynccontextmanager
async def measuring(
    folder: Path, ues: int, least: int = PROCEDURES
) -> AsyncGenerator[Callable[[], Awaitable[Run]]]:
    """Start a new core with `ues` UEs that have run each procedure, and yield what measures a run.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with core_for(folder, ues, ROUND) as core:
        rounds = min(MOST_ROUNDS, max(1, least // ues))
        await core.load.phases(phases_of(ROUND, 1))
        yield partial(_measured, core, phases_of(ROUND, rounds), ues)


def phases_of(procedures: tuple[Procedure, ...], rounds: int) -> tuple[Phase, ...]:
    """Return phases in which all UEs run one procedure, round after round."""
    return tuple(
        Phase(name=f"{number}/{at}/{procedure}", mix=(Share((procedure,)),))
        for number in range(rounds)
        for at, procedure in enumerate(procedures)
    )


async def _measured(core: Core, phases: tuple[Phase, ...], ues: int) -> Run:
    loads: list[int] = []
    sampler = Sampler(lambda: {**processes(core.core), LOADGEN: loads}, _cpu)
    async with sampler.running():
        report = await core.load.phases(phases, loads.append)
    seconds: defaultdict[str, float] = defaultdict(float)
    spent: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for procedure, begun, ended in cuts(report):
        seconds[procedure] += ended - begun
        for process, used in sampler.between(begun, ended).items():
            spent[procedure][process] += sum(used)
    costs: dict[str, Cost] = {}
    for name, found in report.procedures.items():
        if found.latency is not None:
            each = spent[name].items() if ues >= ENOUGH else ()
            ms = {process: 1000 * used / found.succeeded for process, used in each}
            costs[name] = Cost(
                count=found.succeeded,
                per_second=found.succeeded / seconds[name],
                latency=Latency(found.latency.p50, found.latency.p99),
                loadgen_ms=ms.pop(LOADGEN, None),
                cpu_ms=ms,
            )
    return Run(report.failures, costs)


def _cpu(pid: int) -> Counters | None:
    used = busy_seconds(pid)
    return None if used is None else (used,)


def cuts(report: Report) -> list[tuple[str, float, float]]:
    """Return the procedure, the start and the end of each phase, in seconds since 1970."""
    at = datetime.fromisoformat(report.started_at).timestamp()
    times = [at]
    for phase in report.phases:
        times.append(times[-1] + phase.seconds)
    names = (phase.name.rpartition("/")[2] for phase in report.phases)
    return [(name, *cut) for name, cut in zip(names, pairwise(times), strict=True)]
