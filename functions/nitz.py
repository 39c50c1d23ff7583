"""The network's name and time in NAS trees (TS 24.008 10.5.3.5a, 10.5.3.8, 10.5.3.9, 10.5.3.12)."""

from typing import Final

from functions.trees import Tree
from schemas.nitz import Nitz, universal_time

_DAYLIGHT_SAVING: Final = ("no-adjustment", "plus-one-hour", "plus-two-hours")


def information(nitz: Nitz, now: int) -> Tree:
    """The IEs of a CONFIGURATION UPDATE COMMAND; `now` is in milliseconds since the Unix epoch."""
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
