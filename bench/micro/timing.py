"""Times of small things, in microseconds."""

import time
from collections.abc import Callable

from msgspec import Struct

from bench.figures import Figure


class Row(Struct, frozen=True):
    """One figure of a table."""

    table: str
    what: str
    unit: str
    figure: Figure


def microseconds(work: Callable[[], object], runs: int = 7, seconds: float = 0.03) -> Figure:
    """CPU microseconds of one call: the mean of a run, and the median of runs."""
    count = 1
    while (spent := run(work, count)) < seconds / 4:
        count = max(count + 1, int(count * (seconds / max(spent, 1e-6))))
    return Figure.of([1e6 * run(work, count) / count for _ in range(runs)])


def run(work: Callable[[], object], count: int) -> float:
    """CPU seconds of so many calls."""
    begun = time.process_time()
    for _ in range(count):
        work()
    return time.process_time() - begun
