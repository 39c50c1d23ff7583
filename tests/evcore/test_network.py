"""`evcore network update`: another configuration for a running core."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore.commands.network import updated
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from schemas.config.emergency import EmergencyConfig
from schemas.config.gnb import GnbConfig
from schemas.config.reading import AmfConfig, AreaConfig, Config, ConfigError, N2Config
from schemas.network import Congestion, Timers
from schemas.ran import AmfConfigurationAcknowledged
from tests.e2e import checks
from tests.evcore.cores import run, up
from tests.evcore.shell import Shell
from tests.eventing.brokers import until

AREA = '[[tracking_area]]\ntac = 1\nslices = ["1-010203", "2"]\n'


def test_what_changes_and_what_stays() -> None:
    running = Config(n2=N2Config(udp_port=1234))
    new = Config(
        amf=AmfConfig(name="renamed", relative_capacity=7, full_name="Net"),
        tracking_area=(AreaConfig(5, ("3",)),),
        timers=Timers(t3512=600),
        congestion=Congestion(after=9),
        n2=N2Config(udp_port=4321, ie_order="strict"),
        gnb=(GnbConfig("001-01-gnb-24-1", "lenient"),),
    )
    found = updated(running, new)
    assert found == replace(new, n2=replace(running.n2, ie_order="strict"))


@pytest.mark.parametrize("change", [{"plmn": "002-02"}, {"region": 9}, {"set": 9}, {"pointer": 9}])
def test_the_amf_stays_the_one_it_is(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="cannot change while the core runs"):
        updated(Config(), Config(amf=replace(AmfConfig(), **change)))


def test_emergency_services_need_a_running_upf() -> None:
    new = Config(amf=AmfConfig(emergency=True), emergency=EmergencyConfig("sos"))
    with pytest.raises(ConfigError, match="no upf has a dnn sos"):
        updated(Config(), new)


def test_without_a_core(evcore: Shell, home: Path) -> None:
    (home / "new.toml").write_text(AREA)
    status, _, said = evcore("network", "update", "new.toml")
    assert status != 0
    assert "no core runs" in said


async def set_up(data: Path) -> bool:
    """Whether the NG interface of a gNB is up."""
    async with opened(data, read_only=True) as access:
        names = [name async for name, _ in all_aggregates(access.log, "gnb/")]
        states = [found.state for found in await access.log.load(names)]
    return any(gnb.association for gnb in states)


async def acknowledged(data: Path) -> list[str]:
    """Return the AMF names that gNBs have acknowledged."""
    async with opened(data, read_only=True) as access:
        names = [name async for name, _ in all_aggregates(access.log, "gnb/")]
        steps = [step for name in names async for step in access.log.steps(name)]
    events = [event for step in steps for event in step.events]
    return [e.configuration.name for e in events if isinstance(e, AmfConfigurationAcknowledged)]


@pytest.mark.slow
async def test_a_core_that_starts_is_not_ended_by_it(home: Path) -> None:
    """`evcore network update` sends a signal as soon as the core holds the lock."""
    directory = DataDirectory(home / "data")
    directory.prepare()

    async def held() -> bool:
        try:
            return directory.running and directory.owner > 0
        except ConfigError:  # its process id is not in the file yet
            return False

    async def signalled() -> None:
        await until(held)
        os.kill(directory.owner, signal.SIGUSR1)

    early = asyncio.create_task(signalled())
    async with up(directory.root, "--upfs", 0) as core:
        await early
        await core.says("the configuration of the network is applied; 0 gNB")


@pytest.mark.slow
async def test_gnbs_are_told_while_ues_register(home: Path) -> None:
    data = home / "data"
    (home / "new.toml").write_text(f'[amf]\nname = "renamed"\n\n{AREA}')
    async with up(data, "--upfs", 0) as core:
        out = home / "out.json"
        load = asyncio.create_task(core.load("--ues", 60, "--rate", 10, "--json", out))
        await core.says("functions core: 0 -> 1 worker$")
        await until(lambda: set_up(data))
        status, said = await run("network", "update", "new.toml", "--data", data)
        assert status == 0, said
        found = await core.says("the configuration of the network is applied; ([0-9]+) gNB")
        status, said = await load
        assert status == 0, said
        assert int(found[1]) > 0
        assert await acknowledged(data) == ["renamed"] * int(found[1])
    report = json.loads(out.read_text())
    assert not report["violations"]
    await checks.verified(DataDirectory(data))
