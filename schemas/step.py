"""The step: all inputs and outputs of one decision, and the only thing that is ever stored.

Timestamps are milliseconds since the Unix epoch.
"""

from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from schemas.cloudevents import CloudEvent
from schemas.identity import Tai
from schemas.lookups import Lookup


class _Output(Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """An output, which is sent after the step is appended."""


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
    """The partition key of the response's event: the session's, or the UPF's."""
    slot: int
    pdu: bytes
    number: int | None = None
    """The number of a request among those of the aggregate; the response's event repeats it. A
    gateway does not send a request again while it waits for the response to the same number. None
    for a response."""
    incarnation: int = 0
    """The Recovery Time Stamp of the UPF that a request about a session is for, in seconds since
    1900; 0 for any. The gateway does not send it to a later incarnation of the UPF."""


class Page(_Output, frozen=True, tag="page"):
    """A PAGING for every gNB that serves one of the tracking areas (TS 38.413 8.5.1)."""

    tais: tuple[Tai, ...]
    pdu: bytes


class Wake(_Output, frozen=True, tag="wake"):
    """A wake-up of this aggregate at a time; a later one replaces an earlier one."""

    at: int
    procedure: str


class HandOff(_Output, frozen=True, tag="hand-off"):
    """An event for another aggregate, or for a procedure without an aggregate."""

    type: str
    procedure: str
    partitionkey: str
    data: bytes
    slot: int | None = None
    """The slot of the event, if it is not the slot of its key."""


class FanOut(_Output, frozen=True, tag="fan-out"):
    """One event for each UE of a gNB's association, published at a bounded rate.

    `amf_ue_ngap_ids` and `ran_ue_ngap_ids` select some UEs (NG RESET of a part of the interface).
    If both are empty, every UE of the association gets the event.
    """

    gnb: str
    association: str
    reason: str
    procedure: str
    amf_ue_ngap_ids: tuple[int, ...] = ()
    ran_ue_ngap_ids: tuple[int, ...] = ()
    order: int = 0
    """The order of the triggering event. Connections that were opened after it are not affected."""


class FanOutSessions(_Output, frozen=True, tag="fan-out-sessions"):
    """SESSION_LOST for each PDU session of a UPF, published at a bounded rate."""

    upf: str
    recovery_time_stamp: int
    at: int = 0
    """When the core detected the loss, in milliseconds since the Unix epoch."""
    kept: bool = False
    """Whether the UPF may still have the sessions, because it did not restart."""
    restarted: bool = False
    """Whether the UPF has restarted, with this Recovery Time Stamp."""


Output: TypeAlias = SendNgap | SendPfcp | Page | Wake | HandOff | FanOut | FanOutSessions

E = TypeVar("E")


class Step(Struct, Generic[E], frozen=True, omit_defaults=True):
    """One decision. `E` is the union of the aggregate's event types."""

    seq: int
    at: int
    procedure: str
    code: str
    """The id of the code that decided the step (`schemas.code.Code`)."""
    trigger: CloudEvent
    entropy: bytes
    network: str
    """The version of the network configuration."""
    events: tuple[E, ...]
    outputs: tuple[Output, ...]
    subscription: int = 0
    """The version of the subscription; 0 for none."""
    lookups: tuple[Lookup, ...] = ()
    """The lookups of the decision, with their results."""
    poisoned: bool = False
    """Whether every attempt to decide raised an exception. The UE's request was rejected with a
    cause instead."""
    flags: tuple[int, ...] = ()
    """The behaviour flags in force (docs/architecture.md, "Behaviour flags")."""


def encode(value: object) -> bytes:
    """Return the canonical encoding of an event, an output, a step or a state."""
    return _encoder.encode(value)


_encoder = msgspec.msgpack.Encoder()
