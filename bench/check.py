"""`python -m bench.check`: fail if evcore is slower than the bounds in bounds.toml.

Each bound limits the ratio of two CPU times in the same run, so neither another machine nor a slow
hour breaks it.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import uvloop
from msgspec import Struct

from bench import ratios

BOUNDS: Final = Path(__file__).with_name("bounds.toml")
TURNS: Final = 4
"""A broken bound is measured again. A disturbance of a minute does not break it in every turn."""


class BoundsError(Exception):
    """The bounds cannot be checked. The message is one sentence."""


class Bound(Struct, frozen=True, forbid_unknown_fields=True):
    """The upper limit of a ratio."""

    ratio: str
    most: float
    why: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    bound: tuple[Bound, ...]


def read(path: Path) -> tuple[Bound, ...]:
    """Return the bounds of a file.

    Raises:
        BoundsError: the file cannot be read, or a bound has no reason or occurs twice.
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
            raise BoundsError(f"{path}: {bound.ratio!r} has no reason")
        seen.add(bound.ratio)
    return bounds


def broken(bounds: Sequence[Bound], found: Mapping[str, float]) -> list[str]:
    """Return a line for each ratio above its bound.

    Raises:
        BoundsError: a bound names a ratio that was not measured, or a ratio has no bound.
    """
    names = {bound.ratio for bound in bounds}
    if missing := sorted(names - found.keys()):
        raise BoundsError(f"nothing was measured for the bound of {missing[0]!r}")
    if unbound := sorted(found.keys() - names):
        raise BoundsError(f"there is no bound for {unbound[0]!r}")
    return [
        f"{bound.ratio} is {found[bound.ratio]:.3g}, the limit is {bound.most:g}: {bound.why}"
        for bound in bounds
        if not found[bound.ratio] <= bound.most
    ]


def judge(bounds: Sequence[Bound], found: Mapping[str, float]) -> int:
    """Print the ratios, then the broken bounds. Return the exit status.

    Raises:
        BoundsError: the bounds do not match the ratios.
    """
    lines = broken(bounds, found)
    for bound in bounds:
        print(f"{bound.ratio:32} {found[bound.ratio]:8.3g}   at most {bound.most:g}")
    for line in lines:
        print(f"bench-check: {line}")
    return 1 if lines else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and judge. Return 1 if a bound is broken, 2 if the check is not possible."""
    parser = argparse.ArgumentParser(prog="python -m bench.check", description=__doc__)
    parser.add_argument("--bounds", type=Path, default=BOUNDS, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        bounds = read(options.bounds)
        with tempfile.TemporaryDirectory(prefix="evcore-check-") as made:
            found = uvloop.run(ratios.measured(Path(made) / "1"))
            for turn in range(2, TURNS + 1):
                if not broken(bounds, found):
                    break
                again = uvloop.run(ratios.measured(Path(made) / str(turn)))
                found = {name: min(value, again[name]) for name, value in found.items()}
            return judge(bounds, found)
    except (BoundsError, RuntimeError) as error:
        print(f"bench-check: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
