"""The connection to NATS, and JetStream's request API as far as evcore needs it."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from eventing.jetstream.nats_internals import BusClient, Heard

log = logging.getLogger(__name__)

PATIENCE: Final = 5.0
"""Seconds for which a first connection is tried."""


class BusError(Exception):
    """NATS or JetStream refused something; it says what and why in one sentence."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """JetStream's error code, 0 for none."""


async def connect(url: str, name: str, **options: Any) -> Client:
    """Connect, and stay connected: a server that goes away is waited for without end.

    Raises:
        BusError: no server can be reached at first.
    """
    last: Exception | None = None

    async def on_error(err: Exception) -> None:
        nonlocal last
        last = err
        log.warning("%s: NATS: %s", name, err)

    client = BusClient()
    try:
        async with asyncio.timeout(PATIENCE):
            await client.connect(
                url,
                name=name,
                error_cb=on_error,
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,  # pyright: ignore[reportArgumentType] - seconds
                connect_timeout=5,
                ping_interval=10,
                max_outstanding_pings=3,
                skip_subject_validation=True,  # `eventing.subjects` makes all of them
                **options,
            )
    except BaseException as err:
        with contextlib.suppress(Exception):  # one that did not get as far as a server
            await client.close()
        if not isinstance(err, (TimeoutError, NatsError, OSError)):
            raise
        reason = last or str(err) or "no answer in time"
        raise BusError(f"cannot connect to NATS at {url}: {reason}") from err
    return client


@contextlib.asynccontextmanager
async def connected(url: str, name: str, **options: Any) -> AsyncGenerator[Client]:
    """A connection for the length of a block."""
    client = await connect(url, name, **options)
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, RuntimeError):  # of a socket whose server is away
            await client.close()


async def listen(client: Client, subject: str, heard: Heard, queue: str = "") -> Subscription:
    """Subscribe, and have `heard` called for each message: at once, and so it must be quick.

    However much comes, nothing is dropped.
    """

    async def through_the_queue(message: Msg) -> None:
        heard(message.subject, message.reply, message.data, message.headers)

    found = await client.subscribe(
        subject, queue=queue, cb=through_the_queue, pending_msgs_limit=0, pending_bytes_limit=0
    )
    if isinstance(client, BusClient):
        client.hand_to(found, heard)
    return found


async def request(client: Client, subject: str, body: object = None) -> dict[str, Any]:
    """Call JetStream's API; `subject` without its prefix ``$JS.API.``.

    Raises:
        BusError: JetStream answers with an error, or not at all.
    """
    payload = b"" if body is None else json.dumps(body).encode()
    try:
        answer = await client.request(f"$JS.API.{subject}", payload, timeout=5)
    except NoRespondersError:
        raise BusError("JetStream is not enabled on this NATS server") from None
    except (TimeoutError, NatsError) as err:
        raise BusError(f"JetStream does not answer {subject}: {err}") from err
    found: dict[str, Any] = json.loads(answer.data)
    error = found.get("error")
    if error is not None:
        raise BusError(f"{subject}: {error.get('description')}", error.get("err_code", 0))
    return found
