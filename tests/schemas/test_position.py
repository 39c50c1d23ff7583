"""Positions of events, and their text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.position import SKEW, Position, parse

positions = st.builds(
    Position, st.integers(1, 1 << 62), st.integers(0, 15), st.integers(0, 1 << 45)
)


@given(positions)
def test_the_text_has_all_of_it(position: Position) -> None:
    assert parse(str(position)) == position


@given(positions, positions)
def test_of_two_positions_one_precedes(one: Position, other: Position) -> None:
    different = (one.sequence, one.index) != (other.sequence, other.index)
    apart = abs(one.stored - other.stored) > SKEW
    assert one.precedes(other) + other.precedes(one) == (different or apart)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Position(1, 0, 5), Position(2, 0, 5)),
        (Position(1, 0, 5), Position(1, 1, 5)),
        (Position(1, 9, 5), Position(2, 0, 5)),
        (Position(1, 0, 6), Position(2, 0, 5)),  # the clock of another broker
        (Position(900, 0, 5), Position(1, 0, 5_000)),  # a stream that was made again
        (Position(3, 0, 5), Position(3, 0, 5_000)),
    ],
)
def test_what_precedes(one: Position, other: Position) -> None:
    assert one.precedes(other)
    assert not other.precedes(one)
    assert not one.precedes(one)


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.3.4", "-1.0.0", "a.0.0", "1.0.0 ", "9" * 30])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="position is"):
        parse(text)


def test_a_sequence_that_no_stream_reaches_is_refused() -> None:
    with pytest.raises(ValueError, match="no stream reaches"):
        parse(f"{(1 << 63)}.0.0")
