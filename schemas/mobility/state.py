"""A handover of a UE (TS 23.502 4.9.1): part of its state."""

from typing import Literal

from msgspec import Struct

from schemas.gsm.state import Tunnel


class Moving(Struct, frozen=True, omit_defaults=True):
    """A PDU session in a handover."""

    seid: int
    psi: int
    access: Tunnel | None = None
    """The target's F-TEID for downlink packets; None before the target admits the session."""
    policy: bool = False
    """Whether the target by Xn has another user plane security policy than the session."""


class Handover(Struct, frozen=True, omit_defaults=True):
    """An ongoing handover.

    `triggered`: the gNB refused a request because of a handover that the core does not know of yet.
    `preparing`: the target was asked for resources (HANDOVER REQUEST). `executing`: the UE was sent
    to the target (HANDOVER COMMAND). `switching`: the UE is at its target by Xn, and the UPFs have
    not switched its sessions yet (PATH SWITCH REQUEST).
    """

    stage: Literal["triggered", "preparing", "executing", "switching"]
    source: int
    """The AMF-UE-NGAP-ID of the UE's connection."""
    sessions: tuple[Moving, ...] = ()
    refused: tuple[int, ...] = ()
    """The PDU session identities of the source that the core could not include."""
    undelivered: bool = False
    """Whether the gNB could not deliver NAS messages; they are sent again after the handover."""
