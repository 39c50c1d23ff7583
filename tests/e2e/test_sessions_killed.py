"""Processes die during session establishment: each session exists or was refused; no leaks."""

import asyncio
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore import emulated
from loadgen import Procedure, run
from tests.e2e import checks
from tests.e2e.upf_process import UpfProcess
from tests.servers import Site, free_udp_port, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

UES = 300


async def kill_in_turn(
    it: Site, upfs: list[UpfProcess], killed: list[str], over: asyncio.Event
) -> None:
    """Kill a worker, the N4 gateway or a UPF each second. All of them run again at the end."""
    rng = random.Random(1)
    while not over.is_set():
        await asyncio.sleep(1.0)
        if it.core.scaler.workers:
            rng.choice(it.core.scaler.workers).kill()
            killed.append("worker")
        await asyncio.sleep(1.0)
        assert it.core.gateway_n4 is not None
        it.core.gateway_n4.kill()
        await it.core.gateway_n4.wait()
        await it.core.start_gateway_n4()
        killed.append("gateway")
        await asyncio.sleep(1.0)
        victim = rng.choice(upfs)
        await victim.kill()
        await victim.start()
        killed.append("UPF")


async def agree(it: Site, upfs: list[UpfProcess]) -> int:
    """Wait until the core and the UPFs have the same sessions. Return their number."""
    while True:
        ues = await checks.ues(it.data)
        sessions = [session for ue in ues.values() for session in ue.sessions]
        ours = {(s.address.ipv4, s.n4.seid) for s in sessions if s.stage == "active"}
        told = [one for upf in upfs for one in (await upf.status())["session_list"]]
        theirs = {(one["ue"], one["cp_seid"]) for one in told}
        if ours == theirs and len(sessions) == len(ours):
            assert len({address for address, _ in ours}) == len(ours), "an address was given twice"
            return len(ours)
        await asyncio.sleep(0.2)  # other processes change it


async def test_sessions_survive_the_death_of_anything(tmp_path: Path) -> None:
    tables = tuple(replace(upf, port=free_udp_port()) for upf in emulated.tables(2))
    upfs = [UpfProcess(upf) for upf in tables]
    killed: list[str] = []
    networks = (emulated.DATA_NETWORK,)
    for upf in upfs:
        await upf.start()
    async with site(tmp_path, UES, upfs=tables, data_networks=networks) as it:
        await checks.upfs_associated(it.data, len(upfs))
        over = asyncio.Event()
        killing = asyncio.ensure_future(kill_in_turn(it, upfs, killed, over))
        programme = (Procedure.REGISTER, Procedure.SESSION)
        report = await run(it.load(rate=30.0, programme=programme, drain=120.0))
        over.set()
        await killing
        assert report.violations == [], report.violations
        found = report.procedures[Procedure.SESSION]
        refused = found.failures.get("reject-26-insufficient-resources", 0)
        assert found.succeeded + refused == UES, found
        assert found.succeeded > UES // 2
        await it.settled()
        assert await agree(it, upfs) == found.succeeded
        again = await run(it.load(programme=(Procedure.REGISTER, Procedure.DEREGISTER)))
        assert again.ok, (again.violations, again.procedures)
        await it.settled()
        assert await agree(it, upfs) == 0
        for upf in upfs:
            await upf.kill()
            assert upf.violations == []
    assert {"worker", "gateway", "UPF"} <= set(killed)
    await checks.verified(it.data)
    await checks.no_sessions(it.data)
