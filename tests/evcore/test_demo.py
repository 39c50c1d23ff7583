"""`evcore demo`: its last line is for programs."""

import re
from pathlib import Path

import pytest

from tests.evcore.cores import run


@pytest.mark.slow
async def test_a_small_one(home: Path) -> None:
    status, said = await run("demo", "--ues", 3, "--gnbs", 1, "--data", home / "data")
    assert status == 0, said
    last = re.fullmatch(
        r"demo: ues=3 procedures=24 failures=0 steps=(\d+) differences=0 seconds=[\d.]+"
        r" sessions=3 upf_rules_left=0",
        said.splitlines()[-1],
    )
    assert last is not None
    status, verified = await run("log", "verify", "--all", "--data", home / "data")
    assert status == 0
    assert verified.startswith(f"verify: aggregates=6 steps={last[1]} differences=0, decided by ")
