"""A function over HTTP, as Knative calls it: a CloudEvent in a POST, CloudEvents in the response.

| status | meaning |
|---|---|
| 200 | processed; the response contains events to publish |
| 204 | processed; nothing to publish |
| 400, 413 | the event is not valid; do not retry |
| 401, 403 | the caller has no valid token, or may not call |
| 408 | the body took too long; retry |
| 503 | retry after Retry-After seconds |
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from eventing import subjects
from eventing.cloudevents import http_binding, nats_binding
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.dispatcher import load, replies
from eventing.jetstream.delivery import Delivery, deliveries_of
from functions.runtime.callers import Callers
from functions.runtime.service import CallResult, Service
from schemas.identity import partition_of
from schemas.origin import origin_of
from statestore.contract import Engine, StoreError

MOST: Final = 1 << 20
"""Maximum octets of a request, which is JetStream's own limit for a message."""
READY_FRESH: Final = 1.0
"""Seconds for which an answer about the store counts: anybody may ask."""
CLOSE: Final = {"connection": "close"}
"""The header of a response that leaves the rest of its request unread."""
DELIVERY: Final = "evcore-delivery"
"""The header with the reply subject of JetStream's delivery. It contains the age and the count."""


class Function:
    """The handlers of the routes, with a running service and its store."""

    def __init__(
        self,
        service: Service,
        engine: Engine,
        partitions: int,
        callers: Callers,
        body_within: float,
    ) -> None:
        self._service = service
        self._engine = engine
        self._partitions = partitions
        self._callers = callers
        self._body_within = body_within
        self._asking = asyncio.Lock()
        self._asked_at = -READY_FRESH
        self._problem = ""
        """Why the store did not answer; empty if it did."""

    async def event(self, request: Request) -> Response:
        """Process ``POST /``: one CloudEvent, in binary or structured mode."""
        refusal = await self._callers.refusal(request.headers)
        if refusal is not None:
            headers = CLOSE | {"www-authenticate": refusal.challenge}
            return PlainTextResponse(f"{refusal.text}\n", refusal.status, headers)
        try:
            async with asyncio.timeout(self._body_within):
                body = await _body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            text = f"the body is not here within {self._body_within:g} s\n"
            return PlainTextResponse(text, 408, CLOSE)
        if body is None:
            return PlainTextResponse(f"more than {MOST} octets\n", 413, CLOSE)
        self._service.dispatchers.heard(request.headers)
        try:
            delivery = self._delivery(request.headers, body)
        except BadEventError as err:
            return PlainTextResponse(f"{err}\n", 400)
        response = _response(await self._service.call(delivery))
        response.headers.update(load.answer_header(self._service.name, self._service.excess))
        return response

    def _delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        event = http_binding.from_http(headers, body)
        if event.slot is None or event.procedure is None:
            raise BadEventError("the attributes slot and procedure are needed")
        found = nats_binding.to_headers(event)
        if REPEATED in headers:
            found[REPEATED] = headers[REPEATED]
        partition = partition_of(event.slot, self._partitions)
        subject = subjects.event(partition, event.procedure, origin_of(event), event.slot)
        reply = headers.get(DELIVERY, "")
        consumer = subjects.consumer(partition, event.procedure)
        deliveries = max(deliveries_of(reply), _attempt(headers))
        delivery = Delivery(subject, event.data, found, reply, deliveries, consumer)
        here = delivery.position
        if event.position and here and event.position.sequence != here.sequence:
            # The time of this delivery is not the age of the UE's message.
            return delivery._replace(subject=subjects.republished_as(subject))
        return delivery

    async def ready(self, _: Request) -> Response:
        """Process ``GET /healthz/ready``: whether the store answers."""
        async with self._asking:
            if time.monotonic() - self._asked_at >= READY_FRESH:
                self._problem = await self._ask()
                self._asked_at = time.monotonic()
        if self._problem:
            return PlainTextResponse(f"{self._problem}\n", 503)
        return PlainTextResponse("ready\n")

    async def _ask(self) -> str:
        """Read from the store. Return the problem; empty if there is none."""
        try:
            async with asyncio.timeout(2):
                await self._engine.owners([])
                await self._engine.read("ready", 0, 1)
        except (StoreError, TimeoutError) as err:
            return f"the store does not answer: {err}"
        return ""


async def alive(_: Request) -> Response:
    """Process ``GET /healthz/live``."""
    return PlainTextResponse("alive\n")


def _attempt(headers: Mapping[str, str]) -> int:
    """Return the number of this attempt. A dispatcher makes several attempts for one delivery."""
    value = headers.get(http_binding.ATTEMPT, "")
    return int(value) if value.isdecimal() and len(value) < 10 else 1


async def _body(request: Request) -> bytes | None:
    """Return the body; None if it is too long."""
    parts: list[bytes] = []
    length = 0
    async for part in request.stream():
        length += len(part)
        if length > MOST:
            return None
        parts.append(part)
    return b"".join(parts)


def _response(result: CallResult) -> Response:
    if result.refused:
        return PlainTextResponse(f"{result.refused}\n", 400)
    if result.retry_after is not None:
        # Retry-After is in whole seconds; evcore-after is exact, for the dispatcher.
        after = {
            "retry-after": str(math.ceil(result.retry_after)),
            "evcore-after": f"{result.retry_after:g}",
        }
        return PlainTextResponse("not now\n", 503, headers=after)
    if not result.messages:
        return Response(status_code=204)
    content_type, body = replies.encode(result.messages)
    return Response(body, media_type=content_type)


def application(
    opening: Callable[[], AbstractAsyncContextManager[tuple[Service, Engine]]],
    partitions: int,
    failed: Callable[[BaseException], None],
    callers: Callers,
    body_within: float,
) -> Starlette:
    """Return the ASGI application.

    Args:
        opening: opens the store and creates the service, while the server runs.
        partitions: the number of partitions of the bus.
        failed: called when the service fails; the process must then end.
        callers: checks who calls.
        body_within: seconds for the body of a request.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with opening() as (service, engine):
            function = Function(service, engine, partitions, callers, body_within)
            app.router.routes += [
                Route("/", function.event, methods=["POST"]),
                Route("/healthz/ready", function.ready),
            ]
            running = asyncio.ensure_future(service.run())
            running.add_done_callback(ended)
            try:
                yield
            finally:
                service.stop()
                with contextlib.suppress(Exception):
                    await running

    def ended(task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and (err := task.exception()) is not None:
            failed(err)

    return Starlette(routes=[Route("/healthz/live", alive)], lifespan=lifespan)
