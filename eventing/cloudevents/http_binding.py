"""Encode and decode CloudEvents over HTTP: binary mode, structured mode and batches.

CloudEvents HTTP binding 1.0.2 and JSON format 1.0.2. This module uses the CloudEvents SDK. The
bus does not (`eventing.cloudevents.nats_binding`, docs/decisions/0017-cloudevents-on-the-bus.md).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec
from cloudevents.core.base import BaseCloudEvent, EventFactory
from cloudevents.core.bindings import http
from cloudevents.core.bindings.http import HTTPMessage
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as SdkEvent

from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from schemas.batch import BATCH_MEDIA_TYPE
from schemas.cloudevents import SPECVERSION, CloudEvent

STRUCTURED: Final = JSONFormat.CONTENT_TYPE
BATCH: Final = BATCH_MEDIA_TYPE

REFUSALS: Final = frozenset({400, 406, 411, 412, 413, 414, 415, 422, 431})
"""Status codes that reject the event itself. A retry would get the same answer."""

ATTEMPT: Final = "evcore-attempt"
"""Header of a request to a function: the number of the delivery attempt, from 1."""

_OPTIONAL: Final = (
    "datacontenttype",
    "procedure",
    "traceparent",
    "slot",
    "sequence",
    "incarnation",
)


class _CheckedMembers(msgspec.Struct):
    """The members of a JSON event that this module checks, because the SDK does not."""

    data_base64: bytes | None = None


_check_members: Final = msgspec.json.Decoder(_CheckedMembers).decode
_split_batch: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Format(JSONFormat):
    """The SDK's JSON format. Data in binary mode is not parsed, and base64 must be valid."""

    def read_data(self, body: bytes, datacontenttype: str | None) -> bytes:
        """Return the body unchanged. The SDK's method parses JSON and decodes text."""
        del datacontenttype
        return body

    def read(self, event_factory: EventFactory | None, data: str | bytes) -> BaseCloudEvent:
        """Decode an event in the JSON format.

        Raises:
            msgspec.DecodeError: the body is not a JSON object, or `data_base64` is not base64. The
                SDK ignores invalid characters.
        """
        _check_members(data)
        return super().read(event_factory, data)


_FORMAT: Final = _Format()


class ReceivedEvent(NamedTuple):
    """An event, with all its attributes, also those that evcore does not use."""

    event: CloudEvent
    attributes: Mapping[str, Any]


