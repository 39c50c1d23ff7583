"""Arrival processes: statistics, seeds and invalid configurations."""

from itertools import islice
from pathlib import Path
from random import Random
from statistics import mean, pvariance

import pytest

from loadgen.load.arrivals import (
    ArrivalsError,
    Closed,
    Empirical,
    Mmpp,
    Poisson,
    loaded,
    read_times,
)

BURSTY = Mmpp(rates=(5.0, 200.0), sojourns=(10.0, 1.0))


def counts(process: Poisson | Mmpp | Empirical, seconds: int, seed: int = 1) -> list[int]:
    """Return the number of arrivals in each second."""
    found = [0] * seconds
    at = 0.0
    for gap in process.gaps(Random(seed)):
        at += gap
        if at >= seconds:
            return found
        found[int(at)] += 1
    raise AssertionError


def dispersion(process: Poisson | Mmpp | Empirical) -> float:
    """Return the variance of the counts divided by their mean: 1 for a Poisson process."""
    found = counts(process, 4000)
    return pvariance(found) / mean(found)


@pytest.mark.parametrize("process", [Poisson(20.0), BURSTY, Mmpp((0.0, 50.0), (4.0, 2.0))])
def test_the_mean_rate_is_kept(process: Poisson | Mmpp) -> None:
    assert mean(counts(process, 20_000)) == pytest.approx(process.mean_rate, rel=0.05)


def test_the_mean_rate_of_bursts_is_that_of_their_states() -> None:
    assert BURSTY.mean_rate == pytest.approx((5 * 10 + 200 * 1) / 11)


def test_poisson_is_not_bursty_and_mmpp_is() -> None:
    assert dispersion(Poisson(20.0)) == pytest.approx(1.0, abs=0.15)
    assert dispersion(BURSTY) > 20


def test_equal_rates_make_mmpp_a_poisson_process() -> None:
    assert dispersion(Mmpp((20.0, 20.0), (3.0, 1.0))) == pytest.approx(1.0, abs=0.15)


def test_the_states_of_mmpp_last_as_long_as_they_are_asked_to() -> None:
    found = counts(Mmpp((0.0, 1000.0), (9.0, 3.0)), 20_000)
    calm = sum(1 for one in found if one == 0)
    assert calm / len(found) == pytest.approx(9 / 12 - 1 / 12, abs=0.06)


@pytest.mark.parametrize("process", [Poisson(3.0), BURSTY, Empirical("x", samples=(1.0, 2.0))])
def test_a_seed_reproduces(process: Poisson | Mmpp | Empirical) -> None:
    def first(seed: int) -> list[float]:
        return list(islice(process.gaps(Random(seed)), 100))

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_measured_times_are_drawn_alike() -> None:
    process = Empirical("x", samples=(0.1, 0.1, 0.4), scale=2.0)
    gaps = list(islice(process.gaps(Random(1)), 30_000))
    assert set(gaps) == {0.2, 0.8}
    assert gaps.count(0.2) / len(gaps) == pytest.approx(2 / 3, abs=0.02)
    assert process.mean_rate == pytest.approx(1 / mean(gaps), rel=0.02)


def test_a_file_of_times(tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text("# measured\n0.5\n\n 1.5 \n0\n")
    assert read_times(path, None) == (0.5, 1.5, 0.0)
    found = loaded(Empirical("gaps.txt", scale=3.0), tmp_path)
    assert isinstance(found, Empirical)
    assert found.samples == (0.5, 1.5, 0.0)
    assert found.mean_rate == pytest.approx(0.5)
    assert loaded(found) is found
    assert loaded(Poisson(1.0)) == Poisson(1.0)


def test_a_column_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("ue, gap\n1,0.5\n2,0.25\n")
    assert read_times(path, "gap") == (0.5, 0.25)
    with pytest.raises(ArrivalsError, match=r"no column 'gaps'; its columns are ue, gap"):
        read_times(path, "gaps")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0.5\nsoon\n", r"gaps.txt, line 2: 'soon' is not a number of seconds"),
        ("0.5\n-1\n", r"line 2: '-1' is not a number of seconds"),
        ("inf\n", r"line 1: 'inf' is not a number"),
        ("", "has no time above 0"),
        ("0\n0\n", "has no time above 0"),
    ],
)
def test_files_that_are_none_of_times(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text(text)
    with pytest.raises(ArrivalsError, match=says):
        read_times(path, None)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArrivalsError, match="No such file"):
        read_times(tmp_path / "none", None)


@pytest.mark.parametrize(
    ("process", "says"),
    [
        (Closed(-1.0), "ramp is -1.0"),
        (Poisson(0.0), "rate is 0.0"),
        (Poisson(float("nan")), "rate is nan"),
        (Mmpp((0.0, 0.0), (1.0, 1.0)), "at least one above 0"),
        (Mmpp((1.0, -1.0), (1.0, 1.0)), "rates are"),
        (Mmpp((1.0, 2.0), (1.0, 0.0)), "sojourns are"),
        (Empirical("x", scale=0.0), "scale is 0.0"),
        (Empirical("x", samples=(0.0,)), "samples are all 0"),
    ],
)
def test_faults(process: Closed | Poisson | Mmpp | Empirical, says: str) -> None:
    assert says in (process.problem() or "")


def test_no_faults() -> None:
    for process in (Closed(), Poisson(1.0), BURSTY, Empirical("x", samples=(1.0,))):
        assert process.problem() is None
