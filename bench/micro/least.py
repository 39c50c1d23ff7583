"""CPU times that are to be compared with each other."""

from collections.abc import Callable, Mapping
from typing import Final

from bench.micro.timing import run

RUNS: Final = 5
LONG: Final = 0.006
"""CPU seconds of a run, about."""


def least(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """CPU seconds of one call of each, the least of some runs.

    The runs of all take turns, so that a machine that changes its speed does so for each of them.
    """
    counts = {name: _enough(work) for name, work in works.items()}
    found = dict.fromkeys(works, float("inf"))
    for _ in range(RUNS):
        for name, work in works.items():
            found[name] = min(found[name], run(work, counts[name]) / counts[name])
    return found


def _enough(work: Callable[[], object]) -> int:
    """How many calls make a run, after which the work is warm."""
    count = 1
    while (spent := run(work, count)) < LONG / 2:
        count = max(2 * count, int(count * LONG / max(spent, 1e-6)))
    return count
