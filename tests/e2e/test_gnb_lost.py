"""The loss of a gNB releases the connections of all its UEs at once."""

import asyncio
from pathlib import Path

import pytest

from loadgen import Procedure, run
from tests.e2e import checks
from tests.servers import site

pytestmark = pytest.mark.slow

UES = 450
"""More than two pages of the fan-out (functions/runtime/effects.py)."""


async def test_the_ues_of_a_lost_gnb_are_idle_and_may_come_back(tmp_path: Path) -> None:
    async with site(tmp_path, UES) as it:
        report = await run(it.load(gnbs=1))
        assert report.ok, checks.failed(report)
        # The load and its gNB have ended while every UE was connected.
        while await checks.index_entries(it.data, "gnb"):  # noqa: ASYNC110 - in other processes
            await asyncio.sleep(0.1)
        await it.settled()
        ues = await checks.ues(it.data)
        assert len(ues) == UES
        assert all(ue.registered and ue.connection is None for ue in ues.values())
        assert await checks.index_entries(it.data, "gnb") == []

        programme = (Procedure.REGISTER, Procedure.DEREGISTER)
        again = await run(it.load(gnbs=1, programme=programme))
        assert again.ok, (again.violations, again.procedures)
        await it.settled()
    await checks.verified(it.data)
    assert await checks.index_entries(it.data, "gnb") == []
