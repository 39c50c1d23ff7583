"""JetStream stops or dies: the gateway sends OVERLOAD START, and no message is lost."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from loadgen import Procedure, run
from tests.e2e import checks
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PROGRAMME = (Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER)


async def test_the_broker_stands_still(tmp_path: Path) -> None:
    """The gateway receives more than it may hold, and sends OVERLOAD START to its gNBs."""

    async def stop_and_go(it: Site) -> None:
        await asyncio.sleep(3.0)
        os.kill(it.core.broker.process.pid, signal.SIGSTOP)
        await asyncio.sleep(4.0)
        os.kill(it.core.broker.process.pid, signal.SIGCONT)

    async with site(tmp_path, 400, max_under_way=32) as it:
        standing = asyncio.ensure_future(stop_and_go(it))
        report = await run(it.load(rate=50.0, programme=PROGRAMME, drain=90.0))
        await standing
        assert report.violations == [], report.violations
        assert report.ok, report.procedures
        assert report.overload_starts == 2, "one for each gNB"
        await it.settled()
    await checks.verified(it.data)
    assert await checks.index_entries(it.data, "gnb") == []


async def test_the_broker_dies_and_comes_back(tmp_path: Path) -> None:
    async with site(tmp_path, 200) as it:
        broker = it.core.broker

        async def kill() -> None:
            await asyncio.sleep(3.0)
            broker.process.kill()
            await broker.process.wait()
            await broker.run()

        killing = asyncio.ensure_future(kill())
        report = await run(it.load(rate=25.0, programme=PROGRAMME, drain=90.0))
        await killing
        assert report.violations == [], report.violations
        assert report.ok, report.procedures
        await it.settled()
    await checks.verified(it.data)
    assert await checks.index_entries(it.data, "gnb") == []
