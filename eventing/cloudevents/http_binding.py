"""CloudEvents over HTTP: binary and structured mode, and batches (CloudEvents HTTP binding 1.0.2).

The tests compare what is made here with what the CloudEvents SDK makes of the same event.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from schemas.batch import BATCH_MEDIA_TYPE
from schemas.cloudevents import SPECVERSION, CloudEvent

STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = BATCH_MEDIA_TYPE

REFUSALS: Final = frozenset({400, 406, 411, 412, 413, 414, 415, 422, 431})
"""What a receiver says of an event itself: it would never be taken."""

ATTEMPT: Final = "evcore-attempt"
"""The header that tells a function the number of this attempt at an event, from 1."""

_TEXTS: Final = ("datacontenttype", "procedure", "traceparent")
_NUMBERS: Final = ("slot", "sequence")


def to_binary(event: CloudEvent) -> dict[str, str]:
    """The headers of an event in binary mode; its data is the body."""
    headers = nats_binding.to_headers(event)
    if headers.pop("ce-datacontenttype", None) is not None:
        headers["content-type"] = event.datacontenttype or ""
    return headers


def from_http(headers: Mapping[str, str], body: bytes) -> CloudEvent:
    """The event of a request, in binary or structured mode; names of headers in lower case.

    Raises:
        BadEventError: it is no CloudEvent in one of these, or one that is not evcore's.
    """
    content_type = headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == STRUCTURED:
        return from_json(_object(body))
    if media_type.startswith("application/cloudevents"):
        raise BadEventError(f"{media_type} is not taken: one event, in {STRUCTURED} or binary mode")
    if "ce-specversion" not in headers:
        raise BadEventError(f"neither a header ce-specversion nor the content type {STRUCTURED}")
    found = dict(headers)
    if content_type:
        found["ce-datacontenttype"] = nats_binding.header_value(content_type)
    return nats_binding.from_message(found, body)


def to_json(event: CloudEvent, extensions: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An event in the JSON format (CloudEvents JSON format 1.0.2), with attributes of others."""
    found: dict[str, Any] = {
        "specversion": SPECVERSION,
        "id": event.id,
        "source": event.source,
        "type": event.type,
        "partitionkey": event.partitionkey,
    }
    for name in (*_TEXTS, *_NUMBERS):
        value = getattr(event, name)
        if value is not None:
            found[name] = value
    found.update(extensions or {})
    if event.data:
        found["data_base64"] = base64.b64encode(event.data).decode()
    return found


def from_json(found: Mapping[str, Any]) -> CloudEvent:
    """The event of an object in the JSON format.

    Raises:
        BadEventError: it is none, or one that is not evcore's.
    """
    texts: dict[str, str] = {}
    for name, value in found.items():
        if name in ("data", "data_base64") or value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadEventError(f"the attribute {name[:40]} is neither text nor a whole number")
        texts[name] = str(value)
    return nats_binding.from_attributes(texts, _data(found))


def _data(found: Mapping[str, Any]) -> bytes:
    if "data_base64" in found:
        try:
            return base64.b64decode(found["data_base64"], validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise BadEventError("data_base64 is not base64") from None
    data = found.get("data")
    if data is None:
        return b""
    return data.encode() if isinstance(data, str) else msgspec.json.encode(data)


def _object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise BadEventError(f"the body is not a JSON object: {err}") from None


def to_body(found: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bytes:
    """An event in the JSON format, or a batch of them, as a body."""
    return msgspec.json.encode(found)


def from_response(content_type: str, body: bytes) -> list[dict[str, Any]]:
    """The events of a response, in the JSON format: one, a batch, or none.

    Raises:
        BadEventError: it is none of these.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if not body:
        return []
    if media_type == STRUCTURED:
        return [_object(body)]
    if media_type != BATCH:
        raise BadEventError(f"events in {media_type or 'no content type'} are not taken")
    try:
        return msgspec.json.decode(body, type=list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise BadEventError(f"the body is not a batch of events: {err}") from None
