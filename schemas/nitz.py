"""Network name and time (TS 22.042, NITZ): what UEs are told of them.

The rules of time zones change, and hosts differ in when they learn it. So the changes of the
offset from UTC are worked out once, when the configuration is read, and are part of the `Network`
that steps name: a decision that tells the time is decided the same on any host, for ever.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

FIRST_YEAR, LAST_YEAR = 2024, 2049
"""Of the changes that are worked out. After the last one, its offset stays."""

_QUARTER: Final = timedelta(minutes=15)
_HOUR: Final = timedelta(hours=1)
_MOST_DAYLIGHT_SAVING: Final = 2
"""Hours (TS 24.008 10.5.3.12)."""


class Offset(Struct, frozen=True, omit_defaults=True):
    """An offset from UTC, from a moment on."""

    since: int
    """In seconds since the Unix epoch."""
    quarters: int = 0
    """Quarters of an hour east of Greenwich, daylight saving time included."""
    daylight_saving: int = 0
    """Hours of them that are daylight saving time, 0 to 2."""


class Nitz(Struct, frozen=True, omit_defaults=True):
    """The name of the network and its time, as far as it tells them."""

    full_name: str = ""
    short_name: str = ""
    offsets: tuple[Offset, ...] = ()
    """In the order of time; empty for no time to tell."""

    def offset(self, now: int) -> Offset:
        """The offset at a time, in milliseconds since the Unix epoch."""
        found = [offset for offset in self.offsets if offset.since * 1000 <= now]
        return found[-1] if found else self.offsets[0]


class UniversalTime(NamedTuple):
    """A moment in UTC, as TS 24.008 10.5.3.9 counts it."""

    year: int
    """0 to 99."""
    month: int
    day: int
    hour: int
    minute: int
    second: int


def universal_time(now: int) -> UniversalTime:
    """The moment of a time in milliseconds since the Unix epoch."""
    at = datetime.fromtimestamp(now // 1000, UTC)
    return UniversalTime(at.year % 100, at.month, at.day, at.hour, at.minute, at.second)


def offsets_of(zone: str) -> tuple[Offset, ...]:
    """The offsets of an IANA time zone, by the database that this host has.

    Raises:
        ValueError, OSError: there is no such zone (`zoneinfo.ZoneInfoNotFoundError` is a KeyError).
    """
    there = ZoneInfo(zone)
    at, end = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
    found = [_offset(at, there)]
    while at < end:
        after = at + timedelta(days=1)
        if _rule(after, there) != _rule(at, there):
            found.append(_offset(_change(at, after, there), there))
        at = after
    return tuple(found)


def _rule(at: datetime, zone: ZoneInfo) -> tuple[timedelta, timedelta]:
    local = at.astimezone(zone)
    return local.utcoffset() or timedelta(), local.dst() or timedelta()


def _change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The second at which the rule of `before` has become that of `after`."""
    low, high = int(before.timestamp()), int(after.timestamp())
    first = _rule(before, zone)
    while high - low > 1:
        middle = (low + high) // 2
        if _rule(datetime.fromtimestamp(middle, UTC), zone) == first:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)


def _offset(at: datetime, zone: ZoneInfo) -> Offset:
    """Ireland's winter time counts as daylight saving backwards: UEs are told of none then."""
    offset, saving = _rule(at, zone)
    hours = min(max(saving // _HOUR, 0), _MOST_DAYLIGHT_SAVING)
    return Offset(int(at.timestamp()), round(offset / _QUARTER), hours)
