"""A handover of a UE in the core (TS 23.502 4.9.1): part of the state of the UE."""

from typing import Final, Literal

from msgspec import Struct

from schemas.identity import Tai
from schemas.session import Tunnel

NO_RAN_UE_NGAP_ID: Final = 1 << 32
"""In place of the RAN-UE-NGAP-ID (32 bits) of a target that has not told its own yet."""


class Place(Struct, frozen=True, omit_defaults=True):
    """Where a connection ends in the RAN, and how far its uplink messages have come there."""

    gnb: str
    association: str
    ran_ue_ngap_id: int
    sequence: int
    tai: Tai
    cell: int = 0
    order: int = 0


class Moving(Struct, frozen=True, omit_defaults=True):
    """A PDU session that goes along."""

    seid: int
    psi: int
    access: Tunnel | None = None
    """Where the target takes downlink packets, None while it has not admitted the session."""


class Handover(Struct, frozen=True, omit_defaults=True):
    """A handover that is under way, by its stage.

    `triggered`: the gNB has refused something because of a handover that the core does not know of
    yet. `preparing`: the target was asked for resources (HANDOVER REQUEST). `executing`: the UE
    was told to go (HANDOVER COMMAND). `switching`: the UE is at its target by Xn, and its sessions
    wait for their UPFs (PATH SWITCH REQUEST).
    """

    stage: Literal["triggered", "preparing", "executing", "switching"]
    source: int
    """The AMF-UE-NGAP-ID of the UE's connection."""
    sessions: tuple[Moving, ...] = ()
    refused: tuple[int, ...] = ()
    """The PDU session identities that the source named, and that the core could not take along."""
    undelivered: bool = False
    """Whether the gNB could not deliver NAS messages, which are repeated after the handover."""
