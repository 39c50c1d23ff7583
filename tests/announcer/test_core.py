"""A running core: the events of its UEs are announced once each while its workers write the log."""

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from evcore.commands.up import groups_of
from loadgen import Procedure, run
from tests.announcer.broker import ingress
from tests.servers import site

UES = 60


@pytest.mark.slow
async def test_what_ues_do_is_announced(tmp_path: Path) -> None:
    async with ingress() as broker, site(tmp_path, UES, groups_of("each", 1)) as it:
        files = ("--config", it.data.config_file, "--secrets", it.data.secrets_file)
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "evcore", "announce", "--sink", broker.url),
            *map(str, files),
        )
        programme = (Procedure.REGISTER, Procedure.IDLE, Procedure.SERVICE, Procedure.DEREGISTER)
        report = await run(it.load(programme=programme))
        assert report.ok, report.violations
        await it.settled()
        await broker.until(
            lambda: (
                sum(r.type == "org.evcore.ue.deregistered" for r in broker.taken) >= UES
                and sum(r.type == "org.evcore.ue.idle" for r in broker.taken) >= 2 * UES
            )
        )
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    counted = Counter(request.type.removeprefix("org.evcore.") for request in broker.taken)
    assert counted["ue.registered"] == counted["ue.deregistered"] == UES
    assert counted["ue.connected"] == counted["ue.idle"] == 2 * UES
    assert len({request.id for request in broker.taken}) == len(broker.taken)
    supis = {
        msgspec.json.decode(request.body)["supi"]
        for request in broker.taken
        if request.type == "org.evcore.ue.registered"
    }
    assert len(supis) == UES
