"""The state of a UE in the core: a fold of its events (`schemas.ue.events`).

Field names are the specifications'. Secret values have the annotation `Secret`; tools that print
states and events leave them out (`schemas.redact`).
"""

from msgspec import Struct

from schemas.connection.state import Connection, ParkedConnection
from schemas.gmm.state import (
    Challenge,
    ConfigurationUpdate,
    NetworkDeregistration,
    Paging,
    Registration,
    SecurityContext,
)
from schemas.gsm.state import Indication, PduSession
from schemas.identity import SNssai, Tai
from schemas.mobility.state import Handover


class Timer(Struct, frozen=True, omit_defaults=True):
    """A timer that runs: when it expires, and how often it has."""

    at: int
    count: int = 0


class Ue(Struct, frozen=True, omit_defaults=True):
    """All that the core knows of a UE. A UE that was never heard of is `Ue()`."""

    supi: str = ""
    """Empty while the UE has not told who it is."""
    registered: bool = False
    emergency: bool = False
    """Whether it is registered for emergency services, which no restriction is checked for."""
    sqn: int = 0
    """The SQN of the last challenge made."""
    pei: str = ""
    tmsi: int | None = None
    old_tmsi: int | None = None
    """The 5G-TMSI that was confirmed before `tmsi`. It leads to the UE until the next is
    allocated: a message with it may still be on its way, or be delivered a second time."""
    tmsi_pending: bool = False
    """Whether `tmsi` is not confirmed yet."""
    security: SecurityContext | None = None
    """The current context."""
    pending: SecurityContext | None = None
    """The context that a SECURITY MODE COMMAND is to take into use."""
    challenge: Challenge | None = None
    registration: Registration | None = None
    deregistering: bool = False
    """Whether a deregistration waits for the UE to be authenticated."""
    allowed_nssai: tuple[SNssai, ...] = ()
    registration_area: tuple[Tai, ...] = ()
    t3512: int = 3600
    """The T3512 that the UE was told last, in seconds: the configuration may be another since."""
    radio_capability: bytes = b""
    connection: Connection | None = None
    """The one that the UE has proved itself on, if there is one. None in CM-IDLE."""
    parked: tuple[ParkedConnection, ...] = ()
    """Connections on which someone says to be this UE and has not proved it yet."""
    stale: tuple[Connection, ...] = ()
    """Connections that were left: those that are being released, and the one before the current
    one until the UE is served there. If it is not, the last of them is the UE's again."""
    handover: Handover | None = None
    target: Connection | None = None
    """The connection at the gNB that the UE is being handed over to, by N2."""
    timers: dict[str, Timer] = {}
    wake_at: int = 0
    """The earliest wake-up that was asked for, 0 for none."""
    wake_for: str = ""
    """The timer that it was asked for, which may have been stopped since."""
    successor: str = ""
    """The aggregate that this one, of a UE unknown, was handed over to."""
    sessions: tuple[PduSession, ...] = ()
    """PDU sessions, in the order of their making; of one identity, one that is not gone."""
    n4_requests: int = 0
    """How many PFCP requests were made: the number of the last."""
    paging: Paging | None = None
    indication: Indication | None = None
    """What a gNB waits to have confirmed."""
    update: ConfigurationUpdate | None = None
    network_deregistration: NetworkDeregistration | None = None


def connections(ue: Ue) -> list[Connection]:
    """All that lead to this UE, the current one first."""
    here = [ue.connection] if ue.connection is not None else []
    if not ue.parked and not ue.stale and ue.target is None:
        return here
    target = [ue.target] if ue.target is not None else []
    return [*here, *(found.connection for found in ue.parked), *ue.stale, *target]
