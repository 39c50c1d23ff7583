"""All uses of nats-py's internals: three shortcuts, each with its cost without it, and repairs.

- `_import_without_aiohttp` hides aiohttp from nats-py. nats-py imports it for WebSockets if it is
  installed; evcore does not use WebSockets. Without: 100 ms more at each cold start.
- `BusClient._process_msg` calls the handler of a subscription directly, instead of through a queue
  and a task, and has its own header parser. Without: 7.0 us a message instead of 2.1.
- `BusClient._send_publish` has its own header writer. Without: 5.9 us a message instead of 2.6.

- `BusClient._send_ping` sends a PING after all that was sent before it. nats-py sends it before
  what waits to be written. Then `flush` returns too early, and `Subscription.drain` removes the
  subscription before the server has read the UNSUB: messages sent in between are lost. It also lets
  the caller of `flush` give up. nats-py stops to read when the PONG then comes.
- `BusClient.lose_requests` ends the requests of a lost connection. nats-py would wait until their
  timeouts, up to 5 s.
- `BusClient._connect_command` ends a connection without TLS if TLS was demanded. nats-py goes on in
  plaintext if the server does not offer TLS, or if somebody in between has removed the offer.
- `BusClient.request` lets its task be cancelled. nats-py uses `asyncio.wait_for`, which in Python
  3.11 drops a cancellation that comes together with the answer.

The two shortcuts of `BusClient` save 5 % of a worker's CPU time and 15 % of the N2 gateway's
(docs/performance.md). nats-py has no public way to replace its parser, its writer or its queues.

`tests/eventing/test_nats_internals.py` fails if a release of nats-py changes an internal that this
module uses. It also compares the octets and headers of the shortcuts with those of nats-py.
"""

import asyncio
import functools
import re
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, Final, TypeAlias


def _import_without_aiohttp() -> None:
    """Import nats-py as if aiohttp were not installed, unless aiohttp is imported already.

    Only this one import is affected: a later `import aiohttp` works.
    """
    if "aiohttp" not in sys.modules:
        sys.modules["aiohttp"] = None  # pyright: ignore[reportArgumentType]
        try:
            import_module("nats.aio.transport")
        finally:
            del sys.modules["aiohttp"]


_import_without_aiohttp()

from nats.aio.client import PING_PROTO, Client  # noqa: E402 - see above
from nats.aio.msg import Msg  # noqa: E402 - see above
from nats.errors import ConnectionReconnectingError, SecureConnWantedError  # noqa: E402 - see above
from nats.errors import TimeoutError as RequestTimeoutError  # noqa: E402 - see above
from nats.protocol import command  # noqa: E402 - see above

MessageHandler: TypeAlias = Callable[[str, str, bytes, dict[str, str] | None], None]
"""Handles a message: its subject, its reply subject (empty for none), its data, its headers."""

HEADER_VERSION: Final = b"NATS/1.0\r\n"
"""The first line of the headers of a message, before those that `parse_headers` reads."""
_is_name: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_is_plain: Final = re.compile(r"[ -~\r\n]*").fullmatch
_names: Final[set[str]] = set()
"""Header names that were checked already, at most `_MOST_NAMES`."""
_MOST_NAMES: Final = 256
_SPACE: Final = " \t\n\r\x0b\x0c"


class DirectCallback(functools.partial[Coroutine[Any, Any, None]]):
    """A subscription callback with a handler that a `BusClient` calls when it reads a message.

    Any other `Client` awaits the callback as usual. Made by `direct_callback`.
    """

    @property
    def handler(self) -> MessageHandler:
        """The function that handles the messages."""
        return self.args[0]


def direct_callback(handler: MessageHandler) -> DirectCallback:
    """Return the subscription callback of a handler."""
    return DirectCallback(_call, handler)


async def _call(handler: MessageHandler, message: Msg) -> None:
    handler(message.subject, message.reply, message.data, message.headers)


class BusClient(Client):
    """A `Client` with shortcuts for direct callbacks and for ASCII headers, as CloudEvents have.

    Other messages take nats-py's own way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_reconnect: list[Callable[[float], None]] = []
        """Called after each reconnection; see `eventing.jetstream.connection.when_reconnected`."""

    def _connect_command(self) -> bytes:
        wanted = self.options.get("tls") is not None
        if wanted and self._transport._io_writer.get_extra_info("ssl_object") is None:  # type: ignore[attr-defined]  # noqa: SLF001
            raise SecureConnWantedError
        return super()._connect_command()

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        subscription = self._subs.get(sid)
        callback = None if subscription is None else subscription._cb  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        if not isinstance(callback, DirectCallback):
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        found: dict[str, str] | None = None
        if headers:
            plain = headers.startswith(HEADER_VERSION)
            found = (
                parse_headers(headers[len(HEADER_VERSION) :])
                if plain
                else await self._process_headers(headers)
            )
        try:
            callback.handler(subject.decode(), reply.decode(), data, found)
        except Exception as err:
            # As nats-py does for an exception of a callback: it must not end the reading.
            await self._error_cb(err)

    async def _send_publish(
        self,
        subject: str,
        reply: str,
        payload: bytes,
        payload_size: int,
        headers: dict[str, Any] | None,
    ) -> None:
        lines = _header_lines(headers) if headers else b""
        if not subject or not lines:
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(command.hpub_cmd(subject, reply, lines, payload))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float = 0.5,  # noqa: ASYNC109 - nats-py's signature
        old_style: bool = False,
        headers: dict[str, Any] | None = None,
    ) -> Msg:
        """Send a request, and return its answer within `timeout` seconds; see `Client.request`."""
        unbounded: Any = None
        try:
            async with asyncio.timeout(timeout):
                return await super().request(subject, payload, unbounded, old_style, headers)
        except TimeoutError:
            raise RequestTimeoutError from None

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        pong: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if future is not None:
            pong.add_done_callback(lambda _: future.done() or future.set_result(True))
        self._pongs.append(pong)
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    def lose_requests(self) -> None:
        """End all requests without an answer: the connection that they were sent on is lost.

        They raise `ConnectionReconnectingError`.
        """
        answers: list[asyncio.Future[Msg]] = [*self._resp_map.values()]
        for answer in answers:
            if not answer.done():
                answer.set_exception(ConnectionReconnectingError())


def parse_headers(lines: bytes) -> dict[str, str]:
    """Return the headers in `lines`, the same as nats-py's `_parse_header_lines`."""
    found: dict[str, str] = {}
    for line in lines.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        name = name.strip(_SPACE)
        if colon and (name in _names or (name.isascii() and not any(map(str.isspace, name)))):
            found[name] = value.strip(_SPACE)
    return found


def _header_lines(headers: dict[str, Any]) -> bytes:
    """Return the octets of headers; empty if nats-py must check or change one of them."""
    if not _names.issuperset(headers):
        if not all(map(_is_name, headers)):
            return b""
        if len(_names) < _MOST_NAMES:
            _names.update(headers)
    # Not an f-string: nats-py has header names that are members of a string enumeration.
    text = "".join([name + ": " + value + "\r\n" for name, value in headers.items()])
    if not _is_plain(text) or text.count("\n") + text.count("\r") != 2 * len(headers):
        return b""
    return b"%b%b\r\n" % (HEADER_VERSION, text.encode("ascii"))
