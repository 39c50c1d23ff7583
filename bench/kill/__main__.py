"""`python -m bench.kill`: kill processes of a core under load, and print what the UEs noticed.

64 UEs repeat registration, session, release, service request, handover and deregistration without
a pause. Every 5 s SIGKILL ends all workers; in the next parts nats-server, the N4 gateway, and each
in turn; at last three nats-servers, all at once. Each part has a new core. The last line has the
figures of all parts (`bench.kill.figures.Figures`). The exit status is 1 if one is out of bounds.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Final

import uvloop

from bench.kill.figures import Figures
from bench.kill.part import Part, run

SECONDS: Final = 180.0
"""Duration of a part."""

IN_TURN: Final = ("workers", "nats-server", "n4")


def parts_of(seconds: float) -> tuple[Part, ...]:
    """Return all parts, each of this duration."""
    return (
        *(Part(name, (name,), seconds) for name in IN_TURN),
        Part("in-turn", IN_TURN, seconds),
        Part("three-brokers", ("nats-server",), seconds, brokers=3),
    )


async def main() -> int:
    """Run the parts, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.kill", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="duration of a part")
    parser.add_argument("--part", action="append", help="a part to run; all by default")
    parser.add_argument("--keep", type=Path, help="folder for the data of the cores")
    options = parser.parse_args()
    parts = parts_of(options.seconds)
    if wrong := set(options.part or ()) - {part.name for part in parts}:
        parser.error(f"there is no part {min(wrong)}")
    with tempfile.TemporaryDirectory(prefix="evcore-kill-") as made:
        folder: Path = options.keep or Path(made)
        total = Figures()
        for part in parts:
            if options.part and part.name not in options.part:
                continue
            outcome = await run(part, folder / part.name)
            for sentence in outcome.findings:
                _say(f"  {sentence}")
            _say(f"{part.name}: {outcome.figures.line}")
            total = total.plus(outcome.figures)
    _say(f"kill: {total.line}")
    return 0 if total.ok else 1


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(uvloop.run(asyncio.wait_for(main(), 3600)))
