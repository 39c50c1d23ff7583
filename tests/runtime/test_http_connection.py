"""The bounds of the connections of an HTTP function, without a function behind them."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from functions.runtime import http_connection as module
from functions.runtime.http_connection import Connections
from tests.eventing.brokers import until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = 16 << 20


class Served(NamedTuple):
    """A server, with the bounds of its connections."""

    port: int
    bounds: Connections
    paths: list[str]
    """Of the requests so far."""

    @contextlib.asynccontextmanager
    async def opened(
        self, octets: bytes = b""
    ) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(octets)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def is_open(self) -> bool:
        """Whether a new connection gets a response."""
        async with self.opened(GET) as (reader, _):
            return (await answered(reader)).startswith(b"HTTP/1.1 200 ")


async def answered(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        async with asyncio.timeout(5):
            return await reader.readuntil(b"\0\0")
    return b""


async def ends(reader: asyncio.StreamReader) -> bool:
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(5):
            while await reader.read(1 << 16):
                pass
    return True


@pytest.fixture
async def served() -> AsyncGenerator[Served]:
    bounds, paths = Connections(4, 0.3), list[str]()

    async def answer(request: Request) -> PlainTextResponse:
        paths.append(request.url.path)
        if paths[-1] == "/held":
            await asyncio.sleep(30)
        return PlainTextResponse(bytes(LARGE if paths[-1] == "/large" else 2))

    app = Starlette(routes=[Route("/{path:path}", answer)])
    protocol: type[asyncio.Protocol] = bounds.protocol  # pyright: ignore[reportAssignmentType]
    config = uvicorn.Config(
        app, http=protocol, ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(config)
        task = asyncio.ensure_future(server.serve([listening]))
        try:
            yield Served(listening.getsockname()[1], bounds, paths)
        finally:
            server.should_exit = True
            await task


async def test_a_response_that_is_not_read_ends_its_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNREAD", 0.3)
    async with served.opened(GET.replace(b"/ ", b"/large ", 1)) as (_, writer):
        writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        await until(lambda: served.bounds.closed == 1)


async def test_a_response_that_is_read_slowly_is_whole(served: Served) -> None:
    async with served.opened(GET.replace(b"/ ", b"/large ", 1)) as (reader, _):
        read = 0
        while read < LARGE:
            read += len(await reader.read(1 << 20))
            await asyncio.sleep(0.01)
    assert served.bounds.closed == 0


async def test_the_connection_that_has_waited_longest_makes_room(served: Served) -> None:
    async with contextlib.AsyncExitStack() as stack:
        held = await stack.enter_async_context(served.opened(GET.replace(b"/ ", b"/held ", 1)))
        await until(lambda: served.paths == ["/held"])
        waiting = [await stack.enter_async_context(served.opened()) for _ in range(3)]
        await until(lambda: len(served.bounds.idle) == 3)
        assert await served.is_open()
        assert await ends(waiting[0][0])
        assert not held[0].at_eof(), "a request is being processed"


async def test_if_all_have_requests_the_new_one_ends(served: Served) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(served.opened(GET.replace(b"/ ", b"/held ", 1)))
        await until(lambda: served.paths == ["/held"] * 4)
        async with served.opened(GET) as (reader, _):
            assert await answered(reader) == b""


async def test_a_connection_between_two_requests_is_kept(served: Served) -> None:
    async with served.opened() as (reader, writer):
        for _ in range(3):
            writer.write(GET)
            assert (await answered(reader)).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(0.4)
    assert served.bounds.closed == 0
