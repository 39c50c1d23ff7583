"""CloudEvents in binary mode on NATS headers (CloudEvents NATS protocol binding 1.0.3).

Each attribute is a header with the prefix ``ce-``; the data is the payload. The tests compare
the result with what the CloudEvents SDK makes of the same event.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from schemas.cloudevents import SPECVERSION, CloudEvent
from schemas.identity import SLOTS

_REQUIRED: Final = ("id", "source", "type", "partitionkey")
_TEXTS: Final = ("datacontenttype", "procedure", "traceparent")
_NUMBERS: Final = {"slot": SLOTS - 1, "sequence": (1 << 63) - 1}
"""The largest value of each."""

_SAFE: Final = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in '"%')
"""What needs no percent-encoding in a header value (clause 3.1.3.2)."""

_is_safe: Final = re.compile(f"[{re.escape(_SAFE)}]*").fullmatch


class BadEventError(ValueError):
    """A message is not a CloudEvent of evcore; it says what is wrong in one sentence."""


def to_headers(event: CloudEvent) -> dict[str, str]:
    """The headers of an event; its data is the payload."""
    headers = {
        "ce-specversion": SPECVERSION,
        "ce-id": header_value(event.id),
        "ce-source": header_value(event.source),
        "ce-type": header_value(event.type),
        "ce-partitionkey": header_value(event.partitionkey),
    }
    if event.datacontenttype is not None:
        headers["ce-datacontenttype"] = header_value(event.datacontenttype)
    if event.procedure is not None:
        headers["ce-procedure"] = header_value(event.procedure)
    if event.slot is not None:
        headers["ce-slot"] = str(event.slot)
    if event.sequence is not None:
        headers["ce-sequence"] = str(event.sequence)
    if event.traceparent is not None:
        headers["ce-traceparent"] = header_value(event.traceparent)
    return headers


def from_message(headers: Mapping[str, str] | None, data: bytes) -> CloudEvent:
    """The event of a message.

    Raises:
        BadEventError: a required attribute is missing, or a value is not of its type.
    """
    if not headers:
        raise BadEventError("a message without headers is no CloudEvent in binary mode")
    found = {k.lower().removeprefix("ce-"): v for k, v in headers.items() if k[:3].lower() == "ce-"}
    if found.get("specversion") != SPECVERSION:
        raise BadEventError(f"specversion is {found.get('specversion')!r}, not {SPECVERSION!r}")
    for name in _REQUIRED:
        if not found.get(name):
            raise BadEventError(f"the attribute {name} is missing")
    values: dict[str, str | int] = {}
    for name in (*_REQUIRED, *_TEXTS):
        if name in found:
            values[name] = _decode(name, found[name])
    for name in _NUMBERS:
        if name in found:
            values[name] = _number(name, found[name])
    return CloudEvent(data=data, **values)  # pyright: ignore[reportArgumentType]


def header_value(value: str) -> str:
    """`value` as the value of a header: percent-encoded where it must be."""
    return value if _is_safe(value) else quote(value, safe=_SAFE)


def _decode(name: str, value: str) -> str:
    if "%" not in value:
        return value
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise BadEventError(f"{name} is not percent-encoded UTF-8") from None


def _number(name: str, value: str) -> int:
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else -1
    if not 0 <= number <= _NUMBERS[name]:
        raise BadEventError(f"{name} is {value[:40]!r}, not a number up to {_NUMBERS[name]}")
    return number
