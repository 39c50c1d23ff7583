"""`python -m bench`: measure, and print Markdown; the figures go to a JSON file as well."""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

import msgspec
import uvloop
from msgspec import Struct

from bench import cold_start, throughput
from bench.figures import Figure
from bench.throughput import Run

UES = (1, 32, 128, 256)
PROCESSES = ("gateway", "workers", "nats-server", "loadgen")


class Result(Struct, frozen=True):
    """All figures of a bench."""

    machine: str
    first_message_ms: list[float]
    python_ms: list[float]
    """A Python process that does nothing, start to end."""
    throughput: dict[int, list[Run]]


async def measure(*, quick: bool) -> Result:
    """Run everything, one thing after the other."""
    starts, seconds, runs = (7, 4.0, 1) if quick else (25, 10.0, 5)
    with tempfile.TemporaryDirectory(prefix="evcore-bench-") as made:
        folder = Path(made)
        _progress(f"cold starts: {starts}")
        first = await cold_start.first_messages(folder / "cold", starts)
        nothing = await cold_start.python_starts(starts)
        found: dict[int, list[Run]] = {}
        for ues in UES:
            _progress(f"{ues} UEs: {runs} x {seconds:.0f} s")
            found[ues] = await throughput.runs_of(folder / f"ues-{ues}", ues, seconds, runs)
    return Result(
        machine=f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        first_message_ms=[1000 * value for value in first],
        python_ms=[1000 * value for value in nothing],
        throughput=found,
    )


def markdown(result: Result) -> str:
    """The figures as two tables."""
    first, nothing = Figure.of(result.first_message_ms), Figure.of(result.python_ms)
    lines = [
        f"Machine: {result.machine}. Medians (least-greatest).",
        "",
        "| cold start | ms | runs |",
        "|---|---|---|",
        f"| worker process to its first answer | {first.text(0)} | {first.runs} |",
        f"| a Python process that does nothing | {nothing.text(0)} | {nothing.runs} |",
        "",
        "| UEs | registrations/s | p50 ms | p99 ms | "
        + " | ".join(f"{name} ms CPU" for name in PROCESSES)
        + " | failures |",
        "|---" * (5 + len(PROCESSES)) + "|",
    ]
    for ues, runs in result.throughput.items():
        cells = [
            str(ues),
            Figure.of([run.per_second for run in runs]).text(0),
            Figure.of([1000 * run.p50 for run in runs]).text(1),
            Figure.of([1000 * run.p99 for run in runs]).text(1),
            *(Figure.of([r.cpu_ms.get(name, 0.0) for r in runs]).text(2) for name in PROCESSES),
            str(sum(run.failures for run in runs)),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "CPU is of one registration and its deregistration, all its messages."]
    return "\n".join(lines)


def _progress(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


def main() -> int:
    """Measure and print; 1 when a procedure failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short run of each")
    parser.add_argument("--json", type=Path, default=Path("bench/results.json"))
    options = parser.parse_args()
    result = uvloop.run(measure(quick=options.quick))
    options.json.write_bytes(msgspec.json.format(msgspec.json.encode(result)) + b"\n")
    print(markdown(result))
    return 1 if any(run.failures for runs in result.throughput.values() for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
