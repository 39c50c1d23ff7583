"""A gateway with a broker of its own for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.gateway import edge as edges
from tests.gateway.edge import Edge


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncGenerator[Edge]:
    async with edges.running(tmp_path) as edge:
        yield edge
