"""Parts that every long-running process uses: liveness file, garbage collection, task end."""

import asyncio
import contextlib
import gc
import os
import resource
from collections.abc import AsyncGenerator, Collection, Iterable
from pathlib import Path
from typing import Any, Final

THRESHOLDS: Final = (20_000, 20, 50)
"""Thresholds of the garbage collector: new objects before a collection of generation 0, then
collections of a generation before one of the next. A message makes a few hundred objects and
hardly a cycle; with Python's own thresholds a collection runs after every second message."""

VARIABLE: Final = "EVCORE_HEARTBEAT"
"""Environment variable with the path of the liveness file."""
PERIOD: Final = 2.0
"""Seconds between two touches of the liveness file."""


def collect_seldom() -> None:
    """Exclude all existing objects from garbage collection, and collect new ones seldom."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def open_many_files() -> None:
    """Raise the limit of open files of this process to the most that it may have.

    Each association of a gNB in the kernel is a file. Many systems begin with a limit of 1024 for
    the sake of select(2), which evcore does not use.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # some systems have less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def is_logged(count: int) -> bool:
    """Whether the `count`-th of many equal occurrences is logged: the first, second, fourth,
    eighth and so on. A flood of them must not fill the log."""
    return count & (count - 1) == 0


@contextlib.asynccontextmanager
async def beating() -> AsyncGenerator[None]:
    """Touch the liveness file at once and every `PERIOD` seconds until the block ends.

    Most processes of evcore have no port for a liveness probe: a probe checks the file's age
    instead. The file shows that the event loop runs. Without `VARIABLE` there is no file. The
    variable is removed from the environment, so that child processes do not touch the file.

    Raises:
        OSError: the file cannot be written at first.
    """
    name = os.environ.pop(VARIABLE, None)
    if not name:
        yield
        return
    path = Path(name)
    path.touch()
    beat = asyncio.ensure_future(_beat(path))
    try:
        yield
    finally:
        beat.cancel()
        path.unlink(missing_ok=True)


async def _beat(path: Path) -> None:
    while True:
        await asyncio.sleep(PERIOD)
        with contextlib.suppress(OSError):
            path.touch()


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks that call nats-py, and wait until they end."""
    left: Collection[asyncio.Task[Any]] = list(tasks)
    while left:
        # Cancel more than once: in Python 3.11, `asyncio.wait_for` loses a cancellation if the
        # result of nats-py arrives at the same moment.
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.1)
