from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from statestore.contract import Engine
from tests.statestore import backends
from tests.statestore.backends import Backend, DoubleBackend


@pytest.fixture(params=backends.NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Backend]:
    """An empty store of each kind in turn."""
    made = backends.make(request.param, tmp_path)
    yield made
    await made.close()


@pytest.fixture
async def engine(backend: Backend) -> AsyncGenerator[Engine]:
    """An engine on an empty store of each kind in turn."""
    opened = await backend.open()
    yield opened
    await opened.close()


@pytest.fixture
async def double() -> AsyncGenerator[DoubleBackend]:
    """An empty store in the double of FoundationDB."""
    made = DoubleBackend()
    yield made
    await made.close()
