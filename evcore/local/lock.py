"""One core at a time on a data directory."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from schemas.config.reading import ConfigError

PATIENCE: Final = 15.0
"""Seconds that the processes of a core that was killed are given to end."""


@asynccontextmanager
async def held(path: Path, patience: float = PATIENCE) -> AsyncGenerator[int]:
    """Hold the lock file at `path` for the length of a block; its descriptor.

    A child that is given the descriptor holds the lock with us. So after a core was killed,
    the next one waits for the broker of it.

    Raises:
        ConfigError: another process holds it, or the file cannot be used.
    """
    loop = asyncio.get_running_loop()
    descriptor = _open(path)
    try:
        until = loop.time() + patience
        while not _take(descriptor):
            owner = _owner(descriptor)
            if (owner and _exists(owner)) or loop.time() > until:
                who = f"process {owner}" if owner else "another process"
                raise ConfigError(f"a core runs on {path.parent} already: {who}")
            await asyncio.sleep(0.05)  # nobody tells when a lock is free
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock file at `path`."""
    if not path.exists():
        return False
    descriptor = _open(path)
    try:
        return not _take(descriptor)
    finally:
        os.close(descriptor)


def owner(path: Path) -> int:
    """The process that holds the lock file at `path`; 0 if it has not said so."""
    descriptor = _open(path)
    try:
        return _owner(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as err:
        raise ConfigError(f"the lock {path} cannot be opened: {err.strerror}") from None


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(descriptor: int) -> int:
    """The process that has written itself into the file; 0 for none."""
    with contextlib.suppress(ValueError):
        return int(os.pread(descriptor, 32, 0))
    return 0


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
