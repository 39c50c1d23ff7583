"""How often a process that handles messages looks for cyclic garbage."""

import asyncio
import contextlib
import gc
import os
from collections.abc import AsyncGenerator, Collection, Iterable
from pathlib import Path
from typing import Any, Final

THRESHOLDS: Final = (20_000, 20, 50)
"""Objects more than at the last look, and looks of one generation until one of the next. A message
makes a few hundred objects and hardly a cycle; Python's own thresholds look after every second."""


def collect_seldom() -> None:
    """Leave out what is there already, which stays, and look for cycles now and then."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


VARIABLE: Final = "EVCORE_HEARTBEAT"
PERIOD: Final = 2.0
"""Seconds from one touch to the next."""


@contextlib.asynccontextmanager
async def beating() -> AsyncGenerator[None]:
    """Touch the file for the length of a block, at once and then again and again.

    It is this process's own: the variable is taken out of the environment of its children.

    Raises:
        OSError: it cannot be written at first.
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


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks that call nats-py, and wait for their end."""
    left: Collection[asyncio.Task[Any]] = list(tasks)
    while left:
        # More than once: what nats-py waits for with a timeout may come just then, and the
        # `asyncio.wait_for` of Python 3.11 then forgets that it was cancelled.
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.1)
