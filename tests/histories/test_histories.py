"""Recorded logs are always decided in the same way, octet by octet."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from schemas.gmm.events import SecurityContextDeleted
from schemas.ran import (
    AmfConfigurationAcknowledged,
    AmfConfigurationPostponed,
    AmfConfigurationRefused,
    AmfConfigurationSent,
    GnbEvent,
)
from schemas.step import encode
from schemas.ue.events import UeEvent
from schemas.upf import UpfEvent
from tests.functions.world import OPC, K
from tests.histories import history, record
from tests.histories.again import cold, warm
from tests.histories.scenarios import OTHER_K, SCENARIOS

ROOT = Path(__file__).parents[2]
FILES = {f"{path.parent.name}/{path.stem}": path for path in history.files()}

NOT_RECORDED = {
    SecurityContextDeleted,
    AmfConfigurationSent,
    AmfConfigurationPostponed,
    AmfConfigurationRefused,
    AmfConfigurationAcknowledged,
}
"""Events that no procedure emits so far, or that only a configuration change causes, in one
history."""


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
async def test_decided_the_same_with_the_state_kept(path: Path) -> None:
    found = await warm(history.read(path))
    assert [(d.aggregate, d.recorded.seq, d.error) for d in found] == []


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_decided_the_same_from_cold(path: Path) -> None:
    for recorded, *again in cold(history.read(path)):
        for step in again:
            assert step is not None
            assert encode(step.events) == encode(recorded.events), recorded.seq
            assert encode(step.outputs) == encode(recorded.outputs), recorded.seq
            assert step.procedure == recorded.procedure


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_read_and_written_the_same(path: Path) -> None:
    read = history.read(path)
    assert [encode(r.step()) for r in read.steps] == [r.octets for r in read.steps]
    assert history.text(read) == path.read_text()


def test_the_recordings_of_this_version_equal_the_scenarios() -> None:
    """If this fails, CONTRIBUTING.md says what to do ("Recorded histories")."""
    folder = record.folder()
    assert {path.stem for path in folder.iterdir()} == SCENARIOS.keys()
    differing = [
        name
        for name, scenario in SCENARIOS.items()
        if history.text(history.of(scenario())) != (folder / f"{name}.jsonl").read_text()
    ]
    assert differing == []


def test_every_event_there_is_has_been_recorded() -> None:
    steps = [r.step() for path in FILES.values() for r in history.read(path).steps]
    found: set[type] = {type(event) for step in steps for event in step.events}
    events = {*get_args(UeEvent), *get_args(GnbEvent), *get_args(UpfEvent)}
    assert events - found == NOT_RECORDED


def test_only_test_keys_are_in_them() -> None:
    given = [s for path in FILES.values() for s in history.read(path).given.subscribers]
    assert {s.k for s in given} == {K, OTHER_K}
    assert {s.opc for s in given} == {OPC}


def test_no_default_changes_what_a_recorded_step_means() -> None:
    """All defaults of all documents are changed (docs/decisions/0019)."""
    command = [sys.executable, "-m", "tests.histories.mutated"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert re.fullmatch(r"defaults=[1-9]\d+ differences=0\n", done.stdout)


def test_histories_of_releases_have_not_changed() -> None:
    """`make release` writes the digests (docs/releasing.md)."""
    for sums in history.HERE.glob("*/SHA256SUMS"):
        lines = sums.read_text().splitlines()
        assert {line.partition("  ")[2] for line in lines} == {
            path.name for path in sums.parent.glob("*.jsonl")
        }
        for line in lines:
            digest, _, name = line.partition("  ")
            octets = (sums.parent / name).read_bytes()
            assert hashlib.sha256(octets).hexdigest() == digest, name
