"""The offsets from UTC of a time zone, from the time zone database of this host."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from schemas.nitz import Offset

FIRST_YEAR, LAST_YEAR = 2024, 2049
"""The years of the offsets. The last offset stays in force after them."""

_QUARTER: Final = timedelta(minutes=15)
_HOUR: Final = timedelta(hours=1)
_MOST_DAYLIGHT_SAVING: Final = 2
"""Hours (TS 24.008 10.5.3.12)."""


def offsets_of(zone: str) -> tuple[Offset, ...]:
    """Return the offsets of an IANA time zone, by the database of this host.

    Raises:
        ValueError, OSError, zoneinfo.ZoneInfoNotFoundError: the database has no such zone.
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
    """Return the first second of the new rule, between two moments with different rules."""
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
    """Return the offset at a moment.

    The database has a negative daylight saving time for the winter of Ireland. UEs get 0 then.
    """
    offset, saving = _rule(at, zone)
    hours = min(max(saving // _HOUR, 0), _MOST_DAYLIGHT_SAVING)
    return Offset(int(at.timestamp()), round(offset / _QUARTER), hours)
