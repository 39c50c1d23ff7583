"""`python -m bench`: measure, print Markdown, and save it with the figures in a folder."""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from bench import (
    cold_http,
    cold_start,
    kernel,
    many,
    memory,
    micro,
    open_loop,
    procedures,
    slo,
    throughput,
)
from bench.figures import Figure, Row
from bench.result import Result, markdown
from bench.throughput import PROGRAMMES, Run

UES: Final = (1, 32, 64, 128, 256)
COMING: Final = 0.6
"""The arrival rate of the memory measurement, as a share of the capacity."""


async def measure(*, quick: bool) -> Result:
    """Run all measurements in sequence."""
    starts, seconds, runs = (7, 4.0, 1) if quick else (25, 10.0, 5)
    with tempfile.TemporaryDirectory(prefix="evcore-bench-") as made:
        folder = Path(made)
        _progress(f"cold starts: {starts}")
        first = await cold_start.first_messages(folder / "cold", starts, forked=False)
        forked = await cold_start.first_messages(folder / "forked", starts, forked=True)
        http = await cold_http.first_responses(folder / "http", starts)
        nothing = await cold_start.python_starts(starts)
        found: dict[str, dict[int, list[Run]]] = {name: {} for name in PROGRAMMES}
        for name, of_programme in found.items():
            for ues in UES:
                _progress(f"{name}, {ues} UEs: {runs} x {seconds:.0f} s")
                data = folder / f"{name}-{ues}"
                of_programme[ues] = await throughput.runs_of(data, name, ues, seconds, runs)
        each: dict[int, list[procedures.Run]] = {}
        for ues in (256,) if quick else UES:
            _progress(f"each procedure, {ues} UEs: {runs} runs")
            each[ues] = await procedures.runs_of(folder / f"each-{ues}", ues, runs)
        opened: dict[str, list[open_loop.Share]] = {}
        for name in ("registration",) if quick else PROGRAMMES:
            capacity = Figure.of([run.per_second for run in found[name][UES[-1]]]).median
            _progress(f"{name} at shares of {capacity:.0f}/s: {runs} x {seconds:.0f} s")
            data = folder / f"{name}-open"
            opened[name] = await open_loop.shares_of(data, name, capacity, seconds, runs)
        objectives: list[slo.Outcome] = []
        parts: list[Row] = []
        crowd: many.Outcome | None = None
        seen: kernel.Outcome | None = None
        resident: list[memory.Resident] = []
        if not quick:
            _progress("system calls and context switches")
            seen = await kernel.outcome(folder / "kernel")
            _progress(f"{many.UES} UEs, {many.SCENARIO}")
            crowd = await many.outcome(folder / "many")
            rate = COMING * opened["registration"][0].rate / open_loop.SHARES[0]
            _progress(f"memory of {memory.UES} registered UEs, {rate:.0f}/s")
            resident = await memory.looks(folder / "memory", rate)
            _progress(f"objectives: {len(slo.WAYS)} ways")
            objectives = await slo.outcomes(folder / "slo")
            _progress("the parts by themselves")
            parts = await micro.rows(folder / "parts")
    return Result(
        machine=f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        first_message_ms=[1000 * value for value in first],
        forked_ms=[1000 * value for value in forked],
        http_ms=[1000 * value for value in http],
        python_ms=[1000 * value for value in nothing],
        throughput=found,
        procedures=each,
        objectives=objectives,
        parts=parts,
        open_loop=opened,
        many=crowd,
        kernel=seen,
        memory=resident,
    )


def _progress(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


def main() -> int:
    """Measure and print. Return 1 if a procedure failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short run of each")
    parser.add_argument("--results", type=Path, default=Path("bench/results"), metavar="FOLDER")
    options = parser.parse_args()
    result = uvloop.run(measure(quick=options.quick))
    options.results.mkdir(exist_ok=True)
    text = markdown(result)
    document = msgspec.json.format(msgspec.json.encode(result)) + b"\n"
    (options.results / "latest.json").write_bytes(document)
    (options.results / "latest.md").write_text(f"{text}\n")
    print(text)
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
