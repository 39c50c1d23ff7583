"""Network name and time, as the network sends them to UEs (TS 22.042, NITZ).

The rules of time zones change, and hosts learn of a change at different times. So
`schemas.config.time_zone` computes the offsets from UTC when the configuration is read. They are
part of the `Network` that a step names. A decision that sends the time gives the same octets on
any host.
"""

from typing import Final, NamedTuple

from msgspec import Struct

_DAY: Final = 86_400
"""Seconds."""


class Offset(Struct, frozen=True):
    """An offset from UTC, valid from a given time."""

    since: int
    """In seconds since the Unix epoch."""
    quarters: int = 0
    """Quarters of an hour east of Greenwich, daylight saving time included."""
    daylight_saving: int = 0
    """The hours of daylight saving time in `quarters`, 0 to 2."""


class Nitz(Struct, frozen=True):
    """The name of the network and its time zone."""

    full_name: str = ""
    short_name: str = ""
    offsets: tuple[Offset, ...] = ()
    """In the order of time; empty if the network does not send its time."""

    def offset(self, now: int) -> Offset:
        """Return the offset at a time in milliseconds since the Unix epoch."""
        found = [offset for offset in self.offsets if offset.since * 1000 <= now]
        return found[-1] if found else self.offsets[0]


class UniversalTime(NamedTuple):
    """A time in UTC, with the fields of TS 24.008 10.5.3.9."""

    year: int
    """0 to 99."""
    month: int
    day: int
    hour: int
    minute: int
    second: int


def universal_time(now: int) -> UniversalTime:
    """Return the UTC time for a number of milliseconds since the Unix epoch."""
    days, second = divmod(now // 1000, _DAY)
    year, month, day = _date(days)
    return UniversalTime(year % 100, month, day, second // 3600, second // 60 % 60, second % 60)


def _date(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.

    It counts years from 1 March, so that a leap day is the last day of its year. `datetime` can do
    the same, but it has a clock, so a decision must not import it.
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    leap_days = day_of_era // 1_460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - leap_days) // 365
    day = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day + 2) // 153
    year = year_of_era + era * 400 + month // 10
    return year, (month + 2) % 12 + 1, day - (153 * month + 2) // 5 + 1
