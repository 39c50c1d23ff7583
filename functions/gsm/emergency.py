"""Emergency PDU sessions of authenticated UEs (TS 23.501 5.16.4, TS 24.501 6.4.1.2)."""

from typing import Final

from functions.decision.ue_decision import UeDecision
from functions.gsm import release, user_plane
from functions.messages.trees import Tree
from schemas.gsm.state import PduSession
from schemas.identity import SNssai
from schemas.subscriber import Ambr, Dnn, PduSessionType

REQUEST: Final = "initial-emergency-request"
"""The request type (9.11.3.47)."""

_AMBR: Final = Ambr(1_000_000_000, 1_000_000_000)
"""The session AMBR. The subscription has no value for it."""


def is_requested(transport: Tree) -> bool:
    """Whether the transport of an establishment request asks for an emergency PDU session."""
    return transport.get("request-type") == REQUEST


def session_of(d: UeDecision) -> PduSession | None:
    """Return the emergency PDU session of the UE, None if it has none."""
    return next((session for session in user_plane.live(d) if session.emergency), None)


def place(d: UeDecision) -> tuple[SNssai, Dnn] | None:
    """Return the slice and the DNN of emergency PDU sessions; None if they are not configured.

    They come from the configuration and not from the request or the subscription (TS 23.501
    5.16.4.1, AMF Emergency Configuration Data).
    """
    services = d.env.network.emergency_services
    if services is None:
        return None
    dnn = Dnn(
        services.dnn,
        (PduSessionType.IPV4V6,),
        _AMBR,
        five_qi=services.five_qi,
        arp_priority=services.arp_priority,
        arp_preemption_capability=True,
        arp_preemption_vulnerability=False,
    )
    return services.nssai, dnn


def replace(d: UeDecision) -> None:
    """Release the emergency PDU session of the UE before it gets another one.

    A UE has one at most, so a UE that asks for another has lost it (TS 24.501 6.4.1.2).
    """
    before = session_of(d)
    if before is not None:
        release.forget(d, before, "the UE requests another emergency PDU session")


def release_others(d: UeDecision) -> None:
    """Release all other PDU sessions of a UE that stays for its emergency PDU session only.

    The UE learns it from the PDU session status (TS 24.501 5.5.1.3.4).
    """
    for session in user_plane.live(d):
        if not session.emergency:
            release.forget(d, session, "the UE is served for emergency services only")
