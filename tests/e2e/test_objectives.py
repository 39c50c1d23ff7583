"""Objectives only change the order in which UEs are served."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore import emulated
from evcore.commands.up import groups_of
from loadgen import Procedure, run
from schemas import procedures
from schemas.config.objectives import ObjectiveConfig
from tests.e2e import checks
from tests.e2e.test_sessions import PROGRAMME
from tests.servers import free_udp_port, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

OBJECTIVES = (
    ObjectiveConfig(20, procedures.Procedure.SERVICE_REQUEST),
    ObjectiveConfig(50, procedures.Procedure.SESSION),
    ObjectiveConfig(5, slice="1-010203"),
)


@pytest.mark.parametrize("groups", ["all", "each"])
async def test_no_procedure_fails_by_the_order_of_others(tmp_path: Path, groups: str) -> None:
    tables = tuple(replace(upf, port=free_udp_port()) for upf in emulated.tables(2))
    networks = (emulated.DATA_NETWORK,)
    async with (
        emulated.running_upfs(tables) as upfs,
        site(
            *(tmp_path, 60, groups_of(groups, 2)),
            upfs=tables,
            data_networks=networks,
            objectives=OBJECTIVES,
        ) as it,
    ):
        await checks.upfs_associated(it.data, len(tables))
        load = it.load(programme=PROGRAMME, repeat=2)
        report = await run(load, downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
        assert report.procedures[Procedure.SERVICE_REQUEST].succeeded == 120
        found = it.core.stats.totals()
        assert any(name == "service-request" and version for name, version in found)
    await checks.verified(it.data)
