"""Events of handovers."""

from schemas.connection.state import Connection, Place
from schemas.event import Event
from schemas.identity import Secret, Tai
from schemas.mobility.state import Moving


class HandoverTriggered(Event, frozen=True):
    """The gNB refused a request because a handover is ongoing."""


class NasNotDelivered(Event, frozen=True):
    """The gNB refused to deliver a NAS message because of a handover."""


class NextHopDerived(Event, frozen=True):
    """This NH and its NCC were derived for a target (TS 33.501 6.9.2.3)."""

    ncc: int
    nh: Secret


class HandoverPrepared(Event, frozen=True):
    """A HANDOVER REQUEST was sent to a target, for these sessions."""

    target: Connection
    sessions: tuple[Moving, ...]
    refused: tuple[int, ...] = ()


class HandoverAdmitted(Event, frozen=True):
    """The target admitted these sessions, and the UE was sent the HANDOVER COMMAND."""

    ran_ue_ngap_id: int
    sessions: tuple[Moving, ...]
    order: int = 0


class TargetUplinkProcessed(Event, frozen=True):
    """An uplink message of the target, or of a stale connection, was processed in its turn."""

    sequence: int
    amf_ue_ngap_id: int


class HandoverCompleted(Event, frozen=True):
    """The UE is at the target. The target's connection is current, and the previous one is
    stale."""

    tai: Tai
    cell: int


class PathSwitched(Event, frozen=True):
    """The UE moved to another gNB by Xn. Its connection ends there, with these sessions."""

    place: Place
    sessions: tuple[Moving, ...]
    refused: tuple[int, ...] = ()


class PathSwitchFailed(Event, frozen=True):
    """No session could be switched: the connection ends at its previous gNB again."""


class HandoverEnded(Event, frozen=True):
    """The handover ended. If the UE is not at the target, the target's connection is stale."""

    reason: str
