"""The sink: an HTTP server that accepts CloudEvents, such as the ingress of a Knative Broker.

Responses are handled as in Knative's data plane contract ("Event Acknowledgement and Delivery
Retry"), with one exception: responses about the sink and not about the event, such as 401, 403 or
405, also lead to a retry, because every other event would fail in the same way.
"""

import asyncio
import logging
import random
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final, Self

import aiohttp

from eventing.cloudevents import http_binding
from eventing.dispatcher.credentials import Token
from functions.announcer.announcement import Announcement

log = logging.getLogger(__name__)

ATTEMPT: Final = 30.0
"""Time limit in seconds for a response of the sink."""
FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 30.0
LONGEST_RETRY_AFTER: Final = 300.0
_LOUD: Final = 5
"""Number of attempts after which each attempt is a warning in the log."""


class RefusedError(Exception):
    """The sink will never accept this event. The message says why."""


class Sink:
    """Sends events by HTTP POST, each until it is accepted or refused."""

    def __init__(
        self,
        url: str,
        extensions: Mapping[str, str],
        token: Token | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Create a sink.

        Args:
            url: where it listens.
            extensions: attributes that are added to every event, or replace its own.
            token: is sent in each request; none if None.
            context: the TLS settings; those of the system if None.
        """
        self._url = url
        self._token = token or Token()
        self._extra = http_binding.extension_headers(extensions)
        timeout = aiohttp.ClientTimeout(total=ATTEMPT)
        # No limit: the number of callers is already limited.
        connector = aiohttp.TCPConnector(limit=0, ssl=context if context is not None else True)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    def stop(self) -> None:
        """Finish the running requests, without further attempts."""
        self._closing.set()

    async def deliver(self, event: Announcement) -> bool:
        """Send an event until it is accepted; return False if `stop` is called first.

        Raises:
            RefusedError: the sink will never accept the event.
        """
        attempt = 0
        while not self._closing.is_set():
            problem, wanted = await self._attempt(event)
            if problem is None:
                return True
            attempt += 1
            delay = max(wanted, _backoff(attempt))
            level = logging.WARNING if attempt >= _LOUD else logging.INFO
            log.log(level, "%s: %s; again in %.1f s", event.id, problem, delay)
            await self._pause(delay)
        return False

    async def _attempt(self, event: Announcement) -> tuple[str | None, float]:
        """Send an event once. Return the problem, None for success, and the sink's Retry-After in
        seconds."""
        headers = {**event.headers, **self._extra, **self._token.headers}
        try:
            async with self._session.post(
                self._url, data=event.body, headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
                wanted = retry_after(answer.headers.get("Retry-After"))
                if status in http_binding.REFUSALS:
                    words = (await answer.content.read(200)).decode(errors="replace")
                    raise RefusedError(f"{status} {answer.reason}: {words}".rstrip(": "))
                await answer.read()
        except TimeoutError:
            return f"{self._url} has not answered within {ATTEMPT:g} s", 0.0
        except (aiohttp.ClientError, OSError) as err:
            return f"{self._url}: {err or type(err).__name__}", 0.0
        return (None, 0.0) if 200 <= status < 300 else (f"{self._url} answers {status}", wanted)

    async def _pause(self, delay: float) -> None:
        try:
            async with asyncio.timeout(delay):
                await self._closing.wait()
        except TimeoutError:
            pass


def retry_after(value: str | None, now: datetime | None = None) -> float:
    """Return the seconds of a Retry-After header (RFC 9110 10.2.3), at most five minutes; 0 without
    a valid header."""
    if value is None:
        return 0.0
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    seconds = (when - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _backoff(attempt: int) -> float:
    """Return an exponential delay with jitter, so that waiting requests do not coincide."""
    longest = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(attempt - 1, 16))
    return longest * (0.5 + random.random() / 2)  # noqa: S311
