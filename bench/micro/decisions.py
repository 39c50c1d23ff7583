"""The cost of deciding and folding, by procedure, measured on every step of the recorded
histories."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from bench.figures import Figure, Row
from functions.decider import decide
from functions.runtime.replay import recorded_inputs
from functions.ue.dispatch import Procedures
from schemas.aggregates import kind_of
from schemas.step import Step, encode
from tests.histories.history import History, files, read


class Case:
    """A recorded step, and the inputs of its decision."""

    def __init__(self, history: History, aggregate: str, step: Step[Any], state: Any) -> None:
        self.aggregate = aggregate
        self.step = step
        self.state = state
        self.kind = kind_of(aggregate)
        supi = aggregate.removeprefix("ue/")
        found = (one for one in history.given.subscribers if one.supi == supi)
        self._subscriber = next(found, None) if step.subscription else None
        self._network = history.given.network

    def decide(self, procedures: Procedures) -> None:
        step = self.step
        given = recorded_inputs(step, self._network, self._subscriber)
        decide(procedures, self.state, step.seq, step.trigger, given)

    def evolve(self) -> None:
        state = self.state
        for event in self.step.events:
            state = self.kind.evolve(state, event)


def rows(runs: int = 7) -> Iterator[Row]:
    """Measure the CPU microseconds per step for decide, evolve and encoding, by procedure."""
    cases = _cases()
    procedures = Procedures()
    works: dict[str, Callable[[Case], object]] = {
        "decide": lambda case: case.decide(procedures),
        "evolve": lambda case: case.evolve(),
        "encode the step": lambda case: encode(case.step),
    }
    for name, some in sorted(cases.items()):
        times: defaultdict[str, list[float]] = defaultdict(list)
        for _ in range(runs + 1):
            for what, work in works.items():
                begun = time.process_time()
                for case in some:
                    work(case)
                times[what].append(1e6 * (time.process_time() - begun) / len(some))
        for what, found in times.items():
            yield Row("decisions", f"{name}: {what}", "us", Figure.of(found[1:]))


def cases_of(history: History) -> list[Case]:
    """Return every step of a history."""
    found: list[Case] = []
    for aggregate, log in history.aggregates().items():
        kind = kind_of(aggregate)
        state = kind.new()
        for recorded in log:
            step = recorded.step()
            found.append(Case(history, aggregate, step, state))
            for event in step.events:
                state = kind.evolve(state, event)
    return found


def _cases() -> dict[str, list[Case]]:
    found: defaultdict[str, list[Case]] = defaultdict(list)
    for path in files():
        for case in cases_of(read(path)):
            found[case.step.procedure].append(case)
    return found
