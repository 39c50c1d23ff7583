"""Strangers at a whole core: their logs are removed, and those of others are not."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from functions.runtime import strangers
from loadgen import Procedure, run
from schemas.aggregates import UNIDENTIFIED
from schemas.config.strangers import StrangerPolicy
from tests.e2e import checks
from tests.servers import site

PATIENCE = strangers.SETTLED + 30.0
"""Seconds until they must be removed."""


@pytest.mark.long
async def test_the_logs_of_strangers_are_removed(tmp_path: Path) -> None:
    """200 SUPIs without a subscription, half of them by an unknown 5G-GUTI, beside 20 UEs."""
    async with site(tmp_path, 20, strangers=StrangerPolicy(max_kept=0)) as it:
        unknown = replace(it.population, count=200, first_imsi="001010000900001", schemes=("null",))
        await run(
            it.load(
                population=unknown,
                gnbs=1,
                first_gnb_id=9,
                identities=("suci", "unknown-guti"),
                duration=10.0,
            )
        )
        assert len(await checks.index_entries(it.data, "stranger")) >= 200
        working = asyncio.ensure_future(
            run(
                it.load(
                    programme=(Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER),
                    repeat=None,
                    duration=PATIENCE,
                    think=1.0,
                )
            )
        )
        async with asyncio.timeout(PATIENCE):
            while len(await checks.index_entries(it.data, "stranger")) > 1:  # noqa: ASYNC110
                await asyncio.sleep(1.0)
        report = await working
        assert report.ok, checks.failed(report)
        await it.settled()
    result = await checks.verified(it.data)
    assert result.steps > 0
    left = await checks.ues(it.data)
    assert sum(ue.authenticated for ue in left.values()) == 20
    assert len(left) <= 21, "the newest aggregate stays until another follows"
    assert not [name for name in left if name.startswith(UNIDENTIFIED)]
