"""`evcore log` on a log with steps of another version of evcore."""

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evcore.logs.access import opened
from schemas.step import encode
from schemas.version import VERSION
from tests.evcore import recording
from tests.evcore.recording import SUPI, UE, Recorded, played
from tests.evcore.shell import Shell


@pytest.fixture
def recorded(tmp_path: Path, evcore: Shell) -> Recorded:
    made = asyncio.run(recording.record(tmp_path / "data", played()))
    evcore.keys |= made.keys
    return made


async def rewrite(recorded: Recorded, seq: int, event: dict[str, Any]) -> None:
    """Replace a recorded step with a step of version 0.9.0 that has one more event."""
    async with opened(recorded.data.root) as access:
        step = await access.log.step(UE, seq)
        at = await access.log.at(UE, seq - 1)
        tree = msgspec.msgpack.decode(encode(step))
        tree |= {"code": "0.9.0", "events": [*tree["events"], event]}
        sealed = at.sealer.seal("step", seq, encode(tree))
    recording.write(recorded.data, UE, seq, sealed)


def test_who_decided_is_shown_and_what_may_be_ignored_is_noted(
    evcore: Shell, recorded: Recorded
) -> None:
    asyncio.run(rewrite(recorded, 2, {"event": "~Weighed", "grams": 70_000}))
    shown = evcore.ok("log", "show", SUPI, "--data", recorded.data.root).lines
    titles = [line for line in shown if line.startswith("step ")]
    code = rf" registration  {re.escape(VERSION)} \([0-9a-f]{{8}}\)$"
    assert re.search(code, titles[0]), titles[0]
    assert titles[1].endswith("  unknown code (0.9.0)")
    (noted,) = (line for line in shown if "Weighed" in line)
    assert f"code 0.9.0 wrote the event Weighed, which version {VERSION} does not know" in noted
    (document,) = evcore.ok(
        "log", "show", SUPI, "--data", recorded.data.root, "--seq", 2, "--json"
    ).documents
    assert document["code"] == "0.9.0"
    assert document["events"][-1]["event"] == "Noted"
    state = evcore.ok("log", "state", SUPI, "--data", recorded.data.root, "--json")
    assert state.documents[0]["state"]["supi"] == SUPI


def test_what_must_be_known_is_an_error_of_one_sentence(evcore: Shell, recorded: Recorded) -> None:
    asyncio.run(rewrite(recorded, 2, {"event": "Weighed", "grams": 70_000}))
    said = evcore("log", "state", SUPI, "--data", recorded.data.root)
    assert said.status == 1
    assert said.err == (
        f"evcore: step 2 of {UE} cannot be read: code 0.9.0 wrote the event Weighed, which "
        f"version {VERSION} does not know\n"
    )
