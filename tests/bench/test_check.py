"""The performance bounds: the report, and the invalid bounds that are rejected."""

from pathlib import Path

import pytest

from bench import check, ratios
from bench.check import Bound, BoundsError, broken, judge, read
from bench.micro.floor import registration
from bench.ratios import alone

SOUND = Bound("append", 0.5, "batches share a transaction")
BOUND = """
[[bound]]
ratio = "append"
most = 0.5
why = "batches share a transaction"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "bounds.toml"
    path.write_text(text)
    return path


def test_a_bound_that_holds_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert judge([SOUND], {"append": 0.5}) == 0
    assert "bench-check" not in capsys.readouterr().out


def test_a_broken_bound_is_one_line_that_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    slow = Bound("codec", 0.1, "the codec is native")
    assert judge([SOUND, slow], {"append": 0.4, "codec": 0.25}) == 1
    reported = [line for line in capsys.readouterr().out.splitlines() if "bench-check" in line]
    assert reported == [
        "bench-check: codec is 0.25, the limit is 0.1: the codec is native",
    ]


def test_a_figure_that_is_none_breaks_its_bound() -> None:
    assert broken([SOUND], {"append": float("nan")})


def test_a_bound_without_a_figure_is_an_error() -> None:
    with pytest.raises(BoundsError, match="nothing was measured for the bound of 'append'"):
        broken([SOUND], {})


def test_a_figure_without_a_bound_is_an_error() -> None:
    with pytest.raises(BoundsError, match="there is no bound for 'codec'"):
        broken([SOUND], {"append": 0.1, "codec": 0.1})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOUND.replace("0.5", '"much"'), "Expected `float`"),
        (BOUND.replace("most = 0.5\n", ""), "missing required field `most`"),
        (BOUND.replace("most", "least"), "unknown field `least`"),
        (BOUND.replace("batches share a transaction", " "), "'append' has no reason"),
        (BOUND + BOUND, "'append' has two bounds"),
        ("[[bound", "bounds.toml"),
    ],
)
def test_bounds_that_cannot_be_read(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BoundsError, match=says):
        read(written(tmp_path, text))


def test_bounds_that_cannot_be_read_end_it_before_it_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.main(["--bounds", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().out


@pytest.mark.parametrize(("turns", "status"), [((0.6, 0.4), 0), ((0.6,) * check.TURNS + (0.4,), 1)])
def test_a_broken_bound_is_measured_again(
    turns: tuple[float, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter(turns)

    async def measured(folder: Path) -> dict[str, float]:
        assert not folder.exists()
        return {"append": next(found)}

    monkeypatch.setattr(ratios, "measured", measured)
    assert check.main(["--bounds", str(written(tmp_path, BOUND))]) == status


@pytest.mark.slow
async def test_the_bounds_of_the_repository_are_of_the_ratios_that_are_measured(
    tmp_path: Path,
) -> None:
    bounds = {bound.ratio: bound.most for bound in read(check.BOUNDS)}
    found = alone.decisions(registration()) | await alone.appends(tmp_path / "log.db")
    assert found.keys() <= bounds.keys()
    assert all(0 < ratio < float("inf") for ratio in found.values())
