"""The store stalls: its time is not counted against the UEs and the gNBs."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from evcore.emulated import EmulatedUpfs
from evcore.logs.access import opened
from loadgen import Procedure, run
from loadgen.timers import TimerValues
from schemas.event import Noted
from tests.e2e import checks
from tests.e2e.test_sessions import with_upfs
from tests.eventing import brokers
from tests.servers import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

UES = 24
STALL = 11.5
"""Seconds: longer than a gNB has for its answer (`functions.gsm.user_plane.OVERDUE`)."""
TIMERS = TimerValues(t3580=4.0, t3582=4.0)
"""The UEs repeat their requests during the stall, and give up after 20 s."""
PROGRAMME = (Procedure.REGISTER, *(Procedure.SESSION, Procedure.RELEASE_SESSION) * 12)


async def stall(it: Site, upfs: EmulatedUpfs) -> None:
    """Lock the store while all UEs establish and release sessions."""
    await brokers.until(lambda: upfs.sessions >= 3 * UES)
    db = sqlite3.connect(it.data.root / "evcore.db", isolation_level=None, timeout=60)
    try:
        db.execute("BEGIN EXCLUSIVE")
        await asyncio.sleep(STALL)
        db.execute("ROLLBACK")
    finally:
        db.close()


async def test_no_session_is_lost_while_the_store_is_locked(tmp_path: Path) -> None:
    async with with_upfs(tmp_path, UES) as (it, upfs):
        load = it.load(programme=PROGRAMME, timers=TIMERS)
        report, _ = await asyncio.gather(run(load), stall(it, upfs))
        assert report.ok, checks.failed(report)
        assert report.retransmissions.get("T3580", 0) > 0, "no UE was establishing a session"
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
    await checks.verified(it.data)
    await checks.no_sessions(it.data)
    async with opened(it.data.root) as access:
        for name in await checks.ues(it.data):
            async for step in access.log.steps(name):
                assert Noted("the gNB does not respond") not in step.events, (name, step.seq)
