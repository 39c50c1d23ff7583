"""`python -m bench.overload`: measure the core in overload, and compare with its bounds.

Each offered load, the restart of a UPF and the starved workers have a new core. The capacity is
that of a closed loop of 256 UEs on the same core. The exit status is 1 if a figure is out of its
bounds.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Protocol

import uvloop

from bench.overload.bursts import SHARES, burst
from bench.overload.starved import starved
from bench.overload.storm import restart


class Outcome(Protocol):
    """A measurement."""

    @property
    def line(self) -> str:
        """The figures."""
        ...

    @property
    def faults(self) -> list[str]:
        """What is out of its bounds."""
        ...


async def main() -> int:
    """Measure, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.overload", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of a burst")
    parser.add_argument(
        "--share", type=float, action="append", help="offered loads; all by default"
    )
    parser.add_argument("--sessions", type=int, default=20_000, help="of the UPF that restarts")
    parser.add_argument("--starved", type=float, default=300.0, help="seconds with starved workers")
    parser.add_argument("--part", choices=("bursts", "restart", "starved"), action="append")
    options = parser.parse_args()
    parts: list[str] = options.part or ["bursts", "restart", "starved"]
    failed = False
    with tempfile.TemporaryDirectory(prefix="evcore-overload-") as made:
        folder = Path(made)
        if "bursts" in parts:
            for share in options.share or SHARES:
                found = await burst(folder / f"burst-{share:g}", share, options.seconds)
                failed |= _say("burst", found)
        if "restart" in parts:
            failed |= _say("restart", await restart(folder / "restart", options.sessions))
        if "starved" in parts:
            failed |= _say("starved", await starved(folder / "starved", options.starved))
    return 1 if failed else 0


def _say(name: str, found: Outcome) -> bool:
    """Print an outcome. Return whether a figure is out of its bounds."""
    sys.stdout.write(f"overload {name}: {found.line}\n")
    for fault in found.faults:
        sys.stdout.write(f"  out of bounds: {fault}\n")
    sys.stdout.flush()
    return bool(found.faults)


if __name__ == "__main__":
    sys.exit(uvloop.run(asyncio.wait_for(main(), 7200)))
