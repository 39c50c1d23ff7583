"""PDU sessions on emulated UPFs, which check every rule: idle, return, paging, release."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore import emulated
from evcore.commands.up import groups_of
from evcore.emulated import EmulatedUpfs
from evcore.local.core import ALL_IN_ONE
from evcore.local.group import Group
from loadgen import Procedure, run
from tests.e2e import checks
from tests.evcore.cores import run as command
from tests.servers import Site, free_udp_port, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PROGRAMME = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.IDLE,
    Procedure.PAGE,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
)


@asynccontextmanager
async def with_upfs(
    folder: Path, ues: int, groups: tuple[Group, ...] = ALL_IN_ONE
) -> AsyncGenerator[tuple[Site, EmulatedUpfs]]:
    """Run a core with two UPFs in this process."""
    tables = tuple(replace(upf, port=free_udp_port()) for upf in emulated.tables(2))
    networks = (emulated.DATA_NETWORK,)
    async with (
        emulated.running_upfs(tables) as upfs,
        site(folder, ues, groups, upfs=tables, data_networks=networks) as it,
    ):
        await checks.upfs_associated(it.data, len(tables))
        yield it, upfs


async def test_nothing_is_left_of_sessions(tmp_path: Path) -> None:
    async with with_upfs(tmp_path, 40) as (it, upfs):
        report = await run(it.load(programme=PROGRAMME), downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
        assert upfs.sessions == 40
    await checks.verified(it.data)
    await checks.no_sessions(it.data)


async def test_the_ue_is_paged_by_functions_that_start_from_zero(tmp_path: Path) -> None:
    """Each procedure has its own worker, and no worker of paging or service request runs."""
    async with with_upfs(tmp_path, 3, groups_of("each", 1)) as (it, upfs):
        programme = PROGRAMME[:3]
        report = await run(it.load(programme=programme), downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        report = await run(it.load(programme=PROGRAMME), downlink_data=upfs.downlink_data)
        assert report.ok, checks.failed(report)
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
        started = {s.group for s in it.core.scaler.history if s.workers}
        assert {"session", "service-request", "paging", "upf"} <= started
    await checks.verified(it.data)
    await checks.no_sessions(it.data)


async def test_deregistration_ends_sessions_of_every_type(tmp_path: Path) -> None:
    async with with_upfs(tmp_path, 20) as (it, upfs):
        for kind in ("ipv4", "ipv6", "ipv4v6"):
            programme = (Procedure.REGISTER, Procedure.SESSION, Procedure.SWITCH_OFF)
            report = await run(it.load(programme=programme, session_type=kind))
            assert report.ok, f"{kind}: {checks.failed(report)}"
        await it.settled()
        assert (upfs.violations, upfs.rules_left) == ([], 0)
    await checks.verified(it.data)
    await checks.no_sessions(it.data)


async def test_the_operator_lists_and_releases_sessions(tmp_path: Path) -> None:
    async with with_upfs(tmp_path, 2) as (it, upfs):
        report = await run(it.load(programme=(Procedure.REGISTER, Procedure.SESSION)))
        assert report.ok, checks.failed(report)
        await it.settled()
        data = ("--data", it.data.root)
        status, listed = await command("session", "list", *data)
        assert status == 0
        (_, *rows) = listed.splitlines()
        assert [row.split()[:2] for row in rows] == [
            ["imsi-001010000000001", "1"],
            ["imsi-001010000000002", "1"],
        ]
        status, said = await command("session", "release", "imsi-001010000000002", 1, *data)
        assert status == 0, said
        await it.settled()
        status, listed = await command("session", "list", *data)
        assert len(listed.splitlines()) == 2
        status, said = await command("session", "release", "imsi-001010000000002", 1, *data)
        assert status != 0
        assert "has no PDU session 1" in said
        assert upfs.violations == []
    await checks.verified(it.data)
