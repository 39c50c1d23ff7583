"""A local core ends whenever it is cancelled."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from evcore.swap.runner import Swaps
from tests.servers import site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


async def test_a_core_ends_if_a_cancellation_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`asyncio.wait_for` of Python 3.11 loses a cancellation if its result arrives just then."""
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
