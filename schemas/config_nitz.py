"""What evcore.toml says of the network's name and time."""

from typing import Final
from zoneinfo import ZoneInfoNotFoundError

from schemas.config_values import ConfigError
from schemas.nitz import Nitz, Offset, offsets_of

LONGEST_NAME: Final = 63
"""Characters of a name: two octets each in an IE of 255 at most, and short enough for a screen."""

_LAST_OF_PLANE: Final = "\uffff"
"""UCS2 has no characters beyond it."""


def check(full_name: str, short_name: str, time_zone: str) -> None:
    """Raise `ConfigError` for what no UE could be told."""
    for key, text in (("full_name", full_name), ("short_name", short_name)):
        if len(text) > LONGEST_NAME or not all(
            c.isprintable() and c <= _LAST_OF_PLANE for c in text
        ):
            raise ConfigError(f"amf.{key} must be at most {LONGEST_NAME} printable characters")
    if time_zone:
        _offsets(time_zone)


def nitz_of(full_name: str, short_name: str, time_zone: str) -> Nitz | None:
    """What UEs are told, None for nothing.

    Raises:
        ConfigError: there is no such time zone.
    """
    if not (full_name or short_name or time_zone):
        return None
    return Nitz(full_name, short_name, _offsets(time_zone) if time_zone else ())


def _offsets(time_zone: str) -> tuple[Offset, ...]:
    try:
        return offsets_of(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(f"amf.time_zone: there is no time zone {time_zone!r}") from None
