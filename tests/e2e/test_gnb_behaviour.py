"""gNBs with the behaviour of other makers, on real SCTP (`loadgen.gnb.behaviour`)."""

from pathlib import Path
from typing import Any

import pytest

from loadgen import Procedure, run
from loadgen.gnb.behaviour import GnbBehaviour
from tests.e2e import checks
from tests.e2e.test_handovers import PROGRAMME
from tests.e2e.test_sessions import with_upfs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.parametrize(
    "behaviour",
    [
        {"ie_order": "random"},
        {"ie_order": "random", "lost_ue": "context-failure", "recommends_cells": True},
    ],
)
async def test_all_procedures_succeed(tmp_path: Path, behaviour: dict[str, Any]) -> None:
    """Each message has its IEs in a random order; each UE becomes idle by a failure of its gNB."""
    programme = (*PROGRAMME[:-1], Procedure.IDLE, Procedure.PAGE, PROGRAMME[-1])
    asked = GnbBehaviour(**behaviour)
    async with with_upfs(tmp_path, 20) as (it, upfs):
        load = it.load(programme=programme, gnbs=3, gnb_behaviour=asked)
        report = await run(load, downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        assert report.tolerated == {}
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
    await checks.verified(it.data)
    await checks.no_sessions(it.data)
