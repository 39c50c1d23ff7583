"""`python -m bench.profile FOLDER`: flame graphs of a worker and the N2 gateway under load.

256 UEs register, establish a PDU session and deregister, round after round, on a new core. With
`--of service-request` they go idle and return with service requests for their session's data. When
the functions are warm, py-spy samples the first worker and the gateway, and writes an SVG for each
into the folder. The width of a frame is its share of the samples in which the process ran.
"""

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from bench.core import Core, core_for
from bench.procedures import phases_of
from loadgen import Procedure
from loadgen.load.phases import Phase

UES: Final = 256
ROUNDS: Final = 12
RATE: Final = 250
"""Samples per second."""


class Programme(NamedTuple):
    """The actions of the UEs."""

    suffix: str
    """Suffix of the file names."""
    first: tuple[Procedure, ...]
    """Run once."""
    then: tuple[Procedure, ...]
    """Run in every round."""

    def phases(self, rounds: int) -> tuple[Phase, ...]:
        """Return the phases for the load generator."""
        return phases_of(self.first, 1) + phases_of(self.then, rounds)

    @property
    def everything(self) -> tuple[Procedure, ...]:
        """Return all procedures that the core must support."""
        return self.first + self.then


_ATTACH: Final = (Procedure.REGISTER, Procedure.SESSION)
PROGRAMMES: Final = {
    Procedure.REGISTER: Programme("", (), (*_ATTACH, Procedure.DEREGISTER)),
    Procedure.SERVICE_REQUEST: Programme(
        "-service-request", _ATTACH, (Procedure.IDLE, Procedure.SERVICE_REQUEST)
    ),
}


class ProfileError(Exception):
    """A profile cannot be made. The message is one sentence."""


def py_spy() -> str:
    """Return the py-spy program of this process's environment.

    Raises:
        ProfileError: py-spy is not installed.
    """
    beside = Path(sys.executable).parent
    found = shutil.which("py-spy", path=str(beside)) or shutil.which("py-spy")
    if found is None:
        raise ProfileError("py-spy is not installed: make setup-dev installs it")
    return found


async def profile(
    folder: Path,
    programme: Programme,
    *,
    ues: int = UES,
    rounds: int = ROUNDS,
    native: bool,
) -> list[Path]:
    """Write the flame graphs and return their files.

    Args:
        folder: the output folder.
        programme: the actions of the UEs.
        ues: the number of concurrent UEs.
        rounds: the number of rounds.
        native: whether to show Rust and C frames; sampling is slower then.

    Raises:
        ProfileError: py-spy is missing, or cannot sample a process.
        RuntimeError: the load could not be run, or a procedure failed.
    """
    program = py_spy()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="evcore-profile-") as made:
        async with core_for(Path(made), ues, programme.everything) as core:
            await core.load.phases(programme.phases(2))
            found = _processes(core).items()
            files = {folder / f"{name}{programme.suffix}.svg": pid for name, pid in found}
            async with AsyncExitStack() as stack:
                for file, pid in files.items():
                    await stack.enter_async_context(_recorded(program, pid, file, native=native))
                report = await core.load.phases(programme.phases(rounds))
            if report.failures:
                raise RuntimeError(f"{report.failures} procedures failed")
    return [*files]


def _processes(core: Core) -> Mapping[str, int]:
    gateway, workers = core.core.gateway, core.core.scaler.workers
    if gateway is None or not workers:
        raise ProfileError("the core has no worker, or no gateway")
    return {"worker": workers[0].pid, "gateway-n2": gateway.pid}


@asynccontextmanager
async def _recorded(program: str, pid: int, file: Path, *, native: bool) -> AsyncGenerator[None]:
    """Sample a process for the duration of a block, then write its flame graph."""
    recorder = await asyncio.create_subprocess_exec(
        *(program, "record", "--pid", str(pid), "--rate", str(RATE), "--format", "flamegraph"),
        *("--function", "--duration", "unlimited", "--output", str(file)),
        *(("--native",) if native else ()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert recorder.stdout is not None
    said = (await recorder.stdout.readline()).decode()
    if "Sampling" not in said:
        raise ProfileError(f"py-spy cannot sample process {pid}: {said.strip()}")
    try:
        yield
    finally:
        if recorder.returncode is None:
            recorder.send_signal(signal.SIGINT)
        await recorder.communicate()


def main() -> int:
    """Write the flame graphs. Return 1 if this is not possible."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--of", choices=[str(name) for name in PROGRAMMES], default=str(Procedure.REGISTER)
    )
    parser.add_argument("--ues", type=int, default=UES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--native", action="store_true", help="show the frames of Rust and C")
    options = parser.parse_args()
    try:
        load = profile(
            options.folder,
            PROGRAMMES[Procedure(options.of)],
            ues=options.ues,
            rounds=options.rounds,
            native=options.native,
        )
        for file in uvloop.run(load):
            print(file)
    except (ProfileError, RuntimeError) as error:
        print(f"bench.profile: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
