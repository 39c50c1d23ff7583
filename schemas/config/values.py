"""Common parts of the configuration tables: the error class, and values with a syntax."""

import ipaddress
import re
from typing import Annotated, Final
from zoneinfo import ZoneInfoNotFoundError

from msgspec import Meta

from schemas.config.time_zone import offsets_of
from schemas.identity import SNssai, s_nssai_of
from schemas.nitz import Nitz, Offset

Port = Annotated[int, Meta(ge=1, le=65_535)]
Text = Annotated[str, Meta(min_length=1)]

_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LONGEST_NAME: Final = 253


class ConfigError(ValueError):
    """The configuration is not valid. The message says where and why in one sentence."""


def is_number(text: str) -> bool:
    """Whether `text` consists of decimal digits."""
    return text.isascii() and text.isdigit()


def is_name(text: str, longest: int = _LONGEST_NAME) -> bool:
    """Whether `text` consists of labels as in a domain name, and is not longer than `longest`."""
    return len(text) <= longest and all(map(_LABEL.fullmatch, text.split(".")))


def address_of(text: str) -> str:
    """Return an IP address in its canonical form; empty if the text is not an IP address.

    A zone (``fe80::1%eth0``) has a meaning on one host only: no message can carry it.
    """
    try:
        return "" if "%" in text else str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def slice_of(text: str) -> SNssai:
    """Return the S-NSSAI of a text such as ``"1-010203"`` or ``"1"``.

    Raises:
        ConfigError: the text is not an S-NSSAI.
    """
    sst, _, sd = text.partition("-")
    hexadecimal = len(sd) == 6 and all(c in "0123456789abcdefABCDEF" for c in sd)
    if not (is_number(sst) and len(sst) <= 3 and int(sst) < 256 and (not sd or hexadecimal)):
        raise ConfigError(f"{text!r} is not a slice: SST 0 to 255, SD of six hexadecimal digits")
    return s_nssai_of(int(sst), sd)


LONGEST_NAME: Final = 63
"""Maximum characters of a network name: two octets each in an IE of at most 255, and short enough
for a screen."""

_LAST_OF_PLANE: Final = "\uffff"
"""The last character of UCS2."""


def check(full_name: str, short_name: str, time_zone: str) -> None:
    """Check the names and the time zone of the network.

    Raises:
        ConfigError: a name cannot be encoded, or there is no such time zone.
    """
    for key, text in (("full_name", full_name), ("short_name", short_name)):
        if len(text) > LONGEST_NAME or not all(
            c.isprintable() and c <= _LAST_OF_PLANE for c in text
        ):
            raise ConfigError(f"amf.{key} must be at most {LONGEST_NAME} printable characters")
    if time_zone:
        _offsets(time_zone)


def nitz_of(full_name: str, short_name: str, time_zone: str) -> Nitz | None:
    """Return the network name and time for UEs; None if all are empty.

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


def check_source(where: str, text: str) -> None:
    """Check an address or a network that a peer sends from. Errors begin with `where`.

    Raises:
        ConfigError: it is neither, or has host bits set, or is every address.
    """
    try:
        network = ipaddress.ip_network("" if "%" in text else text, strict=False)
    except ValueError:
        raise ConfigError(f"{where} {text!r}, which is neither an address nor a network") from None
    if str(network.network_address) != str(ipaddress.ip_address(text.partition("/")[0])):
        raise ConfigError(f"{where} {text}, which has host bits set; the network is {network}")
    if not network.prefixlen:
        raise ConfigError(f"{where} {text}, which is every address")
