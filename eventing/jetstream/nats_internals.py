"""nats-py's client, with the way of a message through it made shorter.

What it sends and takes is what nats-py sends and takes; the tests compare the two. nats-py checks
each name and value of a header, and decodes each, by itself; and it hands each message to a task of
its subscription through a queue, where `listen` calls who wants it.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.protocol import command

_VERSION: Final = b"NATS/1.0\r\n"
_is_name: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_is_plain: Final = re.compile(r"[ -~\r\n]*").fullmatch
_names: Final[set[str]] = set()
"""Names of headers that have been looked at."""
_MOST_NAMES: Final = 256
_SPACE: Final = " \t\n\r\x0b\x0c"


Heard: TypeAlias = Callable[[str, str, bytes, dict[str, str] | None], None]
"""Takes a message: its subject, where to answer (empty for nowhere), its data and its headers."""


class BusClient(Client):
    """A `Client` for headers of ASCII, as those of CloudEvents are; others leave as in nats-py."""

    def __init__(self) -> None:
        """Not connected yet: see `eventing.jetstream.connection.connect`."""
        super().__init__()
        self._listening: dict[int, Heard] = {}

    def hand_to(self, subscription: Subscription, heard: Heard) -> None:
        """Call `heard` for each message of a subscription from now on, as it is read."""
        # By the number that `_process_msg` is given; nats-py tells it in no other way.
        self._listening[subscription._id] = heard  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001

    def _remove_sub(self, sid: int, max_msgs: int = 0) -> None:
        self._listening.pop(sid, None)
        super()._remove_sub(sid, max_msgs)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        heard = self._listening.get(sid)
        if heard is None or sid not in self._subs:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        found: dict[str, str] | None = None
        if headers:
            plain = headers.startswith(_VERSION)
            lines = headers[len(_VERSION) :]
            found = (
                self._parse_header_lines(lines) if plain else await self._process_headers(headers)
            )
        try:
            heard(subject.decode(), reply.decode(), data, found)
        except Exception as err:
            # As nats-py does with what a callback raises: it must not end the reading.
            await self._error_cb(err)

    async def _send_publish(
        self,
        subject: str,
        reply: str,
        payload: bytes,
        payload_size: int,
        headers: dict[str, Any] | None,
    ) -> None:
        lines = _lines(headers) if headers else b""
        if not subject or not lines:
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(command.hpub_cmd(subject, reply, lines, payload))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in raw.decode("utf-8", "replace").split("\r\n"):
            name, colon, value = line.partition(":")
            name = name.strip(_SPACE)
            if colon and (name in _names or (name.isascii() and not any(map(str.isspace, name)))):
                found[name] = value.strip(_SPACE)
        return found


def _lines(headers: dict[str, Any]) -> bytes:
    """The headers of a message as they are sent; empty if nats-py has to look at each."""
    if not _names.issuperset(headers):
        if not all(map(_is_name, headers)):
            return b""
        if len(_names) < _MOST_NAMES:
            _names.update(headers)
    # Not as an f-string: nats-py has names of an enumeration of strings.
    text = "".join([name + ": " + value + "\r\n" for name, value in headers.items()])
    if not _is_plain(text) or text.count("\n") + text.count("\r") != 2 * len(headers):
        return b""
    return b"%b%b\r\n" % (_VERSION, text.encode("ascii"))
