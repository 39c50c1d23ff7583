"""Bounds for the connections of an HTTP function, as an HTTP protocol of uvicorn.

uvicorn has a timeout for connections between two requests (`timeout_keep_alive`), and neither for
the headers of a request nor for a response that its receiver does not read, nor a bound on headers
and connections.
"""

import asyncio
import logging
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from eventing.process import is_logged

log = logging.getLogger(__name__)

HEADERS: Final = 1 << 16
"""Maximum octets of a request before the end of its headers."""
REQUEST: Final = 1 << 22
"""Maximum octets of a request with its body, which may be in small chunks, and its trailers."""
UNREAD: Final = 30.0
"""Seconds for which a response may wait for its receiver."""


class Connections:
    """The bounds of a server, and its connections that wait for a request."""

    def __init__(self, most: int, headers_within: float) -> None:
        """`most` is the maximum number of connections; `headers_within` is in seconds."""
        self.most = most
        self.headers_within = headers_within
        self.idle: dict[BoundedProtocol, None] = {}
        """The connections without a request, the one that has waited longest first."""
        self.closed = 0
        """Number of connections that were closed for one of the bounds."""

    def protocol(self, *args: Any, **kwargs: Any) -> "BoundedProtocol":
        """Return the protocol of a new connection; the option `http` of uvicorn."""
        return BoundedProtocol(self, *args, **kwargs)

    def note(self, why: str) -> None:
        """Count a connection that is closed. Log the first, second, fourth, ... of them."""
        self.closed += 1
        if is_logged(self.closed):
            log.warning("%d HTTP connection(s) closed: %s", self.closed, why)


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed if its request or the reading of its response takes too long."""

    def __init__(self, bounds: Connections, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bounds = bounds
        self._awaiting_headers: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._octets = 0
        """Octets of the request, or of its headers so far."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.BaseProtocol`. Close a connection if there are too many."""
        super().connection_made(transport)
        bounds = self._bounds
        if len(self.connections) > bounds.most:
            surplus = next(iter(bounds.idle), self)
            surplus.end(f"there are {bounds.most} others")
        if not transport.is_closing():
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._headers_complete()
        self._read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`. Close the connection if its request is too long."""
        if self._awaiting_headers is None and self._is_idle:
            self._octets = 0
            self._expect_headers()
        self._octets += len(data)
        super().data_received(data)
        if self._octets > (REQUEST if self._awaiting_headers is None else HEADERS):
            self.end("a request is too long")

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._headers_complete()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self._is_idle and not self.transport.is_closing():
            self._bounds.idle[self] = None

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol`. Close the connection if this takes too long."""
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD, self.end, "a response is not read")

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        super().resume_writing()
        self._read()

    def end(self, why: str) -> None:
        """Close the connection at once."""
        if not self.transport.is_closing():
            self._bounds.note(why)
            self._bounds.idle.pop(self, None)
            self.transport.abort()

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being processed."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete

    def _expect_headers(self) -> None:
        bounds = self._bounds
        bounds.idle[self] = None
        self._awaiting_headers = self.loop.call_later(
            bounds.headers_within, self.end, "the headers of a request take too long"
        )

    def _headers_complete(self) -> None:
        self._bounds.idle.pop(self, None)
        if self._awaiting_headers is not None:
            self._awaiting_headers.cancel()
            self._awaiting_headers = None

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
