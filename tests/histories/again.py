"""Deciding a recorded history again: with a kept state as `evcore log verify` does, and with a new
fold."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from functions.decider import decide
from functions.runtime.pure import pure
from functions.runtime.replay import Decide, Redecided, Replayer, recorded_inputs
from functions.ue.dispatch import Procedures
from schemas.aggregates import Kind, kind_of
from schemas.code import Code
from schemas.network import Network
from schemas.step import Step, encode
from schemas.subscriber import Subscriber
from statestore.log import EventLog
from statestore.subscribers import SubscriberStore, Subscription
from tests.histories.history import Given, History


class _Log(EventLog):
    """The logs of a history, as a store returns them."""

    def __init__(self, history: History) -> None:
        self._given, self._logs = history.given, history.aggregates()

    async def steps(self, name: str, after: int = 0, page: int = 500) -> AsyncIterator[Step[Any]]:
        del page
        for recorded in self._logs[name][after:]:
            yield recorded.step()

    async def network(self, version: str) -> Network:
        del version
        return self._given.network

    async def code(self, identifier: str) -> Code | None:
        del identifier
        return None


class _Subscribers(SubscriberStore):
    def __init__(self, given: Given) -> None:
        self._given = given

    async def get(self, supi: str, version: int = 0) -> Subscription | None:
        found = _subscriber(self._given, supi)
        return None if found is None else Subscription(supi, version, found)


def _subscriber(given: Given, supi: str) -> Subscriber | None:
    return next((s for s in given.subscribers if s.supi == supi), None)


async def redecided(history: History, candidate: Decide | None = None) -> list[Redecided]:
    """Return every step, decided again with the state kept from step to step."""
    replayer = Replayer(_Log(history), _Subscribers(history.given), candidate)
    found: list[Redecided] = []
    for name in history.aggregates():
        found += [step async for step in replayer.steps(name)]
    return found


async def warm(history: History) -> list[Redecided]:
    """Return the steps that differ with the state kept from step to step."""
    return [step for step in await redecided(history) if not step.same]


def cold(history: History) -> Iterator[tuple[Step[Any], Step[Any] | None, Step[Any] | None]]:
    """Yield each recorded step, decided on a fold of the octets before it, and on a snapshot.

    The snapshot is of the state after half of the steps, encoded and decoded.
    """
    for name, log in history.aggregates().items():
        kind = kind_of(name)
        steps = [recorded.step() for recorded in log]
        for index, step in enumerate(steps):
            half = encode(_fold(kind, kind.new(), steps[: index // 2]))
            folded = _fold(kind, kind.new(), steps[:index])
            resumed = _fold(kind, kind.decode_state(half), steps[index // 2 : index])
            supi = name.removeprefix("ue/")
            yield (
                step,
                _again(history.given, supi, step, folded),
                _again(history.given, supi, step, resumed),
            )


def _fold(kind: Kind, state: Any, steps: list[Step[Any]]) -> Any:
    for step in steps:
        for event in step.events:
            state = kind.evolve(state, event)
    return state


def _again(given: Given, supi: str, step: Step[Any], state: Any) -> Step[Any] | None:
    found = _subscriber(given, supi) if step.subscription else None
    inputs = recorded_inputs(step, given.network, found)
    procedures = Procedures()
    procedures.load()
    with pure():
        made = decide(procedures, state, step.seq, step.trigger, inputs)
    assert made is None or isinstance(made, Step)
    return made
