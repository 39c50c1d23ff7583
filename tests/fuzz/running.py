"""Run a target in a separate process, because a panic or an endless loop would end this one."""

import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import atheris

from tests.corpus import entries
from tests.fuzz.targets import TARGETS

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".fuzz"
LIBRARY: Final = FOLDER / "wire" / "wire.abi3.so"
PRELOADED: Final = Path(atheris.__file__).parents[1] / "ubsan_with_fuzzer.so"
"""libFuzzer, with the callbacks of the coverage counters in `LIBRARY`."""


class Found(NamedTuple):
    """The result of a run."""

    runs: int
    failed: bool
    summary: str
    output: str


def fuzz(name: str, *, seconds: int, seed: int = 0, instrumented: bool = False) -> Found:
    """Run the target `name` for some seconds, on its corpus and the inputs of earlier runs."""
    folder = FOLDER / name
    _sow(name, folder / "corpus")
    path = [str(FOLDER), str(ROOT)] if instrumented else [str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": ":".join(path)}
    if instrumented:
        environment["LD_PRELOAD"] = str(PRELOADED)
    command = [sys.executable, "-P", "-m", "tests.fuzz.one", name, folder, str(seconds), str(seed)]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    said = ended.stdout + ended.stderr
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    found = re.search(r"Test unit written to (\S+)", said)
    failed = ended.returncode != 0
    summary = "nothing found"
    if failed:
        summary = f"found {found[1]}" if found else f"ended with status {ended.returncode}"
    return Found(int(runs[1]) if runs else 0, failed, summary, said)


def _sow(name: str, folder: Path) -> None:
    """Write the seeds of a target."""
    folder.mkdir(parents=True, exist_ok=True)
    target = TARGETS[name]
    for entry in entries(target.corpus):
        octets = entry.octets
        if target.sized:
            octets = len(octets).to_bytes(2, "big") + octets
        octets = target.before + octets
        (folder / sha256(octets).hexdigest()[:16]).write_bytes(octets)
