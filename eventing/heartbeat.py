"""A file that a process touches while its event loop runs: what a liveness probe looks at.

Most processes of evcore listen on no port that could be asked. The environment variable
``EVCORE_HEARTBEAT`` names the file; without it there is none.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

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
