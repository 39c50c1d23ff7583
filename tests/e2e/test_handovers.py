"""Handovers among gNBs on real SCTP. The UEs check every key and the UPFs every rule."""

from pathlib import Path

import pytest

from loadgen import Procedure, run
from tests.e2e import checks
from tests.e2e.test_sessions import with_upfs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PROGRAMME = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.XN_HANDOVER,
    Procedure.N2_HANDOVER,
    Procedure.SESSION,
    Procedure.HANDOVER_PARTIAL,
    Procedure.HANDOVER_REFUSED,
    Procedure.HANDOVER_CANCEL,
    Procedure.MOBILITY_UPDATE,
    Procedure.N2_HANDOVER,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.XN_HANDOVER,
    Procedure.DEREGISTER,
)


async def test_ues_go_from_gnb_to_gnb(tmp_path: Path) -> None:
    """A PATH SWITCH REQUEST follows at once on the last message of the source gNB."""
    async with with_upfs(tmp_path, 100) as (it, upfs):
        report = await run(it.load(programme=PROGRAMME, gnbs=3), downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        assert report.tolerated == {}
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
    await checks.verified(it.data)
    await checks.no_sessions(it.data)
