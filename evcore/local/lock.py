"""A lock that allows one core at a time on a data directory."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from evcore.local import private
from schemas.config.reading import ConfigError

PATIENCE: Final = 15.0
"""Seconds to wait for the processes of a killed core to end."""


@asynccontextmanager
async def held(path: Path, patience: float = PATIENCE) -> AsyncGenerator[int]:
    """Hold the lock file at `path` for the duration of a block. Yield its descriptor.

    A child that inherits the descriptor holds the lock too. So after a core was killed, the next
    one waits until the broker of the killed core ends.

    Raises:
        ConfigError: another process holds the lock, or the file cannot be used.
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
            await asyncio.sleep(0.05)  # there is no notification of a free lock
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
    """Return the process that holds the lock file at `path`; 0 if it is not in the file."""
    descriptor = _open(path)
    try:
        return _owner(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, private.FILE)
    except OSError as err:
        raise ConfigError(f"the lock {path} cannot be opened: {err.strerror}") from None


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(descriptor: int) -> int:
    """Return the process id in the file; 0 for none."""
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
