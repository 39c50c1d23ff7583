"""The ingress of a Broker for tests: a real HTTP server that fails on request."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web
from cloudevents.core.bindings.http import HTTPMessage, from_http_event


class Request(NamedTuple):
    """A POST request and its response."""

    id: str
    type: str
    aggregate: str
    sequence: str
    headers: dict[str, str]
    body: bytes
    status: int


Answer = Callable[[web.Request, int], "tuple[int, dict[str, str]]"]
"""Returns status and headers of the response to a request, given the number of earlier requests."""


class Ingress:
    """The received requests, in the order of their responses."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.url = ""
        self.most = 0
        """The highest number of concurrent requests."""
        self._came = asyncio.Condition()
        self._now = 0

    @property
    def taken(self) -> list[Request]:
        return [request for request in self.requests if request.status < 300]

    async def handle(self, request: web.Request) -> web.Response:
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            body = await request.read()
            headers = {name.lower(): value for name, value in request.headers.items()}
            event = from_http_event(HTTPMessage(headers, body))
            await asyncio.sleep(0)
            status, extra = self.answer(request, len(self.requests))
            attributes = event.get_attributes()
            self.requests.append(
                Request(
                    event.get_id(),
                    event.get_type(),
                    str(attributes["partitionkey"]),
                    str(attributes["sequence"]),
                    headers,
                    body,
                    status,
                )
            )
        finally:
            self._now -= 1
        async with self._came:
            self._came.notify_all()
        return web.Response(status=status, headers=extra)

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait until the received requests satisfy a condition."""
        async with self._came:
            await self._came.wait_for(enough)


def always(_: web.Request, __: int) -> tuple[int, dict[str, str]]:
    return 202, {}


@asynccontextmanager
async def ingress(answer: Answer = always, port: int = 0) -> AsyncGenerator[Ingress]:
    """Run a server on the loopback interface, on a free port by default."""
    made = Ingress(answer)
    application = web.Application()
    application.router.add_post("/{path:.*}", made.handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, port = runner.addresses[0][:2]
        made.url = f"http://{host}:{port}/evcore/default"
        yield made
    finally:
        await runner.cleanup()
