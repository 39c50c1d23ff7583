"""A batch of events on the bus, in the CloudEvents JSON format (1.0.2, clause 4)."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from schemas import position
from schemas.cloudevents import CloudEvent
from schemas.identity import SLOTS

BATCH_MEDIA_TYPE: Final = "application/cloudevents-batch+json"

_Text = Annotated[str, Meta(min_length=1)]
_Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class BatchedEvent(Struct, frozen=True, omit_defaults=True):
    """One event of a batch. It includes the attributes that a single event has in evcore's
    headers."""

    specversion: Literal["1.0"]
    id: _Text
    source: _Text
    type: _Text
    partitionkey: _Text
    data_base64: bytes = b""
    data: None = None
    """Always null. evcore has no events with JSON or text data: decoding refuses them."""
    datacontenttype: str | None = None
    procedure: str | None = None
    slot: Annotated[int, Meta(ge=0, lt=SLOTS)] | None = None
    sequence: _Number | None = None
    traceparent: str | None = None
    nascount: str = ""
    """The NAS COUNTs in a downlink message, as ``"5"`` or ``"5-6"``."""
    repeated: Literal["", "1"] = ""
    """``"1"`` if the event was published before, and may not have been stored then."""
    position: str = ""
    """The position of the first message with the event, in the form of `Position`; empty if this
    batch is the first."""
    incarnation: _Number | None = None

    @property
    def event(self) -> CloudEvent:
        """The event as a `CloudEvent`.

        Raises:
            ValueError: the position is invalid.
        """
        return CloudEvent(
            self.id,
            self.source,
            self.type,
            self.partitionkey,
            self.data_base64,
            self.datacontenttype,
            self.procedure,
            self.slot,
            self.sequence,
            self.traceparent,
            position.parse(self.position) if self.position else None,
            self.incarnation,
        )


Batch = Annotated[list[BatchedEvent], Meta(min_length=1)]

encode: Final = msgspec.json.Encoder().encode
"""Return the octets of a list of events."""
decode: Final = msgspec.json.Decoder(Batch).decode
"""Return the events of a batch.

Raises `msgspec.DecodeError`, `UnicodeDecodeError` if the octets are not text, and `RecursionError`
if they nest too deeply.
"""
