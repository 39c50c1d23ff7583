"""The security mode control procedure (TS 24.501 5.4.2)."""

from collections.abc import Sequence

from functions.decision.ue_decision import NEW_CONTEXT, UeDecision, seal
from functions.gmm.authentication.aka import ABBA
from functions.messages import ngap
from functions.messages.nas import codec
from functions.messages.trees import Tree
from schemas.gmm.events import DownlinkCounted, SecurityModeStarted
from schemas.gmm.state import Challenge, SecurityContext


def select(priority: Sequence[int], capability: bytes, octet: int) -> int | None:
    """The first algorithm of the operator's list that the UE has (TS 33.501 6.7.2).

    `octet` is 0 for ciphering and 1 for integrity; bit 8 of it is algorithm 0.
    """
    bits = capability[octet] if octet < len(capability) else 0
    return next((number for number in priority if bits & 0x80 >> number), None)


def algorithms(d: UeDecision, capability: bytes) -> tuple[int | None, int | None]:
    """Return the numbers of the algorithms for integrity and ciphering; None for one that no
    algorithm of the policy fits."""
    policy = d.env.network.security
    return select(policy.integrity, capability, 1), select(policy.ciphering, capability, 0)


def start(d: UeDecision, challenge: Challenge, capability: bytes, eap_success: bytes = b"") -> bool:
    """Offer the context of an answered challenge in a SECURITY MODE COMMAND. Return False if no
    algorithms fit.

    `eap_success` ends the EAP exchange of the challenge (5.4.2.2); empty for 5G-AKA.
    """
    nia, nea = algorithms(d, capability)
    if nia is None or nea is None:
        return False
    context = SecurityContext(
        challenge.ngksi,
        challenge.kamf,
        nia,
        nea,
        capability,
        eap_success=eap_success,
        plmn=challenge.plmn,
    )
    d.emit(SecurityModeStarted(context))
    send(d)
    return True


def send(d: UeDecision, count: int = 0) -> None:
    """Send the SECURITY MODE COMMAND of the pending context, and start T3560."""
    context = d.ue.pending
    if context is None:
        return
    registration = d.ue.registration
    # A deregistration comes to this only if its request had no valid MAC.
    again = registration.retransmit if registration is not None else d.ue.deregistering
    message: Tree = {
        "message-type": "security-mode-command",
        "selected-nas-security-algorithms": {
            "ciphering": f"nea{context.nea}",
            "integrity": f"nia{context.nia}",
        },
        "ngksi": {"native": context.ngksi},
        "replayed-ue-security-capabilities": {"octets": context.capability.hex()},
        "additional-5g-security-information": {"rinmr": again, "hdp": False},
    }
    if context.eap_success:
        message["eap-message"] = {"octets": context.eap_success.hex()}
        message["abba"] = {"octets": ABBA.hex()}
    if d.env.network.security.request_imeisv:
        message["imeisv-request"] = "requested"
    sealed = seal(context, codec.encode(message), NEW_CONTEXT)
    d.emit(DownlinkCounted(context.downlink, pending=True))
    d.send(ngap.downlink_nas_transport(d.connection, sealed))
    d.start_timer("T3560", d.env.network.timers.t3560, count)
