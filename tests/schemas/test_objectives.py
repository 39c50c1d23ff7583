"""Tables [[objective]]."""

import re
from pathlib import Path

import pytest

from schemas.config import reading
from schemas.config.objectives import RELAXED, Objectives, objectives_of
from schemas.config.reading import ConfigError
from schemas.identity import SNssai


def of(path: Path, text: str) -> Objectives:
    file = path / "evcore.toml"
    file.write_text(text)
    return objectives_of(reading.load(file).objective)


def test_of_procedures_and_slices(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        """
        [[objective]]
        procedure = "service-request"
        milliseconds = 50
        [[objective]]
        slice = "1-0A0000"
        milliseconds = 20
        """,
    )
    assert found == Objectives({"service-request": 0.05}, {SNssai(1, "0a0000"): 0.02})
    assert found
    assert (found.of("service-request"), found.of("ran")) == (0.05, RELAXED)
    assert found.strictest == 0.02


def test_none(tmp_path: Path) -> None:
    found = of(tmp_path, "")
    assert not found
    assert (found.of("ran"), found.strictest) == (RELAXED, RELAXED)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("milliseconds = 5", "an [[objective]] needs a procedure or a slice, not both"),
        (
            'milliseconds = 5\nprocedure = "ran"\nslice = "1"',
            "an [[objective]] needs a procedure or a slice, not both",
        ),
        ('milliseconds = 5\nprocedure = "x"', "objective: there is no procedure 'x'"),
        (
            'milliseconds = 5\nslice = "x"',
            "'x' is not a slice: SST 0 to 255, SD of six hexadecimal",
        ),
        ('milliseconds = 0\nslice = "1"', "Expected `int` >= 1"),
        ('procedure = "ran"', "missing required field `milliseconds`"),
        (
            'milliseconds = 5\nslice = "1"\n[[objective]]\nmilliseconds = 6\nslice = "1"',
            "objective: '1' has two different objectives",
        ),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(ConfigError, match=rf"evcore.toml: .*{re.escape(said)}"):
        of(tmp_path, f"[[objective]]\n{table}")
