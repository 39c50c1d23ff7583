"""The network's name and time for UEs, from evcore.toml."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.reading import ConfigError, load, network_of
from schemas.config.time_zone import FIRST_YEAR, LAST_YEAR, offsets_of
from schemas.network import version_of
from schemas.nitz import Nitz, Offset, universal_time

SUMMER, WINTER = 1_782_000_000_000, 1_795_000_000_000
"""In 2026, in milliseconds."""


def nitz_of(path: Path, text: str) -> Nitz | None:
    file = path / "evcore.toml"
    file.write_text(f"[amf]\n{text}\n")
    return network_of(load(file), bytes(32)).nitz


@pytest.mark.parametrize(
    ("zone", "winter", "summer"),
    [
        ("Europe/Berlin", (4, 0), (8, 1)),
        ("UTC", (0, 0), (0, 0)),
        ("Asia/Kathmandu", (23, 0), (23, 0)),
        ("America/New_York", (-20, 0), (-16, 1)),
        ("Europe/Dublin", (0, 0), (4, 0)),
        ("Antarctica/Troll", (0, 0), (8, 2)),
    ],
)
def test_the_offset_in_summer_and_in_winter(
    zone: str, winter: tuple[int, int], summer: tuple[int, int]
) -> None:
    nitz = Nitz(offsets=offsets_of(zone))
    found = [(o.quarters, o.daylight_saving) for o in (nitz.offset(WINTER), nitz.offset(SUMMER))]
    assert found == [winter, summer]


def test_it_changes_to_the_second() -> None:
    nitz = Nitz(offsets=offsets_of("Europe/Berlin"))
    change = 1_774_746_000_000  # 2026-03-29 01:00 UTC
    assert [nitz.offset(change - 1).quarters, nitz.offset(change).quarters] == [4, 8]


def test_before_and_after_the_years_that_are_known() -> None:
    years = LAST_YEAR - FIRST_YEAR + 1
    offsets = offsets_of("Europe/Berlin")
    assert len(offsets) == 2 * years + 1
    nitz = Nitz(offsets=offsets)
    assert nitz.offset(0) == offsets[0]
    assert nitz.offset(10**14) == offsets[-1] == Offset(offsets[-1].since, 4)


def test_universal_time() -> None:
    assert universal_time(1_700_000_000_999) == (23, 11, 14, 22, 13, 20)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_universal_time_is_that_of_datetime(at: datetime) -> None:
    now = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1) * 1000
    assert universal_time(now) == (at.year % 100, *at.timetuple()[1:6])


def test_universal_time_around_leap_days() -> None:
    for year in (1972, 1999, 2000, 2024, 2025, 2100, 2400):
        for day in ((2, 28), (3, 1), (12, 31)):
            at = datetime(year, *day, tzinfo=UTC)
            for seconds in (-1, 0, 86_399, 86_400):
                now = int(at.timestamp()) + seconds
                expected = datetime.fromtimestamp(now, UTC)
                assert universal_time(now * 1000)[1:3] == (expected.month, expected.day)


def test_a_network_tells_nothing_unless_configured(tmp_path: Path) -> None:
    assert nitz_of(tmp_path, 'name = "evcore"') is None


def test_names_without_a_time(tmp_path: Path) -> None:
    found = nitz_of(tmp_path, 'full_name = "Netz für alle"\nshort_name = "NfA"')
    assert found == Nitz("Netz für alle", "NfA")


def test_the_offsets_are_part_of_the_version(tmp_path: Path) -> None:
    versions: set[str] = set()
    for zone in ("", "UTC", "Europe/Berlin"):
        file = tmp_path / "evcore.toml"
        file.write_text(f'[amf]\ntime_zone = "{zone}"\n')
        versions.add(version_of(network_of(load(file), bytes(32))))
    assert len(versions) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('time_zone = "Europe/Nowhere"', "amf.time_zone: there is no time zone 'Europe/Nowhere'"),
        ('time_zone = "../etc/passwd"', "amf.time_zone: there is no time zone '../etc/passwd'"),
        ('time_zone = "Europe"', "amf.time_zone: there is no time zone 'Europe'"),
        (f'full_name = "{"x" * 64}"', "amf.full_name must be at most 63 printable characters"),
        ('short_name = "a\\tb"', "amf.short_name must be at most 63 printable characters"),
        ('short_name = "\U0001d11e"', "amf.short_name must be at most 63 printable characters"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=r"evcore\.toml: ") as refused:
        nitz_of(tmp_path, text)
    assert str(refused.value).endswith(sentence)
