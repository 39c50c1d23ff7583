"""The values of a GPRS timer 3 (TS 24.008 10.5.7.4a), without those in units of 320 hours."""

from typing import Final

_UNITS: Final = (2, 30, 60, 600, 3600, 36_000)
"""In seconds."""

_MOST_UNITS: Final = 31


def gprs_timer_3(seconds: int) -> int:
    """Return the lowest value of the timer, in seconds, that is not below `seconds`; the highest
    value if there is none."""
    counts = [(unit, -(-seconds // unit)) for unit in _UNITS]
    found = [unit * count for unit, count in counts if count <= _MOST_UNITS]
    return min(found, default=_UNITS[-1] * _MOST_UNITS)