def binary_headers(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of an event in binary mode. The attribute `time` must be a datetime."""
    return http.to_binary(_sdk_event(attributes, None), _FORMAT).headers


def to_binary(event: CloudEvent) -> dict[str, str]:
    """Return the headers of an event in binary mode. The data of the event is the body."""
    return binary_headers(_attributes(event))


def extension_headers(extensions: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of extension attributes in binary mode."""
    headers = binary_headers({"id": "-", "source": "-", "type": "-", **extensions})
    return {f"ce-{name}": headers[f"ce-{name}"] for name in extensions}


def from_http(headers: Mapping[str, str], body: bytes) -> CloudEvent:
    """Decode a request in binary or structured mode. Header names must be lower case.

    Raises:
        BadEventError: the request has no event, or evcore's attributes are missing or invalid.
    """
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == STRUCTURED:
        return from_json(body).event
    if media_type.startswith("application/cloudevents"):
        raise BadEventError(f"{media_type} is not taken: one event, in {STRUCTURED} or binary mode")
    if "ce-specversion" not in headers:
        raise BadEventError(f"neither a header ce-specversion nor the content type {STRUCTURED}")
    try:
        sdk_event = http.from_binary(HTTPMessage(dict(headers), body), _FORMAT, _checked_event)
    except BadEventError:
        raise
    except Exception as err:  # the SDK does not say which exceptions it raises
        raise BadEventError(f"not an event in binary mode: {err}") from None
    return _received(sdk_event).event


def to_json(event: CloudEvent, extensions: Mapping[str, str] | None = None) -> bytes:
    """Encode an event and some extension attributes in the JSON format."""
    sdk_event = _sdk_event({**_attributes(event), **(extensions or {})}, event.data or None)
    return _FORMAT.write(sdk_event)


def to_batch(events: Iterable[bytes]) -> bytes:
    """Join events in the JSON format to a batch. The SDK does not support batches."""
    return b"[%b]" % b",".join(events)


def from_json(body: bytes) -> ReceivedEvent:
    """Decode an event in the JSON format.

    Raises:
        BadEventError: the body is not an event, or evcore's attributes are missing or invalid.
    """
    try:
        sdk_event = _FORMAT.read(_checked_event, body)
    except BadEventError:
        raise
    except msgspec.ValidationError as err:
        text = f"the body is not a JSON object: {err}"
        raise BadEventError("data_base64 is not base64" if "base64" in str(err) else text) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise BadEventError(f"the body is not a JSON object: {err}") from None
    except Exception as err:  # the SDK does not say which exceptions it raises
        raise BadEventError(f"not an event in the JSON format: {err}") from None
    return _received(sdk_event)


def from_response(content_type: str, body: bytes) -> list[ReceivedEvent]:
    """Decode the events of a response: one event, a batch, or none for an empty body.

    Raises:
        BadEventError: the content type is that of no event and no batch, or the body is invalid.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if not body:
        return []
    if media_type == STRUCTURED:
        return [from_json(body)]
    if media_type != BATCH:
        raise BadEventError(f"events in {media_type or 'no content type'} are not taken")
    try:
        parts = _split_batch(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise BadEventError(f"the body is not a batch of events: {err}") from None
    return [from_json(bytes(part)) for part in parts]


def _attributes(event: CloudEvent) -> dict[str, Any]:
    """Return the attributes that are set, without `specversion`."""
    attributes: dict[str, Any] = {
        "id": event.id,
        "source": event.source,
        "type": event.type,
        "partitionkey": event.partitionkey,
    }
    for name in _OPTIONAL:
        value = getattr(event, name)
        if value is not None and value != "":
            attributes[name] = value
    if event.position is not None:
        attributes["position"] = str(event.position)
    return attributes


def _sdk_event(attributes: Mapping[str, Any], data: bytes | None) -> SdkEvent:
    """Return an event of the SDK, without the time that the SDK adds."""
    sdk_event = SdkEvent({"specversion": SPECVERSION, **attributes}, data)
    if "time" not in attributes:
        del sdk_event.get_attributes()["time"]
    return sdk_event


def _checked_event(
    attributes: dict[str, Any], data: dict[str, Any] | str | bytes | None
) -> SdkEvent:
    """Return an event of the SDK. Attributes with the value null are dropped.

    Raises:
        BadEventError: an attribute has another type, or a required one is missing. The SDK
            generates a missing id.
    """
    given = {name: value for name, value in attributes.items() if value is not None}
    for name, value in given.items():
        if name != "time" and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise BadEventError(f"the attribute {name[:40]} is neither text nor a whole number")
    nats_binding.require(given)
    return SdkEvent(given, data)


def _received(sdk_event: BaseCloudEvent) -> ReceivedEvent:
    """Convert an event of the SDK.

    Raises:
        BadEventError: an attribute of evcore is missing or invalid.
    """
    attributes = sdk_event.get_attributes()
    texts = {name: str(value) for name, value in attributes.items() if name != "time"}
    return ReceivedEvent(nats_binding.from_attributes(texts, _octets(sdk_event)), attributes)


def _octets(sdk_event: BaseCloudEvent) -> bytes:
    """Return the data of an event as octets."""
    data = cast("Any", sdk_event.get_data())
    if data is None:
        return b""
    if isinstance(data, bytes):
        return data
    return data.encode() if isinstance(data, str) else msgspec.json.encode(data)
