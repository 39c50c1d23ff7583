"""All procedures with optional IEs that loadgen itself does not send, on real SCTP."""

from pathlib import Path

import pytest

from loadgen import Procedure, run
from tests.e2e import checks
from tests.e2e.test_sessions import with_upfs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PROGRAMME = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.IDLE,
    Procedure.PAGE,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.SESSION,
    Procedure.XN_HANDOVER,
    Procedure.N2_HANDOVER,
    Procedure.HANDOVER_PARTIAL,
    Procedure.HANDOVER_REFUSED,
    Procedure.HANDOVER_CANCEL,
    Procedure.PERIODIC_UPDATE,
    Procedure.IDLE,
    Procedure.MOBILITY_UPDATE,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
)


async def test_ues_and_gnbs_of_other_makers(tmp_path: Path) -> None:
    async with with_upfs(tmp_path, 20) as (it, upfs):
        load = it.load(programme=PROGRAMME, gnbs=3, session_type="ipv4v6", profile="foreign")
        report = await run(load, downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
    await checks.verified(it.data)
    await checks.no_sessions(it.data)
