"""Procedures and states of a UE, and its outputs for the gNB and the driver."""

from enum import Enum, StrEnum
from typing import NamedTuple, TypeAlias

MOBILE_TERMINATED = "mt-Access"
"""The RRC establishment cause of a paged UE (TS 24.501 table 4.5.6.1; name of TS 38.331)."""


class Procedure(StrEnum):
    """A procedure of a UE's programme."""

    REGISTER = "register"
    IDLE = "idle"
    """The gNB releases the UE's connection for inactivity."""
    SERVICE = "service"
    """A service request for signalling of an idle UE."""
    SESSION = "session"
    """The establishment of a PDU session."""
    SERVICE_REQUEST = "service-request"
    """A service request for uplink data of every PDU session; for signalling without one."""
    PAGE = "page"
    """Downlink data for an idle UE: the UE is paged and answers."""
    RELEASE_SESSION = "release-session"
    """The release of the PDU session that was established last, at the UE's request."""
    PERIODIC_UPDATE = "periodic-update"
    """A registration update because T3512 expired, idle or connected."""
    MOBILITY_UPDATE = "mobility-update"
    """A registration update, in another cell if the UE is idle and there is another cell."""
    HANDOVER = "handover"
    """An Xn or N2 handover, by chance. All handovers need a session with a user plane."""
    XN_HANDOVER = "xn-handover"
    N2_HANDOVER = "n2-handover"
    HANDOVER_PARTIAL = "handover-partial"
    """An N2 handover; the target admits all sessions except the last one."""
    HANDOVER_REFUSED = "handover-refused"
    """An N2 handover that the target refuses: the UE stays."""
    HANDOVER_CANCEL = "handover-cancel"
    """An N2 handover that the source cancels, before or after HANDOVER COMMAND."""
    DEREGISTER = "deregister"
    SWITCH_OFF = "switch-off"


HANDOVERS = frozenset(
    {
        Procedure.HANDOVER,
        Procedure.XN_HANDOVER,
        Procedure.N2_HANDOVER,
        Procedure.HANDOVER_PARTIAL,
        Procedure.HANDOVER_REFUSED,
        Procedure.HANDOVER_CANCEL,
    }
)


class State(StrEnum):
    """The main states of 5GMM in a UE (TS 24.501 5.1.3.2.1)."""

    DEREGISTERED = "5GMM-DEREGISTERED"
    REGISTERED_INITIATED = "5GMM-REGISTERED-INITIATED"
    REGISTERED = "5GMM-REGISTERED"
    DEREGISTERED_INITIATED = "5GMM-DEREGISTERED-INITIATED"
    SERVICE_REQUEST_INITIATED = "5GMM-SERVICE-REQUEST-INITIATED"


class Connection(Enum):
    """The N1 NAS signalling connection, as the UE sees it."""

    IDLE = 0
    WANTED = 1
    CONNECTED = 2


SKIPPED = "skipped"
"""The cause of a procedure with nothing to do, such as idle for an idle UE."""
NOT_REGISTERED = "not-registered"
NOT_RELEASED = "not-released"
NO_SESSION = "no-session"
CONNECTION_LOST = "connection-lost"
CONNECTION_RELEASED = "connection-released"


class Connect(NamedTuple):
    """Establish an RRC connection; `Ue.connected` confirms it."""

    cause: str
    """The RRC establishment cause, with its NGAP name."""
    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI, if the UE gives them to lower layers (5.3.1.1)."""
    context: bool
    """Whether to request a UE context in the gNB: signalling continues after the request."""


class Send(NamedTuple):
    """Send a NAS message; the first on a connection is the initial NAS message."""

    nas: bytes


class Leave(NamedTuple):
    """The UE dropped its RRC connection without signalling."""


class Inactive(NamedTuple):
    """The inactivity timer of the gNB expires for this UE."""


class Move(NamedTuple):
    """Hand the UE over to another gNB."""

    kind: Procedure


class Reselect(NamedTuple):
    """The idle UE moves to another cell."""


class Ended(NamedTuple):
    """A procedure ended; the UE can start another."""

    procedure: Procedure
    cause: str | None
    """Why it failed, None for success, `SKIPPED` for nothing to do."""
    began: float
    ended: float
    """When the answer arrived, possibly before the UE was released."""
    recovered: bool = False
    """Whether the procedure succeeded in a later attempt after injected faults."""
    unsolicited: bool = False
    """Whether the network started the procedure, not the driver."""
    admitted: float | None = None
    """When the last connection of the procedure was established; its start if it needed none. So
    the time from here is that of the request that was answered; None if unknown."""


Output: TypeAlias = Connect | Send | Leave | Inactive | Move | Reselect | Ended
