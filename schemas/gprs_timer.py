"""The values of a GPRS timer 3 (TS 24.008 10.5.7.4a), without those in units of 320 hours."""

from typing import Final

_UNITS: Final = {2: 3, 30: 4, 60: 5, 600: 0, 3600: 1, 36_000: 2}
"""In seconds, each with its code in bits 8 to 6."""

_MOST_UNITS: Final = 31


def gprs_timer_3(seconds: int) -> int:
    """Return the lowest value of the timer, in seconds, that is not below `seconds`; the highest
    value if there is none."""
    counts = [(unit, -(-seconds // unit)) for unit in _UNITS]
    found = [unit * count for unit, count in counts if count <= _MOST_UNITS]
    return min(found, default=max(_UNITS) * _MOST_UNITS)


def octet_of(seconds: int) -> int:
    """Return the timer as the octet of its value, rounded up as by `gprs_timer_3`."""
    value = gprs_timer_3(seconds)
    unit = next(unit for unit in _UNITS if value % unit == 0 and value // unit <= _MOST_UNITS)
    return _UNITS[unit] << 5 | value // unit
