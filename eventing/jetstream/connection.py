"""The connection to NATS, and the part of JetStream's request API that evcore uses."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from eventing.jetstream.nats_internals import BusClient, MessageHandler, direct_callback
from eventing.process import cancel_and_wait

log = logging.getLogger(__name__)

CONNECT_TIMEOUT: Final = 5.0
"""Seconds after which the attempts at a first connection end."""
CLOSE_TIMEOUT: Final = 3.0
"""Seconds after which a connection that does not close is left to the garbage collector."""


class BusError(Exception):
    """NATS or JetStream refused a request; the text is one sentence with the reason."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """JetStream's error code; 0 if there is none."""


async def connect(url: str, name: str, **options: Any) -> Client:
    """Connect to NATS. The client reconnects without end if the server stops later.

    A request without an answer then raises `ConnectionReconnectingError`.

    Raises:
        BusError: the first connection failed.
    """
    last: Exception | None = None

    async def on_error(err: Exception) -> None:
        nonlocal last
        last = err
        log.warning("%s: NATS: %s", name, err)

    client, lost = BusClient(), 0.0

    async def disconnected() -> None:
        nonlocal lost
        lost = asyncio.get_running_loop().time()
        client.lose_requests()

    async def reconnected() -> None:
        for call in client.on_reconnect:
            call(lost)

    try:
        attempt = client.connect(
            url,
            name=name,
            error_cb=on_error,
            disconnected_cb=disconnected,
            reconnected_cb=reconnected,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.1,  # pyright: ignore[reportArgumentType] - seconds
            connect_timeout=5,
            ping_interval=10,
            max_outstanding_pings=3,
            skip_subject_validation=True,  # `eventing.subjects` makes all subjects
            **options,
        )
        await _within(CONNECT_TIMEOUT, attempt)
    except BaseException as err:
        with contextlib.suppress(Exception):  # a client that never reached a server
            await _within(CLOSE_TIMEOUT, client.close())
        if not isinstance(err, (TimeoutError, NatsError, OSError)):
            raise
        reason = last or str(err) or "no answer in time"
        raise BusError(f"cannot connect to NATS at {url}: {reason}") from err
    return client


@contextlib.asynccontextmanager
async def connected(url: str, name: str, **options: Any) -> AsyncGenerator[Client]:
    """Connect to NATS for the length of a block; see `connect`."""
    client = await connect(url, name, **options)
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, RuntimeError):  # the server stopped before
            await _within(CLOSE_TIMEOUT, client.close())


async def _within(seconds: float, call: Coroutine[Any, Any, None]) -> None:
    """Await a call of nats-py for some seconds.

    nats-py ignores a cancellation while it closes a connection, and then tries the next one. So one
    cancellation, as by `asyncio.timeout`, is not enough.

    Raises:
        TimeoutError: the call did not end in time.
    """
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError
        task.result()
    finally:
        await cancel_and_wait([] if task.done() else [task])


def when_reconnected(client: Client, call: Callable[[float], None]) -> None:
    """Call `call` after each reconnection of a client of `connect`.

    Its argument is the loop's time at which the connection was lost.
    """
    if isinstance(client, BusClient):
        client.on_reconnect.append(call)


async def listen(
    client: Client, subject: str, handler: MessageHandler, queue: str = ""
) -> Subscription:
    """Subscribe, and call `handler` for each message as soon as it is read.

    The handler must be quick. No message is dropped, however many wait.
    """
    return await client.subscribe(
        subject,
        queue=queue,
        cb=direct_callback(handler),
        pending_msgs_limit=0,
        pending_bytes_limit=0,
    )


async def request(
    client: Client, subject: str, body: object = None, seconds: float = 5
) -> dict[str, Any]:
    """Call JetStream's API and return the answer, within some seconds. `subject` has no prefix
    ``$JS.API.``.

    Raises:
        BusError: JetStream answers with an error or does not answer.
    """
    payload = b"" if body is None else json.dumps(body).encode()
    try:
        answer = await client.request(f"$JS.API.{subject}", payload, timeout=seconds)
    except NoRespondersError:
        raise BusError("JetStream is not enabled on this NATS server") from None
    except (TimeoutError, NatsError) as err:
        raise BusError(f"JetStream does not answer {subject}: {err}") from err
    found: dict[str, Any] = json.loads(answer.data)
    error = found.get("error")
    if error is not None:
        raise BusError(f"{subject}: {error.get('description')}", error.get("err_code", 0))
    return found
