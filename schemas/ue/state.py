"""The state of a UE in the core: a fold of its events (`schemas.ue.events`).

Fields have the names of the specifications. Secret values have the annotation `Secret`. Tools that
print states and events hide them (`schemas.redact`).
"""

from typing import Final

from msgspec import Struct

from schemas.connection.state import (
    Connection,
    Inactive,
    PagingCapability,
    ParkedConnection,
)
from schemas.gmm.state import (
    Challenge,
    ConfigurationUpdate,
    ConfiguredNssai,
    NetworkDeregistration,
    Paging,
    Registration,
    SecurityContext,
)
from schemas.gsm.state import Indication, PduSession
from schemas.identity import SNssai, Tai
from schemas.mobility.state import Handover
from schemas.position import Position
from schemas.stranger import Stranger


class Timer(Struct, frozen=True, omit_defaults=True):
    """A running timer: when it expires, and how often it has expired."""

    at: int
    count: int = 0


class Ue(Struct, frozen=True, omit_defaults=True):
    """The complete state of a UE. An unknown UE is `Ue()`."""

    supi: str = ""
    """Empty before the identification."""
    authenticated: bool = False
    """Whether the UE has ever proved its identity, by a right response to a challenge or by an
    AUTS. It stays true. The log of any other UE may be removed."""
    stranger: Stranger | None = None
    """Since when the log of a UE that is not `authenticated` may be removed; None while its first
    connection lasts."""
    registered: bool = False
    emergency: bool = False
    """Whether it is registered for emergency services, which are exempt from restrictions."""
    sqn: int = 0
    """The SQN of the last challenge."""
    pei: str = ""
    tmsi: int | None = None
    old_tmsi: int | None = None
    """The 5G-TMSI that was confirmed before `tmsi`. It leads to the UE until the next allocation: a
    message with it may be delayed, or delivered a second time."""
    tmsi_pending: bool = False
    """Whether `tmsi` is not confirmed yet."""
    security: SecurityContext | None = None
    """The current context."""
    pending: SecurityContext | None = None
    """The context of the SECURITY MODE COMMAND that the UE has not completed yet."""
    challenge: Challenge | None = None
    registration: Registration | None = None
    deregistering: bool = False
    """Whether a deregistration waits for the authentication of the UE."""
    allowed_nssai: tuple[SNssai, ...] = ()
    registration_area: tuple[Tai, ...] = ()
    configured_nssai: tuple[ConfiguredNssai, ...] = ()
    """The configured NSSAIs that the UE has acknowledged, one for each PLMN. They remain after a
    deregistration."""
    t3512: int = 3600
    """The last T3512 that the UE was sent, in seconds. The configuration may have changed since."""
    drx: int = 0
    """The negotiated UE specific DRX cycle for paging, in radio frames; 0 for none."""
    radio_capability: bytes = b""
    """The UE radio capability of the gNB; empty before the first report."""
    paging_capability: PagingCapability | None = None
    """The UE radio capability for paging of the gNB."""
    connection: Connection | None = None
    """The connection that the UE is authenticated on, if there is one. None in CM-IDLE."""
    parked: tuple[ParkedConnection, ...] = ()
    """Connections on which the sender claims to be this UE and is not authenticated yet."""
    stale: tuple[Connection, ...] = ()
    """Connections that the UE left: connections that are being released, and the previous one until
    the UE is served on the current one. If the current one is released first, the last stale
    connection becomes current again."""
    recommended_cells: bytes = b""
    """The cells that the gNB of the last connection recommended for paging, as JSON (TS 38.413
    9.3.1.100); empty from the next connection on."""
    released: tuple[int, ...] = ()
    """The AMF-UE-NGAP-IDs of the last connections that gNBs have released, the latest last. Copies
    of their messages may still come."""
    proved_at: Position | None = None
    """The position of the last INITIAL UE MESSAGE on the connection of which the UE proved its
    identity."""
    handover: Handover | None = None
    target: Connection | None = None
    """The connection at the target gNB of an N2 handover."""
    timers: dict[str, Timer] = {}
    wake_at: int = 0
    """The earliest scheduled wake-up; 0 for none."""
    wake_for: str = ""
    """The timer of the wake-up, which may have been stopped since."""
    successor: str = ""
    """The aggregate that an unidentified UE's connection was transferred to."""
    sessions: tuple[PduSession, ...] = ()
    """PDU sessions, in the order of their establishment. At most one session of an identity is not
    released."""
    n4_requests: int = 0
    """The number of PFCP requests, which is the number of the last one."""
    paging: Paging | None = None
    indication: Indication | None = None
    """The indication of a gNB that is not confirmed yet."""
    update: ConfigurationUpdate | None = None
    network_deregistration: NetworkDeregistration | None = None


def connections(ue: Ue) -> list[Connection]:
    """Return all connections that lead to this UE, the current one first."""
    here = [ue.connection] if ue.connection is not None else []
    if not ue.parked and not ue.stale and ue.target is None:
        return here
    target = [ue.target] if ue.target is not None else []
    return [*here, *(found.connection for found in ue.parked), *ue.stale, *target]


def removable(ue: Ue) -> Stranger | None:
    """Return the record of a stranger without a connection of its own; None for any other UE."""
    found = ue.stranger
    return found if found is not None and is_stranger(ue) else None


def is_stranger(ue: Ue) -> bool:
    """Whether a UE has never proved its identity and has no connection. A connection that was
    transferred belongs to another aggregate."""
    return not (
        ue.authenticated
        or ue.registered
        or ue.sessions
        or ue.stale
        or ue.target is not None
        or (ue.connection is not None and not ue.successor)
        or any(not found.successor for found in ue.parked)
    )


IDENTITY_INDEXES: Final = 1024
"""The number of UE Identity Index Values (TS 38.304 7.1)."""


def inactive_of(ue: Ue) -> Inactive | None:
    """Return the assistance information for RRC INACTIVE of a UE; None without a 5G-GUTI or a
    registration area.

    The last 32 bits of a 5G-S-TMSI are the 5G-TMSI.
    """
    if ue.tmsi is None or not ue.registration_area:
        return None
    return Inactive(ue.tmsi % IDENTITY_INDEXES, ue.drx, ue.t3512, ue.registration_area)
