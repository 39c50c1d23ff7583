"""IEs of 5GMM messages (TS 24.501 9.11.3)."""

from collections.abc import Mapping
from typing import Any, Final

from functions.messages.trees import Tree, subtree
from schemas.identity import SNssai, s_nssai_of
from schemas.nitz import Nitz, universal_time

EMERGENCY: Final = "emergency-registration"
PERIODIC: Final = "periodic-registration-updating"
UPDATES: Final = ("mobility-registration-updating", PERIODIC)
ONBOARDING: Final = "snpn-onboarding-registration"
DISASTER: Final = (
    "disaster-roaming-initial-registration",
    "disaster-roaming-mobility-registration-updating",
)


def kind_of(request: Tree) -> Any:
    """Return the registration type of a REGISTRATION REQUEST."""
    return subtree(request, "5gs-registration-type").get("registration-type")


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
"""The cleartext IEs of a REGISTRATION REQUEST (4.4.6)."""


def in_the_clear(request: Tree) -> Tree:
    """Return a REGISTRATION REQUEST without the IEs that a UE must not send in the clear."""
    return {name: ie for name, ie in request.items() if name in _CLEARTEXT}


def sessions_of(tree: Tree, name: str) -> list[int] | None:
    """Return the PDU sessions in a PDU session status or an uplink data status; None without it.

    The IEs have up to 32 octets. All bits but those of PDU sessions 1 to 15 are spare and ignored
    (9.11.3.44, 9.11.3.57), but a tree of `wire` has such an IE as its octets.
    """
    status: list[int] | dict[str, str] | None = tree.get(name)
    if not isinstance(status, dict):
        return status
    bits = int.from_bytes(bytes.fromhex(status["octets"])[:2], "little")
    return [psi for psi in range(1, 16) if bits >> psi & 1]


REQUESTED_DRX: Final = "requested-drx-parameters"
_DRX_CYCLES: Final = {"cycle32": 32, "cycle64": 64, "cycle128": 128, "cycle256": 256}
_NO_DRX: Final = "not-specified"


def drx_of(request: Tree, before: int) -> int:
    """Return the UE specific DRX cycle after a REGISTRATION REQUEST, in radio frames; 0 for none.

    An update without the IE keeps the earlier cycle (5.5.1.3.2). The network accepts the
    requested cycle (9.11.3.2A).
    """
    if REQUESTED_DRX in request:
        # A reserved value, which a tree has as its octets, means "not specified".
        return _DRX_CYCLES.get(str(request[REQUESTED_DRX]), 0)
    return before if kind_of(request) in UPDATES else 0


def drx_parameters(cycle: int) -> str:
    """Return a DRX cycle as the value of a NAS tree."""
    return next((name for name, frames in _DRX_CYCLES.items() if frames == cycle), _NO_DRX)


_DAYLIGHT_SAVING: Final = ("no-adjustment", "plus-one-hour", "plus-two-hours")


def network_name_and_time(nitz: Nitz, now: int) -> Tree:
    """Return the IEs of a CONFIGURATION UPDATE COMMAND; `now` is in milliseconds since the Unix
    epoch."""
    found: Tree = {}
    if nitz.full_name:
        found["full-name-for-network"] = _name(nitz.full_name)
    if nitz.short_name:
        found["short-name-for-network"] = _name(nitz.short_name)
    if nitz.offsets:
        offset = nitz.offset(now)
        found["local-time-zone"] = offset.quarters
        at = universal_time(now)._asdict()
        found["universal-time-and-local-time-zone"] = {
            **at,
            "time-zone-quarter-hours": offset.quarters,
        }
        saving = _DAYLIGHT_SAVING[offset.daylight_saving]
        found["network-daylight-saving-time"] = saving
    return found


def _name(text: str) -> Tree:
    return {"name": text, "add-ci": False}


def s_nssai(value: SNssai) -> Tree:
    """Return an S-NSSAI in the form of NAS trees."""
    return {"sst": value.sst} if value.sd is None else {"sst": value.sst, "sd": value.sd}


def read_s_nssai(tree: Mapping[str, Any]) -> SNssai:
    """Return the S-NSSAI of a NAS tree (9.11.2.8)."""
    return s_nssai_of(tree["sst"], tree.get("sd"))
