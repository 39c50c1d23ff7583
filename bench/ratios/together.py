"""Ratios of a whole core under load."""

from pathlib import Path
from typing import Final

from bench import procedures as bench_of_procedures
from loadgen import Procedure

UES: Final = 256
RUNS: Final = 3
PROCEDURES: Final = 512
"""Of each kind in a run."""


def _told(milliseconds: float | None) -> float:
    if not milliseconds:
        raise RuntimeError("the CPU time of the load generator is unknown")
    return milliseconds


async def procedures(folder: Path, codec_only: float) -> dict[str, float]:
    """Return the CPU time of the core for each procedure, relative to that of the load generator.

    The load generator uses the same protocols and codecs on the same machine at the same time, so
    it is the reference for the machine's speed. A registration is also compared with `codec_only`,
    the CPU seconds of the codecs for its messages. Each ratio is the least of several runs.

    Raises:
        RuntimeError: the load could not be run, or a procedure failed.
    """
    runs = await bench_of_procedures.runs_of(folder, UES, RUNS, PROCEDURES)
    if failures := sum(run.failures for run in runs):
        raise RuntimeError(f"{failures} procedures failed")
    found: dict[str, float] = {}
    for procedure in dict.fromkeys(bench_of_procedures.ROUND):
        costs = [run.costs[procedure] for run in runs]
        found[f"{procedure} : load generator"] = min(
            sum(cost.cpu_ms.values()) / _told(cost.loadgen_ms) for cost in costs
        )
        if procedure is Procedure.REGISTER:
            cpu_ms = min(sum(cost.cpu_ms.values()) for cost in costs)
            found[f"{procedure} : codec"] = cpu_ms / 1000 / codec_only
    return found
