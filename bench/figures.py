"""Several runs of one thing, made one figure."""

from collections.abc import Sequence
from statistics import median

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
