"""Several runs of one thing, made one figure."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final

from msgspec import Struct


class Figure(Struct, frozen=True):
    """The median of several runs, and how far they were apart."""

    median: float
    least: float
    greatest: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        """The figure of at least one value."""
        return cls(median(values), min(values), max(values), len(values))

    def text(self, digits: int = 1) -> str:
        """The median, with the spread behind it when there is one."""
        if self.runs == 1:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.least:.{digits}f}-{self.greatest:.{digits}f})"


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
