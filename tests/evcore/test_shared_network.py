"""Two PLMNs at one core (MOCN): UEs select one, and move to an equivalent one."""

import json
from pathlib import Path

import pytest

from evcore.local.data import DataDirectory
from tests.e2e import checks
from tests.evcore.cores import up

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

CONFIG = """
[amf]
plmn = "001-01"
equivalent_plmns = ["310-410"]

[[tracking_area]]
tac = 1
slices = ["1-010203", "2"]

[[tracking_area]]
tac = 1
plmn = "310-410"
slices = ["1-010203"]
"""
PROGRAMME = "register,mobility-update,idle,service-request,mobility-update,deregister"


async def test_ues_of_two_plmns(home: Path) -> None:
    """The UEs check the serving network, the 5G-GUTIs, the registration area and the NSSAIs."""
    data, out = home / "data", home / "out.json"
    (home / "shared.toml").write_text(CONFIG)
    async with up(data, "--upfs", 0, "--config", home / "shared.toml") as core:
        status, said = await core.load(
            *("--ues", 40, "--gnbs", 2, "--plmns", "001-01,310-410", "--slices", "1-010203"),
            *("--procedures", PROGRAMME, "--json", out),
        )
        assert status == 0, said
    assert not json.loads(out.read_text())["violations"]
    directory = DataDirectory(data)
    await checks.verified(directory)
    ues = (await checks.ues(directory)).values()
    assert len(ues) == 40
    networks = {ue.security.plmn for ue in ues if ue.security is not None}
    assert networks == {"001-01", "310-410"}
    assert {one.plmn for ue in ues for one in ue.configured_nssai} == networks
