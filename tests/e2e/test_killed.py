"""Any process may die at any moment without a failed UE."""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from loadgen import Procedure, Report, run
from tests.e2e import checks
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@asynccontextmanager
async def meanwhile(work: "asyncio.Future[None]") -> AsyncGenerator[None]:
    """Run a coroutine for the duration of a block."""
    try:
        yield
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


def succeeded(report: Report, procedure: Procedure) -> int:
    return report.procedures[procedure].succeeded


async def test_workers_are_killed_every_second(tmp_path: Path) -> None:
    killed: list[int] = []

    async def kill_workers(it: Site) -> None:
        rng = random.Random(1)
        while True:
            await asyncio.sleep(1.0)
            if workers := it.core.scaler.workers:
                victim = rng.choice(workers)
                victim.kill()
                killed.append(victim.pid)

    async with site(tmp_path, 500) as it:
        async with meanwhile(asyncio.ensure_future(kill_workers(it))):
            report = await run(it.load(rate=60.0, drain=90.0))
        assert report.violations == [], report.violations
        assert succeeded(report, Procedure.REGISTER) == 500, report.procedures
        await it.settled()
    assert len(killed) >= 5
    await checks.verified(it.data)
    ues = await checks.ues(it.data)
    assert len(ues) == 500
    assert all(ue.registered and ue.registration is None for ue in ues.values())


async def test_the_gateway_is_killed_and_comes_back(tmp_path: Path) -> None:
    async def kill_gateway(it: Site) -> None:
        for _ in range(3):
            await asyncio.sleep(2.0)
            assert it.core.gateway is not None
            it.core.gateway.kill()
            await it.core.gateway.wait()
            await it.core.start_gateway()

    async with site(tmp_path, 300) as it:
        async with meanwhile(asyncio.ensure_future(kill_gateway(it))):
            programme = (Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER)
            report = await run(it.load(rate=30.0, programme=programme, drain=90.0))
        assert report.violations == [], report.violations
        assert report.reassociations >= 4, "two gNBs, three times"
        # No UE is stuck: every UE is registered and deregistered again at the end. Its next
        # programme works.
        again = await run(it.load(programme=programme))
        assert again.ok, (again.violations, again.procedures)
        await it.settled()
    await checks.verified(it.data)
    assert await checks.index_entries(it.data, "gnb") == []
