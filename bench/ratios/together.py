"""Ratios of a whole core under load."""

import asyncio
import os
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Final

from bench import procedures as bench_of_procedures
from bench.micro.floor import codec_seconds
from loadgen import Procedure

CPUS: Final = os.cpu_count() or 1
UES: Final = 256
RUNS: Final = 3
PROCEDURES: Final = 512
"""Of each kind in a run."""


def _told(milliseconds: float | None) -> float:
    if not milliseconds:
        raise RuntimeError("the CPU time of the load generator is unknown")
    return milliseconds


async def procedures(folder: Path) -> dict[str, float]:
    """Return the CPU time of the core for each procedure, relative to that of the load generator.

    The load generator uses the same protocols and codecs on the same machine at the same time, so
    it is the reference for the machine's speed. A registration is also compared with the codecs for
    its messages, measured before and after each run. Each ratio is the least of several runs.

    Raises:
        RuntimeError: the load could not be run, or a procedure failed.
    """
    found: defaultdict[str, list[float]] = defaultdict(list)
    with ProcessPoolExecutor(CPUS, get_context("spawn")) as codecs:
        async with bench_of_procedures.measuring(folder, UES, PROCEDURES) as measure:
            before = await _codec(codecs)
            for _ in range(RUNS):
                run = await measure()
                if run.failures:
                    raise RuntimeError(f"{run.failures} procedures failed")
                after = await _codec(codecs)
                for procedure, cost in run.costs.items():
                    cpu_ms = sum(cost.cpu_ms.values())
                    found[f"{procedure} : load generator"].append(cpu_ms / _told(cost.loadgen_ms))
                register = sum(run.costs[Procedure.REGISTER].cpu_ms.values()) / 1000
                found[f"{Procedure.REGISTER} : codec"].append(register / mean((before, after)))
                before = after
    return {name: min(ratios) for name, ratios in found.items()}


async def _codec(codecs: ProcessPoolExecutor) -> float:
    """Return the CPU seconds of the codecs for a registration while all CPUs are busy with them.

    Under load, all CPUs are busy too: one busy CPU of a machine is often faster than each of many.
    """
    run = asyncio.get_running_loop().run_in_executor
    return mean(await asyncio.gather(*(run(codecs, codec_seconds) for _ in range(CPUS))))
