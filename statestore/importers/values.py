"""Check and convert the values of files."""

import re
from decimal import Decimal
from typing import Any

from schemas.config.n4 import LONGEST_DNN
from schemas.config.values import is_name
from schemas.identity import supi_of_imsi
from schemas.subscriber import GBR_5QIS, MAX_RATE, AuthMethod, PduSessionType
from statestore.contract import StoreError

_IMSI = re.compile(r"(?:imsi-)?([0-9]{6,15})")
_HEX = re.compile(r"[0-9A-Fa-f]*")
_RATE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) *([KMGTP]?)bps", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


class BadValue(ValueError):
    """An invalid value. The message states the expected form."""


def supi(value: Any) -> str:
    """Check a SUPI: an IMSI of 6 to 15 digits, with or without ``imsi-`` (TS 23.003 2.2)."""
    match = _IMSI.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BadValue("is not an IMSI of 6 to 15 digits")
    return supi_of_imsi(match[1])


def rfsp(value: Any) -> int:
    """Check an index to RAT/frequency selection priority (TS 29.571 5.4.2); 0 for none."""
    return integer(value, 0, 256)


def octets(value: Any, count: int) -> bytes:
    """Convert hexadecimal digits, with or without spaces, to octets. Errors do not show the
    value."""
    digits = "".join(value.split()) if isinstance(value, str) else None
    if digits is None or not _HEX.fullmatch(digits) or len(digits) != 2 * count:
        raise BadValue(f"is not a string of {2 * count} hexadecimal digits")
    return bytes.fromhex(digits)


def amf(value: Any) -> bytes:
    """Check an authentication management field with the separation bit (TS 33.501 6.1.3.2)."""
    field = octets(value, 2)
    if not field[0] & 0x80:
        raise BadValue(f"is {field.hex()}, without the separation bit that 5G requires")
    return field


def integer(value: Any, least: int, most: int) -> int:
    """Check a whole number."""
    # Some JSON writers only write floating-point numbers.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadValue(f"is not a whole number from {least} to {most}")
    if not least <= value <= most:
        raise BadValue(f"is {shown(str(value))}, not a number from {least} to {most}")
    return value


def sqn(value: Any) -> int:
    """Convert a sequence number of 48 bits: a number, or 12 hexadecimal digits."""
    if isinstance(value, str):
        if not value or not _HEX.fullmatch(value) or len(value) > 12:
            raise BadValue("is not a string of up to 12 hexadecimal digits")
        return int(value, 16)
    return integer(value, 0, 2**48 - 1)


def boolean(value: Any) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise BadValue("is neither true nor false")
    return value


def rate(value: Any) -> int:
    """Convert a bit rate to bit/s: a number, or a string as in TS 29.571 5.5.2 (``"1.5 Gbps"``).
    Its prefixes are decimal. Every rate that is accepted can be sent to gNBs, UEs and UPFs
    (`functions.messages.bit_rates`)."""
    if isinstance(value, str):
        match = _RATE.fullmatch(value.strip())
        if match is None:
            raise BadValue('is not a bit rate such as "100 Mbps"')
        value = int(Decimal(match[1]) * 1000 ** _UNITS[match[2].upper()])
    return integer(value, 1, MAX_RATE)


def default_5qi(value: Any) -> int:
    """Check the 5QI of a default QoS flow, which is a non-GBR flow (TS 23.501 5.7.2.7)."""
    found = integer(value, 1, 254)
    if found in GBR_5QIS:
        raise BadValue(f"is {found}, a GBR 5QI, but the default QoS flow is a non-GBR flow")
    return found


def sst(value: Any) -> int:
    """Check a slice/service type (TS 23.003 28.4.2)."""
    return integer(value, 0, 255)


def sd(value: Any) -> str:
    """Check a slice differentiator (TS 23.003 28.4.2)."""
    return octets(value, 3).hex()


def dnn(value: Any) -> str:
    """Check a data network name (TS 23.003 9.1)."""
    if not isinstance(value, str) or not is_name(value, LONGEST_DNN):
        raise BadValue("is not a data network name")
    return value


def tac(value: Any) -> int:
    """Convert a tracking area code: a number, or hexadecimal digits as in TS 29.571 5.4.2."""
    if isinstance(value, str):
        if len(value) not in {4, 6} or not _HEX.fullmatch(value):
            raise BadValue("is not a string of 4 or 6 hexadecimal digits")
        return int(value, 16)
    return integer(value, 0, 0xFFFFFF)


def session_type(value: Any) -> PduSessionType:
    """Convert the name of a PDU session type (TS 29.571 5.4.3.3)."""
    try:
        return PduSessionType(value)
    except ValueError:
        raise BadValue(f"is not one of {', '.join(PduSessionType)}") from None


def auth_method(value: Any) -> AuthMethod:
    """Convert a supported authentication method, by its name in TS 29.503."""
    try:
        return AuthMethod(value)
    except ValueError:
        names = " or ".join(AuthMethod)
        raise BadValue(f"is {shown(repr(value))}, not {names}") from None


_LONGEST = 80


def shown(text: str) -> str:
    """Return a name from a file for use in a message: short, and without control characters."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "..."
    return text if text.isprintable() else ascii(text)


class ImportProblem(StoreError):
    """A file cannot be imported. Nothing of it is imported.

    `problems` has all errors, one sentence each, with the record and the field. The message is the
    first of them.
    """

    def __init__(self, first: str, *others: str) -> None:
        more = f" (and {len(others)} more problems)" if others else ""
        super().__init__(first + more)
        self.problems = (first, *others)
