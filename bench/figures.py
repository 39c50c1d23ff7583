"""Figures of repeated measurements, and CPU times of short functions."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final

from msgspec import Struct


class Figure(Struct, frozen=True):
    """The median of several runs, with the least and the greatest."""

    median: float
    least: float
    greatest: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        """Return the figure of one or more values."""
        return cls(median(values), min(values), max(values), len(values))

    def text(self, digits: int = 1) -> str:
        """Return the median, followed by the spread if there are several runs."""
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
    """Return the CPU microseconds of one call: the mean of each run, and the median of the runs."""
    count = 1
    while (spent := run(work, count)) < seconds / 4:
        count = max(count + 1, int(count * (seconds / max(spent, 1e-6))))
    return Figure.of([1e6 * run(work, count) / count for _ in range(runs)])


def run(work: Callable[[], object], count: int) -> float:
    """Return the CPU seconds of `count` calls."""
    begun = time.process_time()
    for _ in range(count):
        work()
    return time.process_time() - begun


RUNS: Final = 5
LONG: Final = 0.006
"""Approximate CPU seconds of a run."""


def least(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the CPU seconds of one call of each function, the least of several runs.

    The functions take turns, so that a change of the machine's speed affects all of them.
    """
    counts = {name: _enough(work) for name, work in works.items()}
    found = dict.fromkeys(works, float("inf"))
    for _ in range(RUNS):
        for name, work in works.items():
            found[name] = min(found[name], run(work, counts[name]) / counts[name])
    return found


def _enough(work: Callable[[], object]) -> int:
    """Return how many calls make a run. The function is warm after that."""
    count = 1
    while (spent := run(work, count)) < LONG / 2:
        count = max(2 * count, int(count * LONG / max(spent, 1e-6)))
    return count
