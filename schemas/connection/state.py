"""The N2 connections of a UE (TS 38.413 3.1): part of its state."""

from typing import Final, Literal

from msgspec import Struct

from schemas.gmm.state import Challenge, Registration, SecurityContext
from schemas.identity import Plmn, Secret, Tai
from schemas.position import Position
from schemas.subscriber import Ambr


class Place(Struct, frozen=True, omit_defaults=True):
    """The RAN end of a connection, and the number of its uplink messages."""

    gnb: str
    association: str
    ran_ue_ngap_id: int
    sequence: int
    tai: Tai
    cell: int = 0
    order: int = 0


class PagingCapability(Struct, frozen=True, omit_defaults=True):
    """A UE Radio Capability for Paging (TS 38.413 9.3.1.68): opaque containers of the gNB."""

    nr: bytes = b""
    eutra: bytes = b""


class Restrictions(Struct, frozen=True, omit_defaults=True):
    """A Mobility Restriction List (TS 38.413 9.3.1.85)."""

    serving_plmn: Plmn
    equivalent_plmns: tuple[Plmn, ...] = ()
    forbidden_tacs: tuple[int, ...] = ()
    """Of the serving PLMN and of each equivalent PLMN."""


class Inactive(Struct, frozen=True, omit_defaults=True):
    """The Core Network Assistance Information for RRC INACTIVE (TS 38.413 9.3.1.15)."""

    identity_index: int
    """The UE Identity Index Value: 5G-S-TMSI mod 1024 (TS 38.304 7.1)."""
    drx: int
    """The UE specific DRX cycle in radio frames; 0 for none."""
    t3512: int
    """The periodic registration update timer, in seconds."""
    tais: tuple[Tai, ...]
    """The registration area."""


Asked = Literal["context", "setup", "modify", "release"]
"""A kind of request to a gNB: INITIAL CONTEXT SETUP, or PDU SESSION RESOURCE SETUP, MODIFY or
RELEASE."""


class Connection(Struct, frozen=True, omit_defaults=True):
    """A UE-associated logical NG-connection (TS 38.413 3.1) and its properties."""

    gnb: str
    association: str
    ran_ue_ngap_id: int
    amf_ue_ngap_id: int
    sequence: int
    """The position of the last processed uplink message."""
    tai: Tai
    adopted: int = 0
    """The position of the last message that was processed by the unidentified UE's aggregate, which
    had the connection before."""
    order: int = 0
    """The position of the INITIAL UE MESSAGE among the events of its gateway (`order_of`)."""
    position: Position | None = None
    """The position of the INITIAL UE MESSAGE in the order of the UE."""
    cell: int = 0
    """The NR cell identity of the last user location (36 bits)."""
    establishment_cause: str = ""
    context_requested: bool = False
    """Whether the gNB requested a UE context (UE Context Request IE)."""
    secured: bool = False
    """Whether the secure exchange of NAS messages is established on it (TS 24.501 4.4.2.5)."""
    context: Literal["none", "pending", "set-up"] = "none"
    kgnb_count: int = 0
    """The uplink NAS COUNT that K_gNB is derived with (TS 33.501 A.9): of the message that
    established the secure exchange of NAS messages, or of a later SECURITY MODE COMPLETE."""
    releasing: str = ""
    """The cause of the UE CONTEXT RELEASE COMMAND that was sent; empty for none."""
    nh: Secret = b""
    """The last NH that a target was sent (TS 33.501 6.9.2.1.1); empty before the first."""
    ncc: int = 0
    """The NCC of `nh`."""
    rekeyed: bool = False
    """Whether the K_AMF differs from the one of the gNB's keys. For the target of a handover, the
    gNB is the source."""
    ambr: Ambr | None = None
    """The UE AMBR that the gNB was sent; None for none."""
    modifying: Literal["", "ambr", "key", "old-key"] = ""
    """The content of the pending UE CONTEXT MODIFICATION REQUEST. `old-key` is a key that was
    replaced after the request."""
    asked: dict[Asked, int] = {}
    """The requests that the gNB has not answered, each with the time of the request in milliseconds
    since the Unix epoch. The gNB has at most one of a kind."""
    unneeded: tuple[int, ...] = ()
    """The PDU session identities whose resources the gNB must release when it has answered the
    PDU SESSION RESOURCE RELEASE COMMAND before."""
    before: Place | None = None
    """The RAN end before the last path switch."""
    restrictions: Restrictions | None = None
    """The Mobility Restriction List that the gNB was sent; None for none."""
    rfsp: int = 0
    """The Index to RAT/Frequency Selection Priority that the gNB was sent; 0 for none."""
    inactive: Inactive | None = None
    """The assistance information for RRC INACTIVE that the gNB was sent; None for none."""


class ParkedConnection(Struct, frozen=True, omit_defaults=True):
    """A parked connection, with the procedures that run on it (functions/decision/connection.py).

    Its timers have its AMF-UE-NGAP-ID in their names: ``T3560/1a2b3c``.
    """

    connection: Connection
    registration: Registration | None = None
    challenge: Challenge | None = None
    pending: SecurityContext | None = None
    deregistering: bool = False
    successor: str = ""


NO_RAN_UE_NGAP_ID: Final = 1 << 32
"""Placeholder for the RAN-UE-NGAP-ID (32 bits) of a target that has not sent its own yet."""
