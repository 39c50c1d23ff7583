"""Searches of the states of the model."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from tests.order.model import actions, settled, start
from tests.order.states import Design, Scenario, State, Wrong


class Found(NamedTuple):
    """The result of a search."""

    states: int
    wrong: str = ""
    """How the order is broken; empty if no state breaks it."""
    trace: tuple[str, ...] = ()
    """The steps to it: as few as possible."""

    def __str__(self) -> str:
        """Return the steps, one a line."""
        return "\n".join([f"{self.states} states", *self.trace, f"=> {self.wrong}"])


def every_state(scenario: Scenario, design: Design, limit: int = 200_000) -> Found:
    """Search all states, breadth first.

    Raises:
        OverflowError: there are more than `limit`.
    """
    first = start(scenario)
    before: dict[State, tuple[str, State] | None] = {first: None}
    todo = deque([first])
    while todo:
        state = todo.popleft()
        try:
            for label, after in _next(scenario, design, state):
                if after not in before:
                    before[after] = (label, state)
                    todo.append(after)
        except Wrong as wrong:
            return Found(len(before), str(wrong), _trace(before, state))
        if len(before) > limit:
            raise OverflowError(f"more than {limit} states")
    return Found(len(before))


def walk(scenario: Scenario, design: Design, choices: Sequence[int]) -> Found:
    """Take one way through the states: `choices` choose the steps, and then the first step that is
    no fault is taken until nothing is left to do."""
    state, trace = start(scenario), list[str]()
    try:
        while True:
            steps = _next(scenario, design, state)
            if not steps:
                return Found(len(trace))
            if len(trace) < len(choices):
                label, state = steps[choices[len(trace)] % len(steps)]
            else:
                faults = state.faults
                label, state = next(one for one in steps if one[1].faults == faults)
            trace.append(label)
    except Wrong as wrong:
        return Found(len(trace), str(wrong), tuple(trace))


def _next(scenario: Scenario, design: Design, state: State) -> list[tuple[str, State]]:
    steps = [*actions(scenario, design, state)]
    if all(after.faults != state.faults for _, after in steps):
        settled(scenario, state)
        return []
    return steps


def _trace(before: dict[State, tuple[str, State] | None], state: State) -> tuple[str, ...]:
    trace: list[str] = []
    found = before[state]
    while found is not None:
        label, state = found
        trace.append(label)
        found = before[state]
    return tuple(reversed(trace))
