"""The words of a UE: its procedures and states, and what it asks of the gNB and its driver."""

from enum import Enum, StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from loadgen.trees import Tree
from loadgen.ue.nas_security import Received

if TYPE_CHECKING:
    from loadgen.ue.ue import Ue


class Procedure(StrEnum):
    """What a UE's programme is made of."""

    REGISTER = "register"
    IDLE = "idle"
    """The gNB releases the UE's connection for inactivity."""
    SERVICE = "service"
    """A service request for signalling, out of idle."""
    SESSION = "session"
    """The establishment of a PDU session."""
    SERVICE_REQUEST = "service-request"
    """A service request for uplink data of every PDU session; for signalling without one."""
    PAGE = "page"
    """Downlink data for an idle UE: it is paged and comes."""
    RELEASE_SESSION = "release-session"
    """The release of the PDU session that was established last, at the UE's request."""
    PERIODIC_UPDATE = "periodic-update"
    """A registration update because T3512 has expired, idle or connected."""
    MOBILITY_UPDATE = "mobility-update"
    """A registration update in another cell, where the UE is idle and there is one."""
    HANDOVER = "handover"
    """One of the next two, by chance. All are for a UE whose sessions have a user plane."""
    XN_HANDOVER = "xn-handover"
    N2_HANDOVER = "n2-handover"
    HANDOVER_PARTIAL = "handover-partial"
    """An N2 handover of which the target admits all sessions but the last one."""
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
"""The cause of a procedure that had nothing to do: idle when idle already."""
NOT_REGISTERED = "not-registered"
NOT_RELEASED = "not-released"
NO_SESSION = "no-session"
CONNECTION_LOST = "connection-lost"
CONNECTION_RELEASED = "connection-released"


class Connect(NamedTuple):
    """Establish an RRC connection; `Ue.connected` follows when it is there."""

    cause: str
    """The RRC establishment cause, as NGAP names it."""
    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI, where the UE gives it to lower layers (5.3.1.1)."""
    context: bool
    """Whether a UE context is wanted in the gNB: signalling will go on after the request."""


class Send(NamedTuple):
    """Send a NAS message; the first on a connection is the initial NAS message."""

    nas: bytes


class Leave(NamedTuple):
    """The UE is gone from its RRC connection without a word to anyone."""


class Inactive(NamedTuple):
    """The UE has been inactive for as long as the gNB keeps a connection."""


class Move(NamedTuple):
    """Hand the UE over to another gNB."""

    kind: Procedure


class Reselect(NamedTuple):
    """The UE is idle, and goes to another cell."""


class Ended(NamedTuple):
    """A procedure is over, and the UE can begin another."""

    procedure: Procedure
    cause: str | None
    """Why it failed, None for success, `SKIPPED` for nothing to do."""
    began: float
    ended: float
    """When it had its answer, which may be before the UE was released."""
    recovered: bool = False
    """Whether it met with injected faults, and the UE did again what they had spoilt."""
    unsolicited: bool = False
    """Whether the driver had not begun it."""


Output: TypeAlias = Connect | Send | Leave | Inactive | Move | Reselect | Ended


class Running:
    """A procedure in progress; this one does nothing at all."""

    name: Procedure
    entire: bytes | None = None
    """The entire REGISTRATION REQUEST, for the container of SECURITY MODE COMPLETE."""
    unsolicited = False
    """Whether the network started it, not the driver: nobody waits for its end."""
    reported = False
    """Whether the end of an unsolicited one is told all the same."""

    def __init__(self, ue: "Ue") -> None:
        """A procedure that has not begun."""
        self._ue = ue

    @property
    def family(self) -> Procedure:
        """The procedure whose answers of 5GMM end it, or a part of it."""
        return self.name

    def start(self, now: float) -> None:
        """Begin: ask for a connection, or use the one there is."""

    def initial(self, now: float) -> bytes:  # noqa: ARG002
        """The initial NAS message of a new connection."""
        return b"\x7e\x00\x64\x62"

    def answered(self, message: str, received: Received, now: float) -> None:
        """The network's answer of 5GMM arrived."""

    def session_answered(self, message: Tree, plain: bytes, now: float) -> None:
        """The network's answer of 5GSM arrived: its tree and octets."""

    def not_forwarded(self, cause: str, now: float) -> None:
        """The network gave a 5GSM message back: it was not forwarded (5.4.5.3.3)."""

    def user_plane_changed(self, now: float) -> None:
        """The gNB set resources of a PDU session up, or released them."""

    def paged(self, now: float) -> None:
        """The gNB pages the UE, which is idle."""

    def moved(self, cause: str | None, now: float) -> None:
        """The gNBs handed the UE over, or could not for this cause."""

    def challenged(self, *, failed: bool) -> None:
        """A challenge was answered: the request's timer stops at a failure, else runs on."""

    def expired(self, timer: str, now: float) -> None:
        """One of its timers expired."""

    def released(self, why: str, now: float) -> None:
        """The connection is gone before the answer came."""
