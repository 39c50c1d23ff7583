"""The state of a UE in the core: a fold of its events (`schemas.ue_events`).

Field names are the specifications'. Values that are secret are marked by `Secret` in their
annotation; tools that print states and events leave them out (`schemas.redact`).
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from schemas.gmm import ConfigurationUpdate, NetworkDeregistration
from schemas.handover import Handover, Place
from schemas.identity import SNssai, Tai
from schemas.indication import Indication
from schemas.session import PduSession
from schemas.subscriber import Ambr

Secret: TypeAlias = Annotated[bytes, Meta(extra={"secret": True})]
"""Octets that are never printed."""


class Connection(Struct, frozen=True, omit_defaults=True):
    """A UE-associated logical NG-connection (TS 38.413 3.1) and what is known through it."""

    gnb: str
    association: str
    ran_ue_ngap_id: int
    amf_ue_ngap_id: int
    sequence: int
    """The place of the last uplink message taken."""
    tai: Tai
    adopted: int = 0
    """The place of the last message that the aggregate of a UE unknown took, which had the
    connection before."""
    order: int = 0
    """The place of the INITIAL UE MESSAGE among the events of its gateway (`order_of`)."""
    cell: int = 0
    """The NR cell identity of the last user location (36 bits)."""
    establishment_cause: str = ""
    context_requested: bool = False
    """Whether the gNB asked for a UE context (UE Context Request IE)."""
    secured: bool = False
    """Whether the secure exchange of NAS messages is established on it (TS 24.501 4.4.2.5)."""
    context: Literal["none", "pending", "set-up"] = "none"
    kgnb_count: int = 0
    """The uplink NAS COUNT that K_gNB is derived with (TS 33.501 A.9): that of the message which
    established the secure exchange of NAS messages, or of a later SECURITY MODE COMPLETE."""
    releasing: str = ""
    """The cause of the UE CONTEXT RELEASE COMMAND that was sent, empty for none."""
    nh: Secret = b""
    """The last NH that a target was given (TS 33.501 6.9.2.1.1), empty before the first."""
    ncc: int = 0
    """Its NCC."""
    rekeyed: bool = False
    """Whether the K_AMF is another than the one that the gNB's keys are made of; of a target of a
    handover, that of the gNB that the UE comes from."""
    ambr: Ambr | None = None
    """The AMBR of the UE that the gNB was told, None for none."""
    modifying: Literal["", "ambr", "key", "old-key"] = ""
    """What the gNB was asked for by a UE CONTEXT MODIFICATION REQUEST that waits for its answer;
    a key may be an old one by then."""
    before: Place | None = None
    """Where the connection ended before its last path switch."""


class SecurityContext(Struct, frozen=True, omit_defaults=True):
    """A 5G NAS security context (TS 33.501 6.4); the COUNTs are the next to expect and to use."""

    ngksi: int
    kamf: Secret
    nia: int
    nea: int
    capability: bytes
    """The UE security capability (TS 24.501 9.11.3.54), all octets of its value."""
    uplink: int = 0
    downlink: int = 0
    eap_success: bytes = b""
    """The EAP-Success that goes with the SECURITY MODE COMMAND, until it is in use."""


class Challenge(Struct, frozen=True, omit_defaults=True):
    """A challenge that waits for its response (TS 33.501 6.1.3)."""

    ngksi: int
    rand: bytes
    autn: bytes
    xres_star: Secret
    """XRES* of 5G-AKA, XRES of EAP-AKA'."""
    kamf: Secret
    resynchronised: bool = False
    """Whether it follows a synch failure, of which there may be one in a row."""
    k_aut: Secret = b""
    """The key of AT_MAC; empty for 5G-AKA."""
    eap_identifier: int = 0


class Registration(Struct, frozen=True, omit_defaults=True):
    """A registration procedure under way (TS 24.501 5.5.1.2)."""

    request: bytes
    """The REGISTRATION REQUEST as it began the procedure, plain."""
    capability: bytes
    """The UE security capability of the request."""
    ngksi: int | None
    """The ngKSI that the request named, None for no key."""
    identified_by: Literal["suci", "guti"]
    complete_request: bytes = b""
    """The entire initial message, from the NAS message container of a later message."""
    stage: Literal["begun", "identifying", "authenticating", "securing", "accepted"] = "begun"
    retransmit: bool = False
    """Whether the UE is to send the whole request again (TS 24.501 5.4.2.2, RINMR)."""
    accept: bytes = b""
    """The REGISTRATION ACCEPT as sent, plain: the same again on T3550 (5.5.1.2.8 c)."""


class Beside(Struct, frozen=True, omit_defaults=True):
    """A connection beside the current one, with what goes on there (functions/decision/connection.py).

    Its timers run under their names with its AMF-UE-NGAP-ID: ``T3560/1a2b3c``.
    """

    connection: Connection
    registration: Registration | None = None
    challenge: Challenge | None = None
    pending: SecurityContext | None = None
    deregistering: bool = False
    successor: str = ""


class Timer(Struct, frozen=True, omit_defaults=True):
    """A timer that runs: when it expires, and how often it has."""

    at: int
    count: int = 0


class Paging(Struct, frozen=True, omit_defaults=True):
    """A paging that the UE has not answered (TS 24.501 5.6.2)."""

    seids: tuple[int, ...]
    """The sessions with downlink packets, by their SEIDs; none if it is for signalling alone."""
    failed: bool = False
    """Whether it was given up: until the timer that now runs, nothing pages again."""


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
    beside: tuple[Beside, ...] = ()
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
    if not ue.beside and not ue.stale and ue.target is None:
        return here
    target = [ue.target] if ue.target is not None else []
    return [*here, *(found.connection for found in ue.beside), *ue.stale, *target]
