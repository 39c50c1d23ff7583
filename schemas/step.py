"""The step: all that one decision took in and left behind, and the only thing ever stored.

Timestamps are milliseconds since the Unix epoch.
"""

from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from schemas.cloudevents import CloudEvent
from schemas.identity import Tai
from schemas.lookups import Lookup


class _Output(Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """What leaves after the append."""


class SendNgap(_Output, frozen=True, tag="ngap"):
    """An NGAP PDU for one association of one gNB."""

    gnb: str
    association: str
    pdu: bytes


class SendPfcp(_Output, frozen=True, tag="pfcp"):
    """A PFCP message for a UPF. The gateway puts the sequence number into a request."""

    upf: str
    """The Node ID."""
    partitionkey: str
    """That of the answer's event: the session's, or the UPF's."""
    slot: int
    pdu: bytes
    number: int | None = None
    """Of a request, among those of the aggregate: the answer's event repeats it. A request
    whose number is under way already is not sent a second time. None for an answer."""


class Page(_Output, frozen=True, tag="page"):
    """A PAGING for every gNB that serves one of the tracking areas (TS 38.413 8.5.1)."""

    tais: tuple[Tai, ...]
    pdu: bytes


class Wake(_Output, frozen=True, tag="wake"):
    """A wake-up of this aggregate at a time; a later one replaces it."""

    at: int
    procedure: str


class HandOff(_Output, frozen=True, tag="hand-off"):
    """An event for another aggregate, or for a procedure without one."""

    type: str
    procedure: str
    partitionkey: str
    data: bytes
    slot: int | None = None
    """The slot to send to, where it is not that of the key."""


class FanOut(_Output, frozen=True, tag="fan-out"):
    """One event for each UE of a gNB's association, published at a bounded pace.

    `amf_ue_ngap_ids` and `ran_ue_ngap_ids` narrow it to those (NG RESET of a part of the
    interface); both empty means every UE of the association.
    """

    gnb: str
    association: str
    reason: str
    procedure: str
    amf_ue_ngap_ids: tuple[int, ...] = ()
    ran_ue_ngap_ids: tuple[int, ...] = ()
    order: int = 0
    """Connections that were opened after the event of this order are not meant."""


class FanOutSessions(_Output, frozen=True, tag="fan-out-sessions"):
    """SESSION_LOST for each PDU session of a UPF, published at a bounded pace."""

    upf: str
    recovery_time_stamp: int
    at: int = 0
    """When it was learnt, in milliseconds since the Unix epoch."""
    kept: bool = False
    """Whether the UPF may have them all the same: it has not restarted."""


Output: TypeAlias = SendNgap | SendPfcp | Page | Wake | HandOff | FanOut | FanOutSessions

E = TypeVar("E")


class Step(Struct, Generic[E], frozen=True, omit_defaults=True):
    """One decision. `E` is the union of the aggregate's event types."""

    seq: int
    at: int
    procedure: str
    code: str
    """The id of the code that decided it (`schemas.code.Code`)."""
    trigger: CloudEvent
    entropy: bytes
    network: str
    """The version of the network configuration."""
    events: tuple[E, ...]
    outputs: tuple[Output, ...]
    subscription: int = 0
    """The version of the subscription; 0 for none."""
    lookups: tuple[Lookup, ...] = ()
    """What the decision looked up, with the answers."""
    poisoned: bool = False
    """Whether no decision was possible: each attempt raised, and the UE got a cause instead."""
    flags: tuple[int, ...] = ()
    """The numbered behaviours in force (docs/architecture.md, "Behaviour flags")."""


def encode(value: object) -> bytes:
    """The canonical encoding of an event, an output, a step or a state."""
    return _encoder.encode(value)


_encoder = msgspec.msgpack.Encoder()
