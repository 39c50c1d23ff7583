"""The table [causes] of the configuration: 5GMM causes that the operator chooses."""

from typing import Final

from msgspec import Struct

from schemas.causes import GmmCause
from schemas.config.values import ConfigError
from schemas.network import Causes

_ELSEWHERE: Final = (
    GmmCause.PLMN_NOT_ALLOWED,
    GmmCause.TRACKING_AREA_NOT_ALLOWED,
    GmmCause.ROAMING_NOT_ALLOWED,
    GmmCause.NO_SUITABLE_CELLS,
    GmmCause.N1_MODE_NOT_ALLOWED,
)
"""Causes after which a UE looks for another cell, tracking area, PLMN or mode."""

_OF_SUBSCRIBER: Final = (GmmCause.ILLEGAL_UE, GmmCause.SERVICES_NOT_ALLOWED, *_ELSEWHERE)

_ALLOWED: Final = {
    "unknown_subscriber": _OF_SUBSCRIBER,
    "undecipherable_suci": _OF_SUBSCRIBER,
    "unknown_tracking_area": _ELSEWHERE,
    "removed_subscriber": _OF_SUBSCRIBER,
}
"""The causes that each setting may have: those of TS 24.501 5.5.1.2.5, 5.5.2.3.4 and 5.6.1.5 that
have a meaning for it."""


class CausesConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The table [causes]: numbers of 5GMM causes. Without a number the cause depends on the PLMN
    (`schemas.network.Causes`)."""

    unknown_subscriber: int | None = None
    undecipherable_suci: int | None = None
    unknown_tracking_area: int | None = None
    removed_subscriber: int | None = None


def causes_of(config: CausesConfig) -> Causes:
    """Return the causes that procedures decide with.

    Raises:
        ConfigError: a number is not one that its setting may have.
    """
    for name, allowed in _ALLOWED.items():
        value = getattr(config, name)
        if value is not None and value not in allowed:
            numbers = ", ".join(str(int(cause)) for cause in sorted(allowed))
            raise ConfigError(f"causes.{name} is {value}, but must be one of {numbers}")
    return Causes(**{name: getattr(config, name) or 0 for name in _ALLOWED})
