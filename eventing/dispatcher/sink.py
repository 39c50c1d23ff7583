"""The sink to which events are POSTed, and the meaning of its answers.

The meaning follows Knative's data plane contract ("Event Acknowledgement and Delivery Retry").
"""

import logging
from collections.abc import Mapping
from typing import Final

import aiohttp
import msgspec
from msgspec import Struct

from eventing.cloudevents import http_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.dispatcher import replies
from eventing.dispatcher.credentials import Token
from eventing.dispatcher.load import Functions
from eventing.dispatcher.replies import Reply
from schemas.cloudevents import CloudEvent

log = logging.getLogger(__name__)

MOST: Final = 1 << 28
"""Maximum octets of an answer: enough to tell half a million UEs that their gNB is lost."""

_TRIED: Final = frozenset({408, 409, 425})
"""Statuses below 500 of a sink that has processed the event, or has started to."""
_NOT_ACCEPTED: Final = frozenset({401, 403})
"""Statuses of a sink that wants another token: the event waits until there is one."""
_NOT_NOW: Final = frozenset({502, 503, 504})
"""Statuses from 500 of a sink that has not: it scales from zero or is overloaded."""
_ATTRIBUTE: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_CONTEXT: Final = frozenset(
    ("specversion", "id", "source", "type", "datacontenttype", "dataschema", "subject", "time")
)
"""Attributes of the specification itself, which overrides must not change."""


class OverridesError(ValueError):
    """K_CE_OVERRIDES is not in Knative's form; the text is one sentence with the reason."""


class Processed(Struct, frozen=True):
    """The sink has processed an event."""

    replies: list[Reply]


class Refused(Struct, frozen=True):
    """The sink would refuse an event each time."""

    reason: str


class RetryLater(Struct, frozen=True):
    """The sink may process an event later."""

    reason: str
    after: float = 0.0
    """Seconds until the next attempt, as the sink asks."""
    tried: bool = False
    """Whether the event itself failed, as far as the status shows."""


PostOutcome = Processed | Refused | RetryLater


class _Overrides(Struct):
    extensions: dict[str, str] | None = None


def overrides(text: str) -> dict[str, str]:
    """Return the extensions in K_CE_OVERRIDES: ``{"extensions": {"name": "value"}}``.

    Raises:
        OverridesError: the text has another form.
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


class FunctionSink:
    """POSTs events to a URL."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        extensions: Mapping[str, str],
        token: Token | None = None,
    ) -> None:
        """`extensions` are attributes for every event; `token` is sent in each request."""
        self._session = session
        self._url = url
        self._token = token or Token()
        self._extra = http_binding.extension_headers(extensions)
        self.functions = Functions()
        """The functions behind the URL, by their answers."""

    async def post(self, event: CloudEvent, headers: Mapping[str, str]) -> PostOutcome:
        """POST an event in binary mode, with additional headers."""
        try:
            own = self._token.headers
            sent = {**http_binding.to_binary(event), **self._extra, **headers, **own}
            async with self._session.post(
                self._url, data=event.data, headers=sent, allow_redirects=False
            ) as response:
                self.functions.heard(response.headers)
                body = await _body(response)
                if body is None:
                    return RetryLater(f"an answer of more than {MOST} octets", tried=True)
                return _outcome(response.status, response.headers, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as err:
            return RetryLater(f"{type(err).__name__}: {err}")
        except Exception as err:
            # An event that cannot be sent or an answer that cannot be read must not stop the rest.
            log.exception("%s cannot be posted", event.id)
            return RetryLater(f"{type(err).__name__}: {err}", tried=True)


async def _body(response: aiohttp.ClientResponse) -> bytes | None:
    """Return the body; None if it is too long."""
    parts: list[bytes] = []
    length = 0
    async for part in response.content.iter_any():
        length += len(part)
        if length > MOST:
            return None
        parts.append(part)
    return b"".join(parts)


def _outcome(status: int, headers: Mapping[str, str], body: bytes) -> PostOutcome:
    if 200 <= status < 300:
        try:
            return Processed(replies.decode(headers.get("Content-Type", ""), body))
        except BadEventError as err:
            return RetryLater(f"an answer that cannot be read: {err}", tried=True)
    text = body[:200].decode(errors="replace").strip()
    reason = f"status {status}" + (f": {text}" if text else "")
    if status in http_binding.REFUSALS:
        return Refused(reason)
    if status in _NOT_ACCEPTED:
        reason = f"the sink does not accept this caller: {reason}"
    # Other statuses below 500, as 302, 401 or 404, are about the sink: each event gets the same.
    tried = status in _TRIED or (status >= 500 and status not in _NOT_NOW)
    return RetryLater(reason, _after(headers), tried)


def _after(headers: Mapping[str, str]) -> float:
    """Return the seconds until the next attempt; 0 without a header or for a date."""
    try:
        return max(0.0, float(headers.get("evcore-after") or headers.get("Retry-After") or 0))
    except ValueError:
        return 0.0
