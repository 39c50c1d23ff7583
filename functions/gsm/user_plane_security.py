"""User plane security of PDU sessions (TS 23.501 5.10.3, TS 33.501 6.6.1).

The data network has the policy. The gNB enforces it, and refuses a session if it cannot.
"""

from typing import Final

from functions.messages import ngap
from functions.messages.ngap import Cause, ue_context
from functions.messages.trees import Tree, subtree
from schemas.causes import GsmCause
from schemas.gsm.state import PduSession, UpSecurity
from schemas.network import DataNetwork

REQUIRED: Final = "required"
NOT_NEEDED: Final = "not-needed"
PREFERRED: Final = "preferred"

_NO_RATE: Final = "null"


def enforced(network: DataNetwork, request: Tree) -> UpSecurity | GsmCause | None:
    """Return the user plane security of a session of a data network.

    None if the data network has no policy: the gNB then decides. A cause if the UE of the PDU
    SESSION ESTABLISHMENT REQUEST cannot protect the integrity of user data, and must (TS 24.501
    6.4.1.4). A policy for one kind of protection has a default for the other: encryption is
    preferred, integrity protection is not needed.
    """
    if not (network.up_integrity or network.up_confidentiality):
        return None
    told = subtree(request, "integrity-protection-maximum-data-rate")
    # A reserved value, which a tree has as its octets, means 64 kbps.
    uplink, downlink = told.get("ul", ""), told.get("dl", "")
    integrity = network.up_integrity or NOT_NEEDED
    if integrity != NOT_NEEDED and _NO_RATE in (uplink, downlink):
        if integrity == REQUIRED:
            return GsmCause.INTEGRITY_DATA_RATE_TOO_LOW
        integrity = NOT_NEEDED
    return UpSecurity(
        integrity,
        network.up_confidentiality or PREFERRED,
        _RATES.get(uplink, _LOWEST) if integrity != NOT_NEEDED else "",
        _RATES.get(downlink, _LOWEST) if integrity != NOT_NEEDED else "",
    )


_LOWEST: Final = "bitrate64kbs"
_RATES: Final = {"full-rate": "maximum-UE-rate"}
"""NGAP's names (9.3.1.102) for the data rates of TS 24.501 9.11.4.7."""

_NOT_POSSIBLE: Final = {
    ngap.cause_text({"radioNetwork": name}): cause
    for name, cause in (
        ("up-integrity-protection-not-possible", GsmCause.REQUEST_REJECTED),
        ("up-confidentiality-protection-not-possible", GsmCause.REQUEST_REJECTED),
        ("ue-max-integrity-protected-data-rate-reason", GsmCause.INTEGRITY_DATA_RATE_TOO_LOW),
    )
}
"""The causes of a gNB that cannot enforce a policy, each with the cause for the UE."""


def refused(reason: str) -> GsmCause | None:
    """Return the 5GSM cause for a session that a gNB refuses because of its security; None for
    another reason. `reason` is a cause as events record it."""
    return _NOT_POSSIBLE.get(reason)


def not_performed(session: PduSession, transfer: Tree) -> Cause | None:
    """Return the reason that the Security Result of a gNB contradicts the policy; None if it does
    not (TS 38.413 9.3.1.59)."""
    result, security = subtree(transfer, "securityResult"), session.security
    if security is None:
        return None
    for kind, policy in (
        ("integrity", security.integrity),
        ("confidentiality", security.confidentiality),
    ):
        if policy == REQUIRED and result.get(f"{kind}ProtectionResult") == "not-performed":
            return {"radioNetwork": f"up-{kind}-protection-not-possible"}
    return None


def differs(session: PduSession, transfer: Tree) -> bool:
    """Whether the gNB of a PATH SWITCH REQUEST has another policy than the session (TS 33.501
    6.6.1). A gNB that sends none has the one of the previous gNB."""
    told = subtree(subtree(transfer, "userPlaneSecurityInformation"), "securityIndication")
    if session.security is None or not told:
        return False
    own = ue_context.security_indication(session.security)
    names = ("integrityProtectionIndication", "confidentialityProtectionIndication")
    return any(told.get(name) != own[name] for name in names)
