"""Run every test on the loop of the standard library and on uvloop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import uvloop

from tests.transport.worlds import WORLDS, World, why_not


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def _param(name: str) -> Any:
    reason = why_not(name)
    marks = [pytest.mark.skipif(reason is not None, reason=f"{name}: {reason}")]
    if name == "kernel":
        marks.append(pytest.mark.kernel)
    return pytest.param(name, marks=marks)


@pytest.fixture(params=[_param(name) for name in WORLDS])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Each implementation in turn, over IPv4."""
    opened = World(request.param)
    yield opened
    await opened.close()


@pytest.fixture(params=[_param(name) for name in WORLDS if name != "memory"])
async def world6(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Each implementation with sockets in turn, over IPv6."""
    opened = World(request.param, "::1")
    yield opened
    await opened.close()


@pytest.fixture(params=[_param(name) for name in WORLDS if name != "memory"])
async def sockets(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Each implementation with sockets in turn, over IPv4."""
    opened = World(request.param)
    yield opened
    await opened.close()


@pytest.fixture(params=[_param(name) for name in WORLDS if name.startswith("userspace")])
async def userspace(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Each userspace implementation in turn, over IPv4."""
    opened = World(request.param)
    yield opened
    await opened.close()
