"""The origin of an event: the kind of process that may send events of its type.

The origin is a token of the event's subject. The broker lets each process publish only on the
subjects of its own origin (`eventing.access.roles`), and the receiver refuses an event with a type
of another origin. So only an N2 gateway can send an NGAP message, and only an operator a
deregistration.
"""

from enum import StrEnum
from typing import Final

from schemas.cloudevents import CloudEvent, EventType


class Origin(StrEnum):
    """The kind of process that sends an event."""

    N2 = "n2"
    """A gateway to gNBs."""
    N4 = "n4"
    """A gateway to UPFs."""
    OPERATOR = "operator"
    CORE = "core"
    """A function, or a dispatcher for it. It also hands on events of every type to other functions:
    those have a position, which is that of the original event in the stream."""


ORIGINS: Final[dict[str, Origin]] = {
    EventType.NGAP_UPLINK: Origin.N2,
    EventType.ASSOCIATION_LOST: Origin.N2,
    EventType.PFCP_UPLINK: Origin.N4,
    EventType.PFCP_UNANSWERED: Origin.N4,
    EventType.PFCP_ENDED: Origin.N4,
    EventType.UPF_PATH: Origin.N4,
    EventType.UPF_LOAD: Origin.N4,
    EventType.NETWORK_CHANGED: Origin.OPERATOR,
    EventType.SESSION_RELEASE: Origin.OPERATOR,
    EventType.DEREGISTER: Origin.OPERATOR,
    EventType.SUBSCRIPTION_CHANGED: Origin.OPERATOR,
}
"""The origin of each event type. All other types are of the core."""


def origin_of(event: CloudEvent) -> Origin:
    """Return the origin of an event. An event with a position is handed on by the core."""
    return Origin.CORE if event.position is not None else ORIGINS.get(event.type, Origin.CORE)
