"""Resident memory of `evcore up`: idle, and with many UEs registered.

The UEs register over N2 and go idle. They arrive as a Poisson process, in consecutive loads of some
thousand, so the store, JetStream and its scheduled wake-ups have the state of UEs that came one by
one. Memory is read while no function runs, and while one runs.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.core import UPFS, Load, config_of, upfs_beside
from evcore import population as populations
from evcore.local.data import DataDirectory
from evcore.local.process import Process
from loadgen import Population, Procedure
from loadgen.load.arrivals import Poisson
from loadgen.load.phases import Phase, Share
from schemas.config.reading import Config

UES: Final = 100_000
IDLE: Final = "idle, at zero functions"
EACH: Final = 10_000
"""UEs per load."""
_FIRST_IMSI: Final = int(Population().first_imsi)
SETTLING: Final = 30
"""Minimum seconds until the memory of an idle core is stable within a MiB."""
PATIENCE: Final = 300.0
"""Longest time in seconds for the functions to stop after a load."""
_FUNCTION: Final = "functions.runtime"


class Resident(Struct, frozen=True):
    """The memory of all processes of a core at one time, in MiB."""

    what: str
    registered: int
    """Registered UEs in the store."""
    rss: dict[str, float]
    """Resident memory, by process. Shared memory counts in each of them."""
    pss: float
    """Memory of all processes. Shared memory counts once."""

    @property
    def total(self) -> float:
        """Return the sum of the resident memory."""
        return sum(self.rss.values())


async def looks(folder: Path, rate: float, ues: int = UES, each: int = EACH) -> list[Resident]:
    """Measure the memory while `ues` UEs arrive at `rate` per second, on a new core.

    Raises:
        RuntimeError: the load could not be run, a UE could not register, or functions did not stop.
    """
    data = DataDirectory(folder)
    keys = populations.home_keys(data.prepare())
    config = config_of(UPFS)
    loads = [
        Population(
            count=min(each, ues - done),
            first_imsi=f"{_FIRST_IMSI + done:015}",
            schemes=("null", "A", "B"),
            home_keys=keys,
        )
        for done in range(0, ues, each)
    ]
    for population in loads:
        await populations.provision(data.root, population)
    phase = Phase(
        name="attach",
        mix=(Share((Procedure.REGISTER, Procedure.IDLE)),),
        arrivals=Poisson(rate),
    )
    async with _up(data, config) as pid:
        found = [await _settled(0, pid)]
        registered = 0
        for population in loads:
            report = await Load(folder, config.n2, population).phases((phase,))
            if report.failures:
                causes = {name: one.failures for name, one in report.procedures.items()}
                raise RuntimeError(f"procedures failed: {causes}")
            registered += population.count
            if population in (loads[0], loads[-1]):
                found.append(_look("after a load, functions run", registered, pid))
                found.append(await _settled(registered, pid))
    return found


@asynccontextmanager
async def _up(data: DataDirectory, config: Config) -> AsyncGenerator[int]:
    """Run `evcore up` with both gateways for the duration of a block. Yields its process id."""
    data.write_config(config)
    file = data.root / "bench.json"
    file.write_bytes(data.config_file.read_bytes())
    command = (
        *(sys.executable, "-m", "evcore", "up", "--data", str(data.root)),
        *("--config", str(file), "--nats-port", "0"),
    )
    async with upfs_beside(config):
        up = await Process.start("evcore up", command, data.log("up"), "evcore is up")
        try:
            yield up.pid
        finally:
            await up.stop()


async def _settled(registered: int, pid: int) -> Resident:
    """Measure an idle core after all of its initial processes have started."""
    before: Resident | None = None
    for _ in range(SETTLING):
        await _no_function(pid)
        found = _look(IDLE, registered, pid)
        if before is not None and abs(found.total - before.total) < 1.0:
            return found
        before = found
        await asyncio.sleep(1.0)
    raise RuntimeError(f"the memory of the idle core is not stable after {SETTLING} s")


def _look(what: str, registered: int, pid: int) -> Resident:
    rss: dict[str, float] = {}
    pss = 0.0
    for one, name in family(pid).items():
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        sizes = dict(line.split(":", 1) for line in text.splitlines()[1:])
        if not sizes:
            continue
        rss[name] = rss.get(name, 0.0) + _mib(sizes["Rss"])
        pss += _mib(sizes["Pss"])
    return Resident(what, registered, rss, pss)


def _mib(size: str) -> float:
    return int(size.split(maxsplit=1)[0]) / 1024


def family(pid: int) -> dict[int, str]:
    """Return a process and all its descendants, with their names."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            stat = (path / "stat").read_text()
        except OSError:
            continue
        parents[int(path.name)] = int(stat.rpartition(")")[2].split()[1])
    found, new = {pid}, {pid}
    while new:
        new = {one for one, parent in parents.items() if parent in new} - found
        found |= new
    return {one: _name(one) for one in sorted(found)}


def _name(pid: int) -> str:
    """Return the Python module or the program of a process; empty if it has ended."""
    try:
        said = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").split()
    except OSError:
        return ""
    return said[said.index("-m") + 1] if "-m" in said else Path(said[0]).name if said else ""


async def _no_function(pid: int) -> None:
    """Wait until no function runs."""
    try:
        async with asyncio.timeout(PATIENCE):
            while functions := [one for one, name in family(pid).items() if name == _FUNCTION]:
                await _end(functions[0])
    except TimeoutError:
        raise RuntimeError(f"functions still run after {PATIENCE:.0f} s") from None


async def _end(pid: int) -> None:
    """Wait for the end of a process that is not a child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def markdown(found: list[Resident]) -> list[str]:
    """Return a table, and the memory that a registered UE adds."""
    names = list(dict.fromkeys(name for one in found for name in one.rss))
    heads = ["MiB", "registered UEs", *names, "sum", "shared once"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for one in found:
        cells = [one.what, str(one.registered)]
        cells += [f"{one.rss[name]:.0f}" if name in one.rss else "" for name in names]
        cells += [f"{one.total:.0f}", f"{one.pss:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    idle = [one for one in found if one.what == IDLE and one.registered]
    first, last = idle[0], idle[-1]
    if first is not last:
        more = last.registered - first.registered
        grown = 1024 * (last.total - first.total) / more
        lines += ["", f"Each of the last {more} UEs added {grown:.2f} KiB to the idle core."]
    return lines
