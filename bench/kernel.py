"""System calls by kind, and context switches, of each procedure.

System calls are those that strace records between the start and the end of a phase in which all UEs
run one procedure. Under strace a process is several times slower, so more events wait and are
processed at once. Without strace there are more calls, not fewer. Context switches are counted
without strace.
"""

import asyncio
import re
import shutil
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from bench.core import Core, core_for, processes
from bench.figures import Figure
from bench.procedures import cuts, phases_of
from bench.sampler import Counters, Sampler
from loadgen import Procedure
from loadgen.report.report import Report

UES: Final = 256
ROUND: Final = (Procedure.REGISTER, Procedure.DEREGISTER)
COUNTED: Final = Procedure.REGISTER
RUNS: Final = 5
_CALL: Final = re.compile(r"(?:\d+ +)?(\d+\.\d+) (\w+)\(")
_SWITCHES: Final = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)
FEW: Final = 0.05
"""Kinds with fewer calls per registration are listed as others."""


class StraceError(Exception):
    """strace cannot be used. The message gives the reason in a sentence."""


class Switches(Struct, frozen=True):
    """Context switches of a process per registration, in each run."""

    voluntary: list[float]
    involuntary: list[float]


class Outcome(Struct, frozen=True):
    """All figures per registration."""

    calls: dict[str, dict[str, float]] | None
    """System calls, by process and kind; None if strace cannot be used."""
    switches: dict[str, Switches]
    """Context switches, by process."""
    why_not: str = ""
    """Why strace cannot be used, in a sentence."""


class _Cut(NamedTuple):
    begun: float
    ended: float
    registrations: int


async def outcome(folder: Path, ues: int = UES, runs: int = RUNS) -> Outcome:
    """Measure `ues` concurrent UEs on a new core.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with core_for(folder, ues, ROUND) as core:
        await core.load.phases(phases_of(ROUND, 2))
        switched = [await _switches(core) for _ in range(runs)]
        switches = {
            name: Switches(
                [one[name][0] for one in switched if one[name]],
                [one[name][1] for one in switched if one[name]],
            )
            for name in switched[0]
        }
        try:
            return Outcome(await _calls(core, folder), switches)
        except StraceError as error:
            return Outcome(None, switches, str(error))


async def _switches(core: Core) -> dict[str, Counters]:
    sampler = Sampler(lambda: processes(core.core), switches_of)
    async with sampler.running():
        report = await core.load.phases(phases_of(ROUND, 2))
    cut = _cut(report)
    return {
        name: tuple(count / cut.registrations for count in counts)
        for name, counts in sampler.between(cut.begun, cut.ended).items()
    }


def switches_of(pid: int) -> Counters | None:
    """Return the voluntary and the involuntary switches of a process's threads; None if it has
    ended."""
    voluntary = involuntary = 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            one, other = _SWITCHES.findall((task / "status").read_text())
            voluntary += int(one)
            involuntary += int(other)
    except (OSError, ValueError):
        return None
    return float(voluntary), float(involuntary)


async def _calls(core: Core, folder: Path) -> dict[str, dict[str, float]]:
    if shutil.which("strace") is None:
        raise StraceError("strace is not installed")
    files: dict[str, list[Path]] = {}
    async with _traced(core, folder, files):
        report = await core.load.phases(phases_of(ROUND, 1))
    cut = _cut(report)
    found: dict[str, dict[str, float]] = {}
    for name, of_processes in files.items():
        counts = Counter[str]()
        for file in of_processes:
            counts += calls_between(file, cut.begun, cut.ended)
        found[name] = {call: count / cut.registrations for call, count in counts.most_common()}
    return found


@asynccontextmanager
async def _traced(core: Core, folder: Path, files: dict[str, list[Path]]) -> AsyncGenerator[None]:
    """Trace the processes of a core for the duration of a block. `files` receives the output
    files."""
    tracers: list[asyncio.subprocess.Process] = []
    try:
        for name, pids in processes(core.core).items():
            for pid in pids:
                file = folder / f"strace-{pid}"
                files.setdefault(name, []).append(file)
                tracers.append(await _tracer(pid, file))
        yield
    finally:
        for tracer in tracers:
            if tracer.returncode is None:
                tracer.send_signal(signal.SIGINT)
            await tracer.communicate()


async def _tracer(pid: int, file: Path) -> asyncio.subprocess.Process:
    """Start an strace attached to a process and its threads."""
    tracer = await asyncio.create_subprocess_exec(
        *("strace", "-f", "-ttt", "-s", "0", "-o", str(file), "-p", str(pid)),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert tracer.stderr is not None
    said = (await tracer.stderr.readline()).decode().strip()
    if "attached" not in said:
        raise StraceError(f"strace cannot be attached to process {pid}: {said}")
    return tracer


def calls_between(file: Path, begun: float, ended: float) -> Counter[str]:
    """Count the calls in an strace file that began between two times, in seconds since 1970."""
    found = Counter[str]()
    with file.open(errors="replace") as lines:
        for line in lines:
            call = _CALL.match(line)
            if call is not None and begun <= float(call[1]) < ended:
                found[call[2]] += 1
    return found


def _cut(report: Report) -> _Cut:
    """Return the first phase of registrations."""
    begun, ended = next((a, b) for name, a, b in cuts(report) if name == COUNTED)
    return _Cut(begun, ended, report.ues)


def markdown(found: Outcome) -> list[str]:
    """Return two tables. All figures are per registration."""
    lines = ["| context switches a registration | voluntary | involuntary |", "|---|---|---|"]
    for name, switches in found.switches.items():
        if switches.voluntary:
            counts = (Figure.of(switches.voluntary), Figure.of(switches.involuntary))
            lines.append(f"| {name} | {' | '.join(count.text(2) for count in counts)} |")
    if found.calls is None:
        return [*lines, "", f"System calls are not counted: {found.why_not}."]
    lines += ["", "| process | system calls a registration | of which |", "|---|---|---|"]
    for name, calls in found.calls.items():
        often = {call: count for call, count in calls.items() if count >= FEW}
        others = sum(calls.values()) - sum(often.values())
        kinds = [f"{call} {count:.2f}" for call, count in often.items()]
        kinds.append(f"others {others:.2f}")
        lines.append(f"| {name} | {sum(calls.values()):.1f} | {', '.join(kinds)} |")
    return lines
