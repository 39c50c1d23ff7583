"""Small disks for tests: a file system of some MiB that a test fills and frees."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1 << 20


@contextmanager
def small_disk(folder: Path, mib: int) -> Generator[Path]:
    """Mount a tmpfs of `mib` MiB in `folder`. Skip the test if this process may not."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ("-t", "tmpfs", "-o", f"size={mib}m,mode=700", "evcore-test", str(folder))
    done = mount(*options)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        # Lazily: a process that a failed test has left may still have files open.
        subprocess.run((_found("umount"), "--lazy", str(folder)), check=True)


def mount(*options: str) -> subprocess.CompletedProcess[str]:
    """Mount a file system, or change the options of one."""
    command = (_found("mount"), *options)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _found(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program}")
    return found


def fill(folder: Path, left: int = 0) -> Path:
    """Fill the disk of `folder` with one file up to `left` octets. Return the file."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while (free := free_bytes(folder) - left) > 0:
            file.write(bytes(min(free, MIB)))
    return filler


def free_bytes(folder: Path) -> int:
    """The octets that files on the disk of `folder` may still take."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
