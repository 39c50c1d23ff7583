"""The files of JetStream are lost, or a backup without them is restored: no timer is lost."""

import shutil
from pathlib import Path

import pytest

from eventing import subjects
from eventing.access.roles import Role
from eventing.jetstream.connection import request
from functions.runtime.wakes import shared_wake
from loadgen import Procedure, run
from schemas.config.reading import UpfConfig
from schemas.ue.waking import WAKE
from tests.e2e import checks
from tests.eventing.brokers import until
from tests.servers import Site, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

# No process has this address, so its association fails and is tried again later.
UPFS = (UpfConfig("127.0.0.77"),)
BACKUP = ("evcore.db", "secrets.json")
"""The files that docs/operating.md says to copy."""


async def scheduled(it: Site) -> set[str]:
    """Return the subjects of the wake-ups that JetStream has."""
    async with it.connected(Role.SETUP) as client:
        body = {"subjects_filter": f"{subjects.TIMERS}>"}
        info = await request(client, f"STREAM.INFO.{subjects.STREAM}", body)
    found: dict[str, int] = info["state"].get("subjects") or {}
    return set(found)


async def wanted(it: Site) -> set[str]:
    """Return the subjects of the wake-ups that the log says there must be."""
    found: set[str] = set()
    partitions = it.core.config.nats.partitions
    for key, owner in await checks.index_entries(it.data, WAKE):
        wake = shared_wake(key, owner, partitions)
        name = f"wakes-{wake.procedure}-{wake.at}"
        found.add(subjects.timer(wake.partition, wake.partition, name))
    return found


async def all_there(it: Site) -> bool:
    return await wanted(it) <= await scheduled(it)


@pytest.mark.parametrize("restored", [False, True], ids=["lost files", "a backup"])
async def test_a_core_starts_without_its_jetstream(tmp_path: Path, restored: bool) -> None:
    async with site(tmp_path, 20, upfs=UPFS) as it:
        report = await run(it.load(programme=(Procedure.REGISTER, Procedure.IDLE)))
        assert report.ok, checks.failed(report)
        await it.settled()
        before = await wanted(it)
        assert len(before) > 1
        await until(lambda: all_there(it))
    data = it.data.root
    if restored:
        data = data.rename(tmp_path / "before")
        it.data.root.mkdir(mode=0o700)
        for name in BACKUP:
            shutil.copy(data / name, it.data.root / name)
    else:
        shutil.rmtree(it.data.broker)
    async with site(tmp_path, 20, upfs=UPFS) as it:
        assert await wanted(it) & before
        await until(lambda: all_there(it))
        assert subjects.TIMERS_MADE in await scheduled(it)
