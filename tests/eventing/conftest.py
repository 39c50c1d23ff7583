"""A broker and a connection to it for each test that asks for them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from nats.aio.client import Client

from eventing.jetstream.connection import connected
from tests.eventing import brokers
from tests.eventing.brokers import Bus


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncGenerator[Bus]:
    async with brokers.running(tmp_path) as running:
        yield running


@pytest.fixture
async def client(bus: Bus) -> AsyncGenerator[Client]:
    async with connected(bus.url, "test") as connection:
        yield connection
