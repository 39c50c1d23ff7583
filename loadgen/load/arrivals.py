"""The arrival processes of a load: when programmes start.

The first value of each `gaps` is the time until the first arrival. All values come from the given
random generator, so a seed reproduces a load.
"""

import csv
from collections.abc import Iterator
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import TypeAlias

from msgspec import Struct


class ArrivalsError(Exception):
    """Invalid arrivals. The message is one sentence."""


class Closed(Struct, frozen=True, tag="closed", tag_field="kind", forbid_unknown_fields=True):
    """No arrivals: every UE starts at once, and again after each programme."""

    ramp: float = 0.0
    """Seconds over which the starts of the UEs are spread."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        return None if _is_time(self.ramp) else f"ramp is {self.ramp}, but must not be negative"


class Poisson(Struct, frozen=True, tag="poisson", tag_field="kind", forbid_unknown_fields=True):
    """A Poisson process."""

    rate: float
    """Arrivals per second."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        if _is_rate(self.rate):
            return None
        return f"rate is {self.rate}, but must be above 0 arrivals per second"

    @property
    def mean_rate(self) -> float:
        """The long-term mean of arrivals per second."""
        return self.rate

    def gaps(self, rng: Random) -> Iterator[float]:
        """Return the times between arrivals, in seconds."""
        while True:
            yield rng.expovariate(self.rate)


class Mmpp(Struct, frozen=True, tag="mmpp", tag_field="kind", forbid_unknown_fields=True):
    """Bursts: a Poisson process that switches between two rates (a two-state MMPP).

    It starts in the first state and stays in each state for an exponential time.
    """

    rates: tuple[float, float]
    """Arrivals per second in each state; one of them may be 0."""
    sojourns: tuple[float, float]
    """The mean time in each state, in seconds."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        if not all(isfinite(one) and one >= 0 for one in self.rates) or not any(self.rates):
            return f"rates are {self.rates}, but must be arrivals per second, at least one above 0"
        if not all(_is_rate(one) for one in self.sojourns):
            return f"sojourns are {self.sojourns}, but must be seconds above 0"
        return None

    @property
    def mean_rate(self) -> float:
        """The long-term mean of arrivals per second."""
        weighted = sum(rate * stay for rate, stay in zip(self.rates, self.sojourns, strict=True))
        return weighted / sum(self.sojourns)

    def gaps(self, rng: Random) -> Iterator[float]:
        """Return the times between arrivals, in seconds."""
        state, gap = 0, 0.0
        left = rng.expovariate(1 / self.sojourns[0])
        while True:
            rate = self.rates[state]
            next_one = rng.expovariate(rate) if rate > 0 else inf
            if next_one <= left:
                left -= next_one
                yield gap + next_one
                gap = 0.0
            else:
                # The exponential distribution has no memory: draw again at the new rate.
                gap += left
                state = 1 - state
                left = rng.expovariate(1 / self.sojourns[state])


class Empirical(Struct, frozen=True, tag="file", tag_field="kind", forbid_unknown_fields=True):
    """Measured times between arrivals, drawn with equal probability."""

    file: str
    """A file with one number of seconds per line, or CSV; relative to the folder of the
    scenario."""
    column: str | None = None
    """The column of a CSV file with a heading; None for the first column of a file without one."""
    scale: float = 1.0
    """A factor for each time: 0.5 doubles the rate."""
    samples: tuple[float, ...] = ()
    """The times in the file, once it is read."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        if not _is_rate(self.scale):
            return f"scale is {self.scale}, but must be above 0"
        if self.samples and not any(self.samples):
            return "samples are all 0, but one must be above 0"
        return None

    @property
    def mean_rate(self) -> float:
        """The long-term mean of arrivals per second."""
        return len(self.samples) / (sum(self.samples) * self.scale)

    def gaps(self, rng: Random) -> Iterator[float]:
        """Return the times between arrivals, in seconds."""
        while True:
            yield rng.choice(self.samples) * self.scale


Arrivals: TypeAlias = Closed | Poisson | Mmpp | Empirical


def loaded(arrivals: Arrivals, folder: Path = Path()) -> Arrivals:
    """Return the arrivals with their file read, if they have one; `folder` is for relative names.

    Raises:
        ArrivalsError: the file cannot be read or has an invalid time.
    """
    if not isinstance(arrivals, Empirical) or arrivals.samples:
        return arrivals
    samples = read_times(folder / arrivals.file, arrivals.column)
    return Empirical(arrivals.file, arrivals.column, arrivals.scale, samples)


def read_times(path: Path, column: str | None) -> tuple[float, ...]:
    """Read the times of a file, in seconds. Empty lines and lines that start with # are skipped.

    Raises:
        ArrivalsError: the file cannot be read or has an invalid time.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [
                (number, row)
                for number, row in enumerate(csv.reader(file), 1)
                if any(cell.strip() for cell in row) and not row[0].startswith("#")
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ArrivalsError(f"cannot read {path}: {why}") from error
    place = 0
    if column is not None:
        heading = [cell.strip() for cell in rows.pop(0)[1]] if rows else []
        if column not in heading:
            names = ", ".join(heading) or "none"
            raise ArrivalsError(f"{path} has no column {column!r}; its columns are {names}")
        place = heading.index(column)
    found = tuple(_time(path, number, row, place) for number, row in rows)
    if not any(found):
        raise ArrivalsError(f"{path} has no time above 0")
    return found


def _time(path: Path, number: int, row: list[str], place: int) -> float:
    text = row[place].strip() if place < len(row) else ""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not _is_time(value):
        raise ArrivalsError(f"{path}, line {number}: {text[:40]!r} is not a number of seconds")
    return value


def _is_time(value: float) -> bool:
    return isfinite(value) and value >= 0


def _is_rate(value: float) -> bool:
    return isfinite(value) and value > 0
