"""The short form of `make kill`: each kind of process is killed in turn, and no UE notices."""

from pathlib import Path

import pytest

from bench.kill.__main__ import IN_TURN
from bench.kill.part import Part, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SECONDS = 21.0
"""Four kills: the workers, nats-server, the N4 gateway, and the workers again."""


async def test_no_ue_notices_a_killed_process(tmp_path: Path) -> None:
    outcome = await run(Part("in-turn", IN_TURN, SECONDS), tmp_path)
    assert outcome.figures.ok, "\n".join([outcome.figures.line, *outcome.findings])
