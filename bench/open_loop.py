"""Latencies at a share of the capacity: UEs start at random times, independent of the core.

Arrivals are a Poisson process. Its rate is a share of the capacity, the programmes per second of a
closed loop.
"""

from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.core import core_for
from bench.figures import Figure
from bench.throughput import PROGRAMMES, WARM_UP, Run, measured
from loadgen import Procedure

SHARES: Final = (0.5, 0.8)
UES: Final = 1024
"""More UEs than are busy at once, so that each arrival finds a free one."""


class Share(Struct, frozen=True):
    """A programme at a share of the capacity."""

    share: float
    rate: float
    """The requested programmes per second."""
    runs: list[Run]


async def shares_of(
    folder: Path, name: str, capacity: float, seconds: float, count: int
) -> list[Share]:
    """Run a programme several times at each share of a capacity, on a new core.

    Raises:
        RuntimeError: the load could not be run.
    """
    programme = PROGRAMMES[name]
    found: list[Share] = []
    async with core_for(folder, UES, programme) as core:
        await core.load.poisson(programme, SHARES[0] * capacity, WARM_UP)
        for share in SHARES:
            rate = share * capacity
            runs = [
                await measured(core.core, programme, core.load.poisson(programme, rate, seconds))
                for _ in range(count)
            ]
            found.append(Share(share, rate, runs))
    return found


def markdown(programme: tuple[Procedure, ...], found: list[Share]) -> list[str]:
    """Return the table of a programme."""
    heads = ("capacity", "arrivals/s", *programme, "core CPU", "blocked", "failures")
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for one in found:
        cells = [f"{100 * one.share:.0f} %", f"{one.rate:.0f}"]
        for procedure in programme:
            latencies = [run.latency[procedure] for run in one.runs]
            p50 = Figure.of([1000 * latency.p50 for latency in latencies]).text(1)
            p99 = Figure.of([1000 * latency.p99 for latency in latencies]).text(1)
            cells.append(f"{p50} / {p99}")
        core = [sum(run.cpu_ms.values()) - run.cpu_ms["loadgen"] for run in one.runs]
        cells.append(Figure.of(core).text(2))
        cells += [str(sum(run.blocked for run in one.runs))]
        cells += [str(sum(run.failures for run in one.runs))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
