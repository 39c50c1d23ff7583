"""`python -m bench.check`: fail where evcore has become slower than the bounds in bounds.toml say.

Each bound is of a ratio of two CPU times in this one run, so that neither another machine nor a
slow hour of this one breaks it.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import uvloop
from msgspec import Struct

from bench import ratios

BOUNDS = Path(__file__).with_name("bounds.toml")


class BoundsError(Exception):
    """Bounds that cannot be checked: one sentence."""


class Bound(Struct, frozen=True, forbid_unknown_fields=True):
    """What a ratio may be."""

    ratio: str
    most: float
    why: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    bound: tuple[Bound, ...]


def read(path: Path) -> tuple[Bound, ...]:
    """The bounds of a file.

    Raises:
        BoundsError: it cannot be read, or a bound in it has no reason or is there twice.
    """
    try:
        bounds = msgspec.toml.decode(path.read_bytes(), type=_File).bound
    except (OSError, ValueError) as error:
        raise BoundsError(f"{path}: {error}") from None
    seen: set[str] = set()
    for bound in bounds:
        if bound.ratio in seen:
            raise BoundsError(f"{path}: {bound.ratio!r} has two bounds")
        if not bound.why.strip():
            raise BoundsError(f"{path}: {bound.ratio!r} does not say why")
        seen.add(bound.ratio)
    return bounds


def broken(bounds: Sequence[Bound], found: Mapping[str, float]) -> list[str]:
    """A line for each bound that a ratio is above.

    Raises:
        BoundsError: a bound is of a ratio that was not measured, or a ratio has no bound.
    """
    names = {bound.ratio for bound in bounds}
    if missing := sorted(names - found.keys()):
        raise BoundsError(f"nothing was measured for the bound of {missing[0]!r}")
    if unbound := sorted(found.keys() - names):
        raise BoundsError(f"there is no bound for {unbound[0]!r}")
    return [
        f"{bound.ratio} is {found[bound.ratio]:.3g}, at most {bound.most:g} is allowed: {bound.why}"
        for bound in bounds
        if not found[bound.ratio] <= bound.most
    ]


def judge(bounds: Sequence[Bound], found: Mapping[str, float]) -> int:
    """Print the ratios, then what is broken; the exit status.

    Raises:
        BoundsError: the bounds are not those of the ratios.
    """
    lines = broken(bounds, found)
    for bound in bounds:
        print(f"{bound.ratio:32} {found[bound.ratio]:8.3g}   at most {bound.most:g}")
    for line in lines:
        print(f"bench-check: {line}")
    return 1 if lines else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and judge; 1 where a bound is broken, 2 where that cannot be told."""
    parser = argparse.ArgumentParser(prog="python -m bench.check", description=__doc__)
    parser.add_argument("--bounds", type=Path, default=BOUNDS, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        bounds = read(options.bounds)
        with tempfile.TemporaryDirectory(prefix="evcore-check-") as made:
            found = uvloop.run(ratios.measured(Path(made) / "check"))
            if broken(bounds, found):
                # Once more: a minute in which the machine did something else breaks no bound twice.
                again = uvloop.run(ratios.measured(Path(made) / "again"))
                found = {name: min(value, again[name]) for name, value in found.items()}
            return judge(bounds, found)
    except (BoundsError, RuntimeError) as error:
        print(f"bench-check: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
