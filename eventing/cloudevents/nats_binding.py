"""CloudEvents in binary mode on NATS headers (CloudEvents NATS protocol binding 1.0.3).

Each attribute is a header with the prefix ``ce-``; the data is the payload. The tests compare these
headers with the headers of the CloudEvents SDK for the same event.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from schemas import position
from schemas.cloudevents import SPECVERSION, CloudEvent
from schemas.identity import SLOTS
from schemas.position import Position

_REQUIRED: Final = ("id", "source", "type", "partitionkey")
_TEXTS: Final = ("datacontenttype", "procedure", "traceparent")
_NUMBERS: Final = {"slot": SLOTS - 1, "sequence": (1 << 63) - 1, "incarnation": (1 << 32) - 1}
"""The maximum of each number."""

COUNTED: Final = "evcore-nas-count"
"""Header of a downlink message: the NAS COUNTs of its NAS messages, as ``"5"`` or ``"5-6"``."""
REPEATED: Final = "evcore-repeated"
"""Header of a message that may be a copy of an earlier message."""

_PLAIN: Final = frozenset(
    [f"ce-{name}" for name in ("specversion", *_REQUIRED, *_TEXTS, *_NUMBERS, "position")]
    + [COUNTED, REPEATED]
)

_SAFE: Final = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in '"%')
"""Characters that need no percent-encoding in a header value (clause 3.1.3.2)."""

_is_safe: Final = re.compile(f"[{re.escape(_SAFE)}]*").fullmatch


class BadEventError(ValueError):
    """A message is not a CloudEvent of evcore; the text is one sentence with the reason."""


def to_headers(event: CloudEvent) -> dict[str, str]:
    """Return the headers of an event. The data of the event is the payload."""
    headers = {
        "ce-specversion": SPECVERSION,
        "ce-id": event.id,
        "ce-source": event.source,
        "ce-type": event.type,
        "ce-partitionkey": event.partitionkey,
    }
    if event.datacontenttype is not None:
        headers["ce-datacontenttype"] = event.datacontenttype
    if event.procedure is not None:
        headers["ce-procedure"] = event.procedure
    if event.traceparent is not None:
        headers["ce-traceparent"] = event.traceparent
    if not _is_safe("".join(headers.values())):
        headers = {name: header_value(value) for name, value in headers.items()}
    if event.slot is not None:
        headers["ce-slot"] = str(event.slot)
    if event.sequence is not None:
        headers["ce-sequence"] = str(event.sequence)
    if event.position is not None:
        headers["ce-position"] = str(event.position)
    if event.incarnation is not None:
        headers["ce-incarnation"] = str(event.incarnation)
    return headers


def from_message(headers: Mapping[str, str] | None, data: bytes) -> CloudEvent:
    """Return the event of a message.

    Raises:
        BadEventError: a required attribute is missing, or a value is not of its type.
    """
    if not headers:
        raise BadEventError("a message without headers is no CloudEvent in binary mode")
    event = _plain(headers, data) if _PLAIN.issuperset(headers) else None
    if event is not None:
        return event
    found = {k.lower().removeprefix("ce-"): v for k, v in headers.items() if k[:3].lower() == "ce-"}
    return from_attributes({name: _decode(name, value) for name, value in found.items()}, data)


def _plain(headers: Mapping[str, str], data: bytes) -> CloudEvent | None:
    """Decode headers without percent-encoding, the usual case. Return None for others.

    `headers` must have no names outside `_PLAIN`.
    """
    get = headers.get
    identifier, source, kind = get("ce-id"), get("ce-source"), get("ce-type")
    key, media, procedure = get("ce-partitionkey"), get("ce-datacontenttype"), get("ce-procedure")
    trace, slot, sequence = get("ce-traceparent"), get("ce-slot"), get("ce-sequence")
    incarnation = get("ce-incarnation")
    if get("ce-specversion") != SPECVERSION or not (identifier and source and kind and key):
        return None
    numbers = f"{slot}{sequence}{incarnation}"
    if "%" in f"{identifier}{source}{kind}{key}{media}{procedure}{trace}{numbers}":
        return None
    return CloudEvent(
        identifier,
        source,
        kind,
        key,
        data,
        media,
        procedure,
        None if slot is None else _number("slot", slot),
        None if sequence is None else _number("sequence", sequence),
        trace,
        _position(get("ce-position")),
        None if incarnation is None else _number("incarnation", incarnation),
    )


def from_attributes(found: Mapping[str, str], data: bytes) -> CloudEvent:
    """Return the event with the given attributes, as text. Unknown attributes are ignored.

    Raises:
        BadEventError: a required attribute is missing, or a value is not of its type.
    """
    require(found)
    values: dict[str, str | int | Position | None] = {"position": _position(found.get("position"))}
    for name in (*_REQUIRED, *_TEXTS):
        if name in found:
            values[name] = found[name]
    for name in _NUMBERS:
        if name in found:
            values[name] = _number(name, found[name])
    return CloudEvent(data=data, **values)  # pyright: ignore[reportArgumentType]


def require(found: Mapping[str, Any]) -> None:
    """Check that no required attribute is missing.

    Raises:
        BadEventError: a required attribute is missing or empty, or the version is not 1.0.
    """
    if found.get("specversion") != SPECVERSION:
        raise BadEventError(f"specversion is {found.get('specversion')!r}, not {SPECVERSION!r}")
    for name in _REQUIRED:
        if not found.get(name):
            raise BadEventError(f"the attribute {name} is missing")


def counted(first: int, last: int) -> str:
    """Return the value of `COUNTED` for a message with the NAS COUNTs `first` to `last`."""
    return str(first) if first == last else f"{first}-{last}"


def counts(found: str) -> tuple[int | None, int | None]:
    """Return the first and the last NAS COUNT of a `COUNTED` value; None for other text."""
    if not found:
        return None, None
    first, _, last = found.partition("-")
    try:
        return int(first), int(last or first)
    except ValueError:
        return None, None


def header_value(value: str) -> str:
    """Return `value` as the value of a header, percent-encoded where needed."""
    return value if _is_safe(value) else quote(value, safe=_SAFE)


def _decode(name: str, value: str) -> str:
    if "%" not in value:
        return value
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise BadEventError(f"{name} is not percent-encoded UTF-8") from None


def _position(value: str | None) -> Position | None:
    try:
        return None if value is None else position.parse(value)
    except ValueError as err:
        raise BadEventError(str(err)) from None


def _number(name: str, value: str) -> int:
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else -1
    if not 0 <= number <= _NUMBERS[name]:
        raise BadEventError(f"{name} is {value[:40]!r}, not a number up to {_NUMBERS[name]}")
    return number
