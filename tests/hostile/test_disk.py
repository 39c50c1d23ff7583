"""A disk that is full, or nearly: the core says so, serves those who are there, and goes on.

Before, nats-server stored nothing after a disk was full for a moment, until it was killed by hand,
and `evcore up` was silent. A disk that is nearly full was found out by the first failed write.
"""

import asyncio
import json
from pathlib import Path

import pytest

from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from tests import disks
from tests.e2e import checks
from tests.evcore.cores import Up, run, up
from tests.eventing.brokers import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

FIRST = ("--no-provision", "--ues", 20, "--first-imsi", "001010000000001")
SECOND = ("--no-provision", "--ues", 20, "--first-imsi", "001010000000021")


def configuration(folder: Path, min_free_mib: int) -> Path:
    path = folder / "evcore.toml"
    path.write_text(
        f"[nats]\nmax_bytes = {4 * disks.MIB}\n"
        f"[store]\nmin_free_bytes = {min_free_mib * disks.MIB}\n"
    )
    return path


async def loaded(core: Up, *more: object) -> str:
    """Run a load without failures. Return its last line."""
    status, said = await core.load(*more)
    assert status == 0, said
    return said.splitlines()[-1]


async def provisioned(core: Up) -> None:
    """Let the UEs of both loads come and go: now the core knows them as subscribers."""
    for ues in (FIRST, SECOND):
        await loaded(core, *ues, "--provision", "--procedures", "register,deregister")


async def registered(data: Path) -> set[str]:
    """Return the SUPIs of the UEs that are registered, by the log."""
    async with opened(data, read_only=True) as access:
        names = [name async for name, _ in all_aggregates(access.log, "ue/imsi-")]
        return {
            found.state.supi for found in await access.log.load(names) if found.state.registered
        }


def logged(data: Path) -> str:
    """Return what the processes of the core have logged."""
    return "".join(path.read_text() for path in (data / "logs").glob("*.log"))


def logs_elsewhere(data: Path, logs: Path) -> Path:
    """Put the log files on another disk, where no line is lost. Return that of the N2 gateway."""
    logs.mkdir()
    data.mkdir()
    (data / "logs").symlink_to(logs)
    return logs / "gateway-n2.log"


async def test_a_disk_that_is_full_for_a_moment(tmp_path: Path) -> None:
    """The broker is restarted when there is room; the UEs of before are there, others register."""
    with disks.small_disk(tmp_path / "disk", 64) as disk:
        data = disk / "data"
        log = logs_elsewhere(data, tmp_path / "logs")
        async with up(data, "--config", configuration(tmp_path, 0)) as core:
            await provisioned(core)
            await loaded(core, *FIRST, "--procedures", "register")
            before = await registered(data)
            assert len(before) == 20
            filler = disks.fill(disk)
            load = asyncio.ensure_future(
                core.load(*SECOND, "--procedures", "register", "--json", tmp_path / "out.json")
            )
            await core.says(
                "nats-server stores nothing: no space left on device; it is restarted as soon as"
            )
            assert before <= await registered(data)
            await until(lambda: ": OVERLOAD START" in log.read_text())
            filler.unlink()
            await core.says("can be written again: nats-server is restarted")
            await core.says("nats-server runs again")
            await load
            assert json.loads((tmp_path / "out.json").read_text())["overload_starts"] == 1
            # A UE whose T3510 has expired meanwhile tries again, as all may.
            await loaded(core, *SECOND, "--procedures", "register")
            await loaded(core, *FIRST, "--procedures", "register,idle,service-request")
            assert len(await registered(data)) == 40
            await core.says("functions core: 1 -> 0 workers$")
        assert not [line for line in core.said if "dead letter" in line]
        await checks.verified(DataDirectory(data))
        status, said = await run("log", "verify", "--all", "--data", data)
        assert status == 0, said
        assert "differences=0" in said


async def test_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    """UEs that are registered go on; others are put off with #22 until there is room."""
    with disks.small_disk(tmp_path / "disk", 192) as disk:
        data = disk / "data"
        # One worker, so that its log shows when each worker knows that room lacks.
        configured = ("--config", configuration(tmp_path, 64), "--max-workers", 1)
        async with up(data, *configured) as core:
            await provisioned(core)
            await loaded(core, *FIRST, "--procedures", "register")
            # SQLite's write-ahead log takes 16 MiB of it.
            filler = disks.fill(disk, 48 * disks.MIB)
            await core.says(r"less than \[store\] min_free_bytes \(64 MiB\): UEs that are not")
            # A worker reads the free room once a second. A UE that registers before is served.
            await until(lambda: "are put off" in logged(data))
            report = tmp_path / "put_off.json"
            await core.load(*SECOND, "--procedures", "register", "--duration", 5, "--json", report)
            rejects = json.loads(report.read_text())["rejects"]
            assert sum(rejects.values()) >= 20, rejects
            assert all("22" in kind for kind in rejects), rejects
            # A registered UE may do all that it can do, also register again.
            await loaded(
                core, *FIRST, "--procedures", "register,idle,service-request,periodic-update"
            )
            assert len(await registered(data)) == 20
            filler.unlink()
            await core.says("free: all UEs are served again")
            await loaded(core, *SECOND, "--procedures", "register")
            assert len(await registered(data)) == 40
        await checks.verified(DataDirectory(data))


async def test_a_core_without_the_room_of_its_streams_is_not_begun(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", 16) as disk:
        status, said = await run("up", "--data", disk / "data", "--nats-port", 0)
    assert status == 1
    assert said == (
        f"evcore: the disk of {disk / 'data'} has 16 MiB free, and a core needs 1.2 GiB: 1.0 GiB "
        "for events ([nats] max_bytes) and 256 MiB that stay free ([store] min_free_bytes)\n"
    )
