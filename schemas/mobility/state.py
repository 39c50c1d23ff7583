"""A handover of a UE (TS 23.502 4.9.1): part of its state."""

from typing import Literal

from msgspec import Struct

from schemas.gsm.state import Tunnel


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
