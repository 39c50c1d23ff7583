"""REGISTRATION REQUEST by procedure: the presence conditions of TS 24.501 8.2.6, 5.5.1.2.2 and
5.5.1.3.2, and the cleartext IEs of 4.4.6."""

from typing import Any, Final

INITIAL: Final = "initial-registration"
MOBILITY: Final = "mobility-registration-updating"
PERIODIC: Final = "periodic-registration-updating"
EMERGENCY: Final = "emergency-registration"

_WITHOUT: Final[dict[Any, frozenset[str]]] = {
    # 8.2.6.3, 8.2.6.4: "unless the UE performs a periodic registration updating procedure"
    PERIODIC: frozenset({"5gmm-capability", "ue-security-capability", "requested-nssai"}),
    # TS 23.501 5.16.4.1: the network has a slice for emergency services
    EMERGENCY: frozenset({"requested-nssai"}),
}
"""The IEs that the UE leaves out of a kind of registration."""

_CLEARTEXT: Final = frozenset(
    {
        "message-type",
        "5gs-registration-type",
        "ngksi",
        "5gs-mobile-identity",
        "ue-security-capability",
        "additional-guti",
        "ue-status",
        "eps-nas-message-container",
    }
)
"""IEs that a UE sends before it has a security context (4.4.6)."""


def registration_request(
    kind: Any,
    ngksi: Any,
    identity: dict[str, Any],
    capability: dict[str, Any],
    requested: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    """Return the whole request of a UE that has these values.

    Args:
        kind: the registration type.
        ngksi: the ngKSI as in NAS trees.
        identity: the 5GS mobile identity.
        capability: the UE security capability.
        requested: the requested NSSAI; None if the UE has none.
    """
    tree: dict[str, Any] = {
        "message-type": "registration-request",
        "5gs-registration-type": {"registration-type": kind, "follow-on-request": False},
        "ngksi": ngksi,
        "5gs-mobile-identity": identity,
        "5gmm-capability": {"octets": "00"},
        "ue-security-capability": capability,
    }
    if requested is not None:
        tree["requested-nssai"] = requested
    return {name: ie for name, ie in tree.items() if name not in _WITHOUT.get(kind, ())}


def in_the_clear(request: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a request that a UE without a security context sends."""
    return {name: ie for name, ie in request.items() if name in _CLEARTEXT}
