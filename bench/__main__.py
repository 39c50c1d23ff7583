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
from bench.throughput import PROGRAMMES, Run
from loadgen import Procedure

UES = (1, 32, 128, 256)
PROCESSES = ("gateways", "workers", "nats-server", "loadgen")


class Result(Struct, frozen=True):
    """All figures of a bench."""

    machine: str
    first_message_ms: list[float]
    python_ms: list[float]
    """A Python process that does nothing, start to end."""
    throughput: dict[str, dict[int, list[Run]]]
    """By programme and number of UEs."""


async def measure(*, quick: bool) -> Result:
    """Run everything, one thing after the other."""
    starts, seconds, runs = (7, 4.0, 1) if quick else (25, 10.0, 5)
    with tempfile.TemporaryDirectory(prefix="evcore-bench-") as made:
        folder = Path(made)
        _progress(f"cold starts: {starts}")
        first = await cold_start.first_messages(folder / "cold", starts)
        nothing = await cold_start.python_starts(starts)
        found: dict[str, dict[int, list[Run]]] = {name: {} for name in PROGRAMMES}
        for name, of_programme in found.items():
            for ues in UES:
                _progress(f"{name}, {ues} UEs: {runs} x {seconds:.0f} s")
                data = folder / f"{name}-{ues}"
                of_programme[ues] = await throughput.runs_of(data, name, ues, seconds, runs)
    return Result(
        machine=f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        first_message_ms=[1000 * value for value in first],
        python_ms=[1000 * value for value in nothing],
        throughput=found,
    )


def markdown(result: Result) -> str:
    """The figures as tables."""
    first, nothing = Figure.of(result.first_message_ms), Figure.of(result.python_ms)
    lines = [
        f"Machine: {result.machine}. Medians (least-greatest).",
        "",
        "| cold start | ms | runs |",
        "|---|---|---|",
        f"| worker process to its first answer | {first.text(0)} | {first.runs} |",
        f"| a Python process that does nothing | {nothing.text(0)} | {nothing.runs} |",
    ]
    for name, programme in PROGRAMMES.items():
        lines += [
            "",
            f"### {', '.join(programme)}",
            "",
            *_table(programme, result.throughput[name]),
        ]
    lines += ["", "Latencies in ms, p50 / p99; CPU in ms of one programme, all its messages."]
    return "\n".join(lines)


def _table(programme: tuple[Procedure, ...], found: dict[int, list[Run]]) -> list[str]:
    heads = ["UEs", "programmes/s", *programme, *(f"{name} CPU" for name in PROCESSES), "failures"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for ues, runs in found.items():
        cells = [str(ues), Figure.of([run.per_second for run in runs]).text(0)]
        for procedure in programme:
            latencies = [run.latency[procedure] for run in runs]
            p50 = Figure.of([1000 * latency.p50 for latency in latencies]).text(1)
            p99 = Figure.of([1000 * latency.p99 for latency in latencies]).text(1)
            cells.append(f"{p50} / {p99}")
        cells += [Figure.of([r.cpu_ms.get(name, 0.0) for r in runs]).text(2) for name in PROCESSES]
        cells.append(str(sum(run.failures for run in runs)))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


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
    programmes = result.throughput.values()
    failed = any(run.failures for found in programmes for runs in found.values() for run in runs)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
