"""Each procedure on its own: how many a second, how fast, and what each process spends on one.

All UEs do one procedure, then all do the next, round after round. The CPU time of the processes is
sampled all the while, and cut where the load says that one phase ended and the next began.
"""

from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.cpu import busy_seconds
from bench.sampler import Counters, Sampler
from bench.throughput import Core, Latency, core_for, processes
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
"""A deregistration from idle begins with a connection; it is one UE message more than connected."""
PROCESSES: Final = ("gateways", "workers", "nats-server")
LOADGEN: Final = "loadgen"
PROCEDURES: Final = 1024
"""How often each procedure is done in a run, at least, where `MOST_ROUNDS` are enough for it."""
MOST_ROUNDS: Final = 24
ENOUGH: Final = 32
"""UEs below which a phase is too short to say what it cost."""


class Cost(Struct, frozen=True):
    """One procedure in one run."""

    count: int
    per_second: float
    latency: Latency
    cpu_ms: dict[str, float]
    """CPU milliseconds of each process of the core for one; empty where phases were too short."""
    loadgen_ms: float | None = None
    """Those of the load generator, which are none of the core's; None as above."""


class Run(Struct, frozen=True):
    """One run of all procedures with some UEs."""

    failures: int
    costs: dict[str, Cost]


async def runs_of(folder: Path, ues: int, count: int, least: int = PROCEDURES) -> list[Run]:
    """Some runs of `ues` UEs on a fresh core, each with at least so many of each procedure.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with core_for(folder, ues, ROUND) as core:
        rounds = min(MOST_ROUNDS, max(1, least // ues))
        await core.load.phases(phases_of(ROUND, 1))
        return [await _measured(core, phases_of(ROUND, rounds), ues) for _ in range(count)]


def phases_of(procedures: tuple[Procedure, ...], rounds: int) -> tuple[Phase, ...]:
    """Phases in each of which all UEs do one procedure, round after round."""
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
    """The procedure, the beginning and the end of each phase, in seconds since 1970."""
    at = datetime.fromisoformat(report.started_at).timestamp()
    times = [at]
    for phase in report.phases:
        times.append(times[-1] + phase.seconds)
    names = (phase.name.rpartition("/")[2] for phase in report.phases)
    return [(name, *cut) for name, cut in zip(names, pairwise(times), strict=True)]
