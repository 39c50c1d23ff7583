"""Events of handovers."""

from schemas.connection.state import Connection, Place
from schemas.event import Event
from schemas.identity import Secret, Tai
from schemas.mobility.state import Moving


class HandoverTriggered(Event, frozen=True):
    """The gNB has refused something because it is handing the UE over."""


class NasNotDelivered(Event, frozen=True):
    """The gNB has refused to deliver a NAS message because of a handover."""


class NextHopDerived(Event, frozen=True):
    """A target is given this NH and its NCC (TS 33.501 6.9.2.3)."""

    ncc: int
    nh: Secret


class HandoverPrepared(Event, frozen=True):
    """A HANDOVER REQUEST was sent to a target, for these sessions."""

    target: Connection
    sessions: tuple[Moving, ...]
    refused: tuple[int, ...] = ()


class HandoverAdmitted(Event, frozen=True):
    """The target has admitted these sessions, and the UE is told to go there."""

    ran_ue_ngap_id: int
    sessions: tuple[Moving, ...]
    order: int = 0


class TargetUplinkProcessed(Event, frozen=True):
    """An uplink message of the target was taken in its turn, or of one that was left."""

    sequence: int
    amf_ue_ngap_id: int


class HandoverCompleted(Event, frozen=True):
    """The UE is at the target: that connection is the UE's now, and the one before is left."""

    tai: Tai
    cell: int


class PathSwitched(Event, frozen=True):
    """The UE is at another gNB by Xn: its connection ends there, with these sessions."""

    place: Place
    sessions: tuple[Moving, ...]
    refused: tuple[int, ...] = ()


class PathSwitchFailed(Event, frozen=True):
    """No session could be switched: the connection ends where it did before."""


class HandoverEnded(Event, frozen=True):
    """The handover is over. A target that the UE has not come to is left."""

    reason: str
