"""A broker and a store for the complete scenarios of some UEs."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from eventing.jetstream import streams
from eventing.ownership import leases
from functions.runtime import worker
from tests.runtime import plant as plants
from tests.runtime.plant import IMPATIENT, Plant
from tests.runtime.script import Script, lives


@pytest.fixture(scope="session")
def script() -> Script:
    return lives()


@pytest.fixture
async def plant(tmp_path: Path, script: Script) -> AsyncGenerator[Plant]:
    async with plants.running(tmp_path, script) as plant:
        yield plant


@pytest.fixture
async def impatient(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Plant]:
    """A plant with a short acknowledgement timeout."""
    monkeypatch.setattr(streams, "LEASE_TTL", 0.6)
    monkeypatch.setattr(leases, "RENEW", 0.15)
    monkeypatch.setattr(worker, "DRAIN", 0.1)
    async with plants.running(tmp_path, script, IMPATIENT) as plant:
        yield plant
