"""`python -m bench.profile FOLDER`: flame graphs of a worker and the N2 gateway under load.

256 UEs register, establish a PDU session and deregister, round after round, on a fresh core. Once
functions are warm, py-spy samples the first worker and the gateway, and writes an SVG of each into
the folder. The width of a frame is its share of the samples in which the process ran.
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
from typing import Final

import uvloop

from bench.procedures import phases_of
from bench.throughput import Core, core_for
from loadgen import Procedure

UES: Final = 256
ROUND: Final = (Procedure.REGISTER, Procedure.SESSION, Procedure.DEREGISTER)
ROUNDS: Final = 12
RATE: Final = 250
"""Samples a second."""


class ProfileError(Exception):
    """A profile that cannot be made: one sentence."""


def py_spy() -> str:
    """The program, of the environment that runs this.

    Raises:
        ProfileError: there is none.
    """
    beside = Path(sys.executable).parent
    found = shutil.which("py-spy", path=str(beside)) or shutil.which("py-spy")
    if found is None:
        raise ProfileError("py-spy is not installed: make setup-dev installs it")
    return found


async def profile(
    folder: Path, *, ues: int = UES, rounds: int = ROUNDS, native: bool
) -> list[Path]:
    """Write the flame graphs; their files.

    Args:
        folder: where they go.
        ues: how many at once.
        rounds: how often each procedure is done by each.
        native: whether the frames of Rust and C are shown, too; sampling is slower then.

    Raises:
        ProfileError: py-spy is not there, or cannot look at a process.
        RuntimeError: the load could not be run, or a procedure failed.
    """
    program = py_spy()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="evcore-profile-") as made:
        async with core_for(Path(made), ues, ROUND) as core:
            await core.load.phases(phases_of(ROUND, 2))
            files = {folder / f"{name}.svg": pid for name, pid in _processes(core).items()}
            async with AsyncExitStack() as stack:
                for file, pid in files.items():
                    await stack.enter_async_context(_recorded(program, pid, file, native=native))
                report = await core.load.phases(phases_of(ROUND, rounds))
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
    """Sample a process for the length of a block, then write its flame graph."""
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
        raise ProfileError(f"py-spy cannot look at process {pid}: {said.strip()}")
    try:
        yield
    finally:
        if recorder.returncode is None:
            recorder.send_signal(signal.SIGINT)
        await recorder.communicate()


def main() -> int:
    """Write the flame graphs; 1 where that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--ues", type=int, default=UES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--native", action="store_true", help="with the frames of Rust and C")
    options = parser.parse_args()
    try:
        load = profile(
            options.folder, ues=options.ues, rounds=options.rounds, native=options.native
        )
        for file in uvloop.run(load):
            print(file)
    except (ProfileError, RuntimeError) as error:
        print(f"bench.profile: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
