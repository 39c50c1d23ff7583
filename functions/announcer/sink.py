"""The sink: an HTTP server that takes CloudEvents, as the ingress of a Knative Broker.

What an answer means is as in Knative's data plane contract ("Event Acknowledgement and Delivery
Retry"), but for what is about the sink and not about the event, as 401, 403 or 405: that is tried
again too, for no other event would fare better.
"""

import asyncio
import logging
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final, Self

import aiohttp

from eventing.cloudevents import http_binding
from functions.announcer.announcement import Announcement

log = logging.getLogger(__name__)

ATTEMPT: Final = 30.0
"""Seconds that a sink has to answer."""
FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 30.0
LONGEST_RETRY_AFTER: Final = 300.0
_LOUD: Final = 5
"""Attempts after which each one is logged."""


class RefusedError(Exception):
    """The sink will never take this event; it says why."""


class Sink:
    """POSTs events, each until it is taken or refused."""

    def __init__(self, url: str, extensions: Mapping[str, str]) -> None:
        """`extensions` are attributes that every event has, or has in the place of its own."""
        self._url = url
        self._extra = http_binding.extension_headers(extensions)
        timeout = aiohttp.ClientTimeout(total=ATTEMPT)
        # As many connections as there are callers: it is they who are bounded.
        connector = aiohttp.TCPConnector(limit=0)
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
        """Let requests under way end, and try nothing again."""
        self._closing.set()

    async def deliver(self, event: Announcement) -> bool:
        """Send an event until it is taken; False where `stop` came first.

        Raises:
            RefusedError: it never will be.
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
        """Why it was not taken, None if it was, and how long the sink wants to be left alone."""
        headers = {**event.headers, **self._extra}
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
    """The seconds of a Retry-After header (RFC 9110 10.2.3), five minutes at most; 0 for none, or
    for one that is not understood."""
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
    """Twice as long each time, with jitter, so that those who wait do not come together."""
    longest = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(attempt - 1, 16))
    return longest * (0.5 + random.random() / 2)  # noqa: S311
