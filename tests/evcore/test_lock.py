"""One core at a time on a data directory. Children of the holder keep the lock."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evcore.local import lock
from evcore.local.data import DataDirectory
from schemas.config.reading import ConfigError

GONE = 2**22 - 1
"""A process id that is never used: the highest of the kernel, which is the limit of pid_max."""


async def test_a_second_core_is_told_of_the_first(home: Path) -> None:
    path = home / "lock"
    async with lock.held(path):
        assert lock.is_held(path)
        with pytest.raises(ConfigError, match=f"already: process {os.getpid()}$"):
            async with lock.held(path):
                pass
    assert not lock.is_held(path)
    async with lock.held(path):
        pass


def test_a_lock_that_never_was_is_not_held(home: Path) -> None:
    assert not lock.is_held(home / "lock")
    assert list(home.iterdir()) == [], "asking makes no file"
    assert not DataDirectory(home / "none").running


async def test_a_child_holds_it_with_us(home: Path) -> None:
    """The broker of a killed core still writes: the next core waits for its end."""
    path = home / "lock"
    async with lock.held(path) as descriptor:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "input()"),
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(descriptor,),
        )
    assert lock.is_held(path)
    path.write_text(f"{GONE}\n")  # as another process, which was killed
    taken = asyncio.Event()

    async def next_core() -> None:
        async with lock.held(path):
            taken.set()

    task = asyncio.create_task(next_core())
    await asyncio.sleep(0)
    assert not taken.is_set()
    child.kill()
    await child.wait()
    await task
    assert taken.is_set()


async def test_patience_ends(home: Path) -> None:
    path = home / "lock"
    async with lock.held(path):
        path.write_text(f"{GONE}\n")
        with pytest.raises(ConfigError, match=f"a core runs on {home} already: process {GONE}$"):
            async with lock.held(path, patience=0.0):
                pass
        path.write_text("nonsense")
        with pytest.raises(ConfigError, match="already: another process"):
            async with lock.held(path, patience=0.0):
                pass


async def test_a_lock_that_cannot_be_opened(home: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be opened: No such file or directory"):
        async with lock.held(home / "none" / "lock"):
            pass
