"""A batch of events, as it goes over the bus: the CloudEvents JSON format 1.0.2, clause 4."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from schemas.cloudevents import CloudEvent
from schemas.identity import SLOTS

BATCH_MEDIA_TYPE: Final = "application/cloudevents-batch+json"

_Text = Annotated[str, Meta(min_length=1)]
_Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class BatchedEvent(Struct, frozen=True, omit_defaults=True):
    """An event of a batch, with what goes in headers of evcore's where an event is alone."""

    specversion: Literal["1.0"]
    id: _Text
    source: _Text
    type: _Text
    partitionkey: _Text
    data_base64: bytes = b""
    data: None = None
    """Data that is JSON or text is what no event of evcore has: it is refused, not passed over."""
    datacontenttype: str | None = None
    procedure: str | None = None
    slot: Annotated[int, Meta(ge=0, lt=SLOTS)] | None = None
    sequence: _Number | None = None
    traceparent: str | None = None
    nascount: str = ""
    """The NAS COUNTs in a downlink message, as ``"5"`` or ``"5-6"``."""
    repeated: Literal["", "1"] = ""
    """``"1"`` for one that was published before, perhaps in vain."""

    @property
    def event(self) -> CloudEvent:
        """The event itself."""
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
        )


Batch = Annotated[list[BatchedEvent], Meta(min_length=1)]

encode: Final = msgspec.json.Encoder().encode
"""A list of events as octets."""
decode: Final = msgspec.json.Decoder(Batch).decode
"""The events in octets. It raises `msgspec.DecodeError`, and what Python raises of octets that are
no text and of what is too deep."""
