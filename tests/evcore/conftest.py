"""Each test has its own current directory, and no keys in its environment."""

import asyncio
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evcore.local.data import DEFAULT, DataDirectory
from tests.evcore import recording
from tests.evcore.recording import Recorded
from tests.evcore.shell import Shell


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name in ("EVCORE_MASTER_KEY", "EVCORE_TMSI_KEY", "EVCORE_TRACEBACK", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    handlers = list(logging.getLogger().handlers)
    yield tmp_path
    logging.getLogger().handlers[:] = handlers


@pytest.fixture
def evcore(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="session")
def recording_of_two_ues(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    root = tmp_path_factory.mktemp("recorded") / "data"
    return asyncio.run(recording.record(root, recording.played()))


@pytest.fixture
def recorded(recording_of_two_ues: Recorded, home: Path, evcore: Shell) -> Recorded:
    """A copy of a recorded log in the default data directory. None of its keys may be printed."""
    shutil.copytree(recording_of_two_ues.data.root, home / DEFAULT)
    evcore.keys |= recording_of_two_ues.keys
    return recording_of_two_ues._replace(data=DataDirectory(home / DEFAULT))
