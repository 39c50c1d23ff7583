"""The words of a UE: its procedures and states, and what it asks of the gNB and its driver."""

from enum import Enum, StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from loadgen.nas_security import Received


class Procedure(StrEnum):
    """What a UE's programme is made of."""

    REGISTER = "register"
    IDLE = "idle"
    """The gNB releases the UE's connection for inactivity."""
    SERVICE = "service"
    """A service request for signalling, out of idle."""
    DEREGISTER = "deregister"
    SWITCH_OFF = "switch-off"


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


class Ended(NamedTuple):
    """A procedure is over, and the UE can begin another."""

    procedure: Procedure
    cause: str | None
    """Why it failed, None for success, `SKIPPED` for nothing to do."""
    began: float
    ended: float
    """When it had its answer, which may be before the UE was released."""


Output: TypeAlias = Connect | Send | Leave | Ended


class Running(Protocol):
    """A 5GMM-specific procedure in progress."""

    name: Procedure
    entire: bytes | None
    """The entire REGISTRATION REQUEST, for the container of SECURITY MODE COMPLETE."""

    def start(self, now: float) -> None:
        """Begin: ask for a connection, or use the one there is."""
        ...

    def initial(self, now: float) -> bytes:
        """The initial NAS message of a new connection."""
        ...

    def answered(self, message: str, received: Received, now: float) -> None:
        """The network's answer arrived."""
        ...

    def challenged(self, *, failed: bool) -> None:
        """A challenge was answered: the request's timer stops at a failure, else runs on."""
        ...

    def expired(self, timer: str, now: float) -> None:
        """One of its timers expired."""
        ...

    def released(self, why: str, now: float) -> None:
        """The connection is gone before the answer came."""
        ...
