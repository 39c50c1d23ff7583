"""What a procedure of a UE is asked to decide about."""

from typing import TypeAlias

from msgspec import Struct

from functions.ingress import Nas
from functions.trees import Tree


class NasReceived(Struct, frozen=True):
    """An uplink NAS message, opened."""

    nas: Nas
    tree: Tree
    """The message, decoded."""
    initial: bool
    """Whether it came in an INITIAL UE MESSAGE, on a connection that is new."""
    container: bytes | None = None
    """The octets of its NAS message container, which may be anything."""


class NgapReceived(Struct, frozen=True):
    """An uplink NGAP message without NAS, or one about its NAS."""

    message: str
    ies: Tree
    amf_ue_ngap_id: int


class TimerExpired(Struct, frozen=True):
    """A timer expired; it runs no more. `count` is how often it had expired before."""

    name: str
    count: int


class EventReceived(Struct, frozen=True):
    """An event of the core itself, as its data structure in `schemas.cloudevents`."""

    type: str
    data: Struct


class PfcpReceived(Struct, frozen=True):
    """A PFCP message of a session of the UE."""

    message: str
    tree: Tree | None
    """None for an answer that cannot be read."""
    seid: int
    """The core's SEID of the session."""
    number: int | None
    """Of an answer, the number of the request."""
    key: str
    """The partition key of its event."""


class PfcpUnanswered(Struct, frozen=True):
    """The gateway has repeated a PFCP request in vain."""

    seid: int
    number: int | None


Input: TypeAlias = (
    NasReceived | NgapReceived | PfcpReceived | PfcpUnanswered | TimerExpired | EventReceived
)
