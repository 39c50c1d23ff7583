"""Bit rates as NAS, NGAP and PFCP can encode them. The argument of each function is in bit/s.

A rate that a message cannot express is rounded up, so that no subscriber gets less than the
subscribed rate. A rate above the maximum of a message becomes the maximum. Subscriptions with such
a rate are refused when they are imported (`schemas.subscriber.MAX_RATE`).
"""

from functools import lru_cache
from typing import Final

from schemas.subscriber import MAX_RATE

_UNITS: Final = tuple(
    prefix * factor for prefix in (1, 10**3, 10**6, 10**9, 10**12) for factor in (1, 4, 16, 64, 256)
)
"""The units of the session AMBR in kbit/s: 1 kbit/s to 256 Pbit/s (TS 24.501 table
9.11.4.14.1)."""

_MOST_UNITS: Final = 0xFFFF
_MOST_PFCP: Final = (1 << 40) - 1
"""Maximum of a bit rate of an MBR, in kbit/s (TS 29.244 8.2.8)."""


@lru_cache(maxsize=1024)
def nas(rate: int) -> int:
    """Return the lowest session AMBR in kbit/s that NAS can encode and that is not below `rate`
    (TS 24.501 9.11.4.14)."""
    wanted = _kbps(rate)
    steps = [(unit, -(-wanted // unit)) for unit in _UNITS]
    found = [unit * count for unit, count in steps if count <= _MOST_UNITS]
    return min(found, default=_UNITS[-1] * _MOST_UNITS)


def ngap(rate: int) -> int:
    """Return a Bit Rate in bit/s (TS 38.413 9.3.1.4)."""
    return min(max(rate, 0), MAX_RATE)


def pfcp(rate: int) -> int:
    """Return a bit rate of an MBR in kbit/s (TS 29.244 8.2.8)."""
    return min(_kbps(rate), _MOST_PFCP)


def _kbps(rate: int) -> int:
    """Return a bit rate in kbit/s, rounded up, so that a low rate does not become 0."""
    return -(-max(rate, 0) // 1000)
