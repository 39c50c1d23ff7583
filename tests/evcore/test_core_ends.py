"""A local core ends, whenever it is told to."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from evcore.swap.runner import Swaps
from tests.servers import site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


async def test_a_cancellation_that_was_forgotten_keeps_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `asyncio.wait_for` of Python 3.11 does when what it waits for comes just then."""
    begun, forgot = asyncio.Event(), asyncio.Event()

    async def run(_: Swaps) -> None:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        forgot.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Swaps, "run", run)
    async with asyncio.timeout(30), site(tmp_path, 1):
        await begun.wait()
    assert forgot.is_set()
