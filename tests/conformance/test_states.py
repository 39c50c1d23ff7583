"""No cell raises, hangs or leaves state behind. Each cell has the outcome of its clause."""

import pytest

from schemas.ue.states import gmm_state, sm_state
from tests.conformance.cells import Cell, cells_of, drive, event
from tests.conformance.expectation import Expected
from tests.conformance.expected import EXPECTED
from tests.conformance.rest import again, come_to_rest
from tests.conformance.states import STATES


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_each_cell_comes_to_rest(state: str) -> None:
    """Afterwards all timers expire, and the UE registers, deregisters and leaves no state."""
    broken: list[str] = []
    for cell in cells_of(state):
        bench = STATES[state].build()
        try:
            bench.send(event(bench, cell))
            come_to_rest(bench)
            again(bench)
        except Exception as err:
            broken.append(f"{cell}: {type(err).__name__}: {str(err)[:300]}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("name", STATES)
def test_a_state_has_the_name_that_its_clause_gives_it(name: str) -> None:
    state = STATES[name]
    ue = state.build().here
    names: set[str] = {gmm_state(ue), *(sm_state(session) for session in ue.sessions)}
    assert state.clause in names


def _cells(expected: Expected) -> list[Cell]:
    ways = expected.ways or ("",)
    return [Cell(state, expected.message, way) for state in expected.states.split() for way in ways]


CASES = [
    pytest.param(
        expected,
        cell,
        id=f"{expected.clause}: {cell.message} {cell.way} in {cell.state}",
        marks=[pytest.mark.xfail(strict=True, reason=expected.wrong)] if expected.wrong else [],
    )
    for expected in EXPECTED
    for cell in _cells(expected)
]


@pytest.mark.parametrize(("expected", "cell"), CASES)
def test_each_outcome_of_a_clause(expected: Expected, cell: Cell) -> None:
    assert cell in set(cells_of(cell.state)), "there is no such cell"
    _, outcome = drive(cell)
    if expected.sends is not None:
        assert len(outcome.sends) == len(expected.sends), outcome
        for sent, wanted in zip(sorted(outcome.sends), sorted(expected.sends), strict=True):
            assert sent.startswith(wanted), outcome
    for name in expected.events.split():
        assert name in outcome.events, outcome
    for name in expected.never.split():
        assert name not in outcome.events, outcome
    for part in filter(None, expected.now.split("; ")):
        assert part in outcome.after, outcome
