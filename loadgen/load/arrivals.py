"""When programmes begin: the arrival processes of a load.

The first of each `gaps` is the time until the first arrival. What they draw follows from the
generator that they are given alone, so that a seed reproduces a load.
"""

import csv
from collections.abc import Iterator
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import TypeAlias

from msgspec import Struct


class ArrivalsError(Exception):
    """Arrivals that cannot be had as they are described; says why in one sentence."""


class Closed(Struct, frozen=True, tag="closed", tag_field="kind", forbid_unknown_fields=True):
    """No arrivals: every UE begins at once, and again when it has done."""

    ramp: float = 0.0
    """Seconds over which the UEs start."""

    def problem(self) -> str | None:
        """What is wrong with it, in a sentence; None for nothing."""
        return None if _is_time(self.ramp) else f"ramp is {self.ramp}: a time is not negative"


class Poisson(Struct, frozen=True, tag="poisson", tag_field="kind", forbid_unknown_fields=True):
    """A Poisson process."""

    rate: float
    """Arrivals a second."""

    def problem(self) -> str | None:
        """What is wrong with it, in a sentence; None for nothing."""
        return None if _is_rate(self.rate) else f"rate is {self.rate}: it counts arrivals a second"

    @property
    def mean_rate(self) -> float:
        """Arrivals a second in the long run."""
        return self.rate

    def gaps(self, rng: Random) -> Iterator[float]:
        """The times between arrivals, in seconds."""
        while True:
            yield rng.expovariate(self.rate)


class Mmpp(Struct, frozen=True, tag="mmpp", tag_field="kind", forbid_unknown_fields=True):
    """Bursts: a Poisson process whose rate changes between two (a two-state MMPP).

    It begins in the first state, and stays in each for an exponential time.
    """

    rates: tuple[float, float]
    """Arrivals a second in each state; one of them may be 0."""
    sojourns: tuple[float, float]
    """The mean time in each state, in seconds."""

    def problem(self) -> str | None:
        """What is wrong with it, in a sentence; None for nothing."""
        if not all(isfinite(one) and one >= 0 for one in self.rates) or not any(self.rates):
            return f"rates are {self.rates}: arrivals a second, at least one of them above 0"
        if not all(_is_rate(one) for one in self.sojourns):
            return f"sojourns are {self.sojourns}: mean seconds in each state, above 0"
        return None

    @property
    def mean_rate(self) -> float:
        """Arrivals a second in the long run."""
        weighted = sum(rate * stay for rate, stay in zip(self.rates, self.sojourns, strict=True))
        return weighted / sum(self.sojourns)

    def gaps(self, rng: Random) -> Iterator[float]:
        """The times between arrivals, in seconds."""
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
                # The exponential distribution has no memory: it is drawn anew at the new rate.
                gap += left
                state = 1 - state
                left = rng.expovariate(1 / self.sojourns[state])


class Empirical(Struct, frozen=True, tag="file", tag_field="kind", forbid_unknown_fields=True):
    """Times between arrivals that were measured, each drawn from all of them alike."""

    file: str
    """A file with a number of seconds a line, or CSV; a scenario's is found from its folder."""
    column: str | None = None
    """The column of a CSV file that has a heading; without it, the first one of a file without."""
    scale: float = 1.0
    """What each time is multiplied by: 0.5 doubles the rate."""
    samples: tuple[float, ...] = ()
    """What the file has, once it was read."""

    def problem(self) -> str | None:
        """What is wrong with it, in a sentence; None for nothing."""
        if not _is_rate(self.scale):
            return f"scale is {self.scale}: it multiplies times, and is above 0"
        if self.samples and not any(self.samples):
            return "samples are all 0: no time would pass"
        return None

    @property
    def mean_rate(self) -> float:
        """Arrivals a second in the long run."""
        return len(self.samples) / (sum(self.samples) * self.scale)

    def gaps(self, rng: Random) -> Iterator[float]:
        """The times between arrivals, in seconds."""
        while True:
            yield rng.choice(self.samples) * self.scale


Arrivals: TypeAlias = Closed | Poisson | Mmpp | Empirical


def loaded(arrivals: Arrivals, folder: Path = Path()) -> Arrivals:
    """Arrivals with their file read, where they are of one; relative names are of `folder`.

    Raises:
        ArrivalsError: the file cannot be read, or is none of times.
    """
    if not isinstance(arrivals, Empirical) or arrivals.samples:
        return arrivals
    samples = read_times(folder / arrivals.file, arrivals.column)
    return Empirical(arrivals.file, arrivals.column, arrivals.scale, samples)


def read_times(path: Path, column: str | None) -> tuple[float, ...]:
    """The times of a file, in seconds. Empty lines and those that begin with # are left out.

    Raises:
        ArrivalsError: it cannot be read, or something in it is no time.
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
        raise ArrivalsError(f"{path}, line {number}: {text[:40]!r} is no number of seconds")
    return value


def _is_time(value: float) -> bool:
    return isfinite(value) and value >= 0


def _is_rate(value: float) -> bool:
    return isfinite(value) and value > 0
