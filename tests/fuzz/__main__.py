"""``python -m tests.fuzz [--seconds N] [--seed N] [--instrumented] [TARGET ...]``."""

import argparse
import sys

from tests.fuzz.running import LIBRARY, fuzz
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Fuzz each target. Return 1 if a target has found a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the decoders.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="0 for another one each time")
    parser.add_argument(
        "--instrumented", action="store_true", help="with the wire of scripts/build_fuzz.sh"
    )
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=", ".join(TARGETS))
    options = parser.parse_args()
    unknown = sorted(set(options.targets) - set(TARGETS))
    if unknown:
        parser.error(f"no target {', '.join(unknown)}: there are {', '.join(TARGETS)}")
    if options.instrumented and not LIBRARY.exists():
        parser.error(f"there is no {LIBRARY}: scripts/build_fuzz.sh makes it")
    failed = False
    for name in options.targets or TARGETS:
        found = fuzz(
            name, seconds=options.seconds, seed=options.seed, instrumented=options.instrumented
        )
        print(f"fuzz: {name}: {found.runs} runs, {found.summary}", flush=True)
        if found.failed:
            failed = True
            print(found.output, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
