"""The sink that events are POSTed to, and what its answers mean (Knative's data plane contract)."""

import logging
from collections.abc import Mapping
from typing import Final

import aiohttp
import msgspec
from msgspec import Struct

from eventing.cloudevents import http_binding
from eventing.cloudevents.nats_binding import BadEventError, header_value
from eventing.dispatcher import replies
from eventing.dispatcher.replies import Reply
from schemas.cloudevents import CloudEvent

log = logging.getLogger(__name__)

MOST: Final = 1 << 28
"""Octets of an answer, at most: what tells half a million UEs that their gNB is gone."""

_TRIED: Final = frozenset({408, 409, 425})
"""Statuses below 500 of a sink that has tried, or has begun to."""
_NOT_NOW: Final = frozenset({502, 503, 504})
"""Statuses from 500 on of one that has not: it scales from zero, or has too much to do."""
_ATTRIBUTE: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_CONTEXT: Final = frozenset(
    ("specversion", "id", "source", "type", "datacontenttype", "dataschema", "subject", "time")
)
"""Attributes of the specification itself, which are not for overrides."""


class OverridesError(ValueError):
    """K_CE_OVERRIDES is not what Knative makes it; it says why in one sentence."""


class Taken(Struct, frozen=True):
    """The sink has done with an event."""

    replies: list[Reply]


class Refused(Struct, frozen=True):
    """The sink will never take an event."""

    reason: str


class Later(Struct, frozen=True):
    """The sink may take an event later."""

    reason: str
    after: float = 0.0
    """Seconds that it wants to be left alone."""
    tried: bool = False
    """Whether it was the event that failed, as far as the status tells."""


Outcome = Taken | Refused | Later


class _Overrides(Struct):
    extensions: dict[str, str] | None = None


def overrides(text: str) -> dict[str, str]:
    """The extensions that K_CE_OVERRIDES asks for: ``{"extensions": {"name": "value"}}``.

    Raises:
        OverridesError: it is something else.
    """
    if not text:
        return {}
    try:
        pairs = msgspec.json.decode(text, type=_Overrides).extensions or {}
    except msgspec.DecodeError as err:
        raise OverridesError(f'K_CE_OVERRIDES is not {{"extensions": {{...}}}}: {err}') from None
    for name in pairs:
        if not name or set(name) - _ATTRIBUTE:
            raise OverridesError(f"K_CE_OVERRIDES: {name!r} is no name of an attribute")
        if name in _CONTEXT:
            raise OverridesError(f"K_CE_OVERRIDES: {name!r} is no extension, and is not replaced")
    return pairs


class Sink:
    """Where events go."""

    def __init__(self, session: aiohttp.ClientSession, url: str, extensions: Mapping[str, str]):
        self._session = session
        self._url = url
        self._extra = {f"ce-{name}": header_value(value) for name, value in extensions.items()}

    async def post(self, event: CloudEvent, headers: Mapping[str, str]) -> Outcome:
        """POST an event in binary mode, with headers beside its attributes."""
        sent = {**http_binding.to_binary(event), **self._extra, **headers}
        try:
            async with self._session.post(
                self._url, data=event.data, headers=sent, allow_redirects=False
            ) as response:
                body = await _body(response)
                if body is None:
                    return Later(f"an answer of more than {MOST} octets", tried=True)
                return _outcome(response.status, response.headers, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as err:
            return Later(f"{type(err).__name__}: {err}")
        except Exception as err:
            # What aiohttp cannot send, or whose answer cannot be read, must not hold up the others.
            log.exception("%s cannot be posted", event.id)
            return Later(f"{type(err).__name__}: {err}", tried=True)


async def _body(response: aiohttp.ClientResponse) -> bytes | None:
    """The body; None for one that is too long."""
    parts: list[bytes] = []
    length = 0
    async for part in response.content.iter_any():
        length += len(part)
        if length > MOST:
            return None
        parts.append(part)
    return b"".join(parts)


def _outcome(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    if 200 <= status < 300:
        try:
            return Taken(replies.decode(headers.get("Content-Type", ""), body))
        except BadEventError as err:
            return Later(f"an answer that is none: {err}", tried=True)
    text = body[:200].decode(errors="replace").strip()
    reason = f"status {status}" + (f": {text}" if text else "")
    if status in http_binding.REFUSALS:
        return Refused(reason)
    # Any other below 500, as 302, 401 or 404, is about the sink: no other event would fare better.
    tried = status in _TRIED or (status >= 500 and status not in _NOT_NOW)
    return Later(reason, _after(headers), tried)


def _after(headers: Mapping[str, str]) -> float:
    """In how many seconds to come again; 0 where it is not said, or as a date."""
    try:
        return max(0.0, float(headers.get("evcore-after") or headers.get("Retry-After") or 0))
    except ValueError:
        return 0.0
