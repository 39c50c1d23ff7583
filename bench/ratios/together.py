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
        raise RuntimeError("the CPU time of the load generator is not known")
    return milliseconds


async def procedures(folder: Path, codec_only: float) -> dict[str, float]:
    """The CPU time of the core for each procedure, to that of the load generator for the same.

    The load generator speaks the same protocols by the same codecs on the same machine at the same
    moment, so it is the yardstick of how fast that is. A registration is also compared with
    `codec_only`, the seconds that the codecs alone take for its messages. Each ratio is the least
    of some runs.

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
