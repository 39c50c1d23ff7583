"""Deciding recorded steps again: what the log is verified and new versions are tried with."""

from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from msgspec import Struct

from functions.runtime.decider import Forward, Inputs, decide
from functions.runtime.variants import is_variant
from functions.ue.dispatch import Procedures
from schemas.aggregates import UNIDENTIFIED, kind_of
from schemas.step import Step, encode
from schemas.subscriber import Subscriber
from statestore.log import EventLog
from statestore.subscribers import SubscriberStore


def told(step: Step[Any]) -> Callable[[str], str]:
    """An oracle that gives what was answered when a step was decided: each question its answers
    in their order, and ``""`` to one that was not asked then, or not as often."""
    answers: defaultdict[str, deque[str]] = defaultdict(deque)
    for question, answer in step.answers:
        answers[question].append(answer)

    def again(question: str) -> str:
        left = answers.get(question)
        return left.popleft() if left else ""

    return again


class Redecided(Struct, frozen=True):
    """One recorded step beside what is decided about its trigger now."""

    aggregate: str
    recorded: Step[Any]
    now: Step[Any] | None
    """None when nothing would be recorded, or when deciding fails."""
    before: Any
    """The state that both were decided on: the fold of what is recorded."""
    error: str = ""
    """Why deciding failed, empty if it did not."""
    elsewhere: bool = False
    """Whether it was not decided again, for the version that decided is not here."""

    @property
    def same(self) -> bool:
        """Whether events, outputs and procedure are the same, octet by octet."""
        now, recorded = self.now, self.recorded
        return (
            now is not None
            and now.procedure == recorded.procedure
            and encode(now.events) == encode(recorded.events)
            and encode(now.outputs) == encode(recorded.outputs)
        )


class Replayer:
    """Decides the steps of aggregates again, with the procedures it is given.

    `variants` gives the procedures for a step of a version that was swapped in, by the procedure
    and the version in the step; None where that version is not here.
    """

    def __init__(
        self,
        events: EventLog,
        subscribers: SubscriberStore,
        procedures: Procedures | None = None,
        variants: Callable[[str, str], Procedures | None] | None = None,
    ) -> None:
        self._log = events
        self._subscribers = subscribers
        self._procedures = procedures or Procedures()
        self._variants = variants

    async def steps(self, aggregate: str) -> AsyncIterator[Redecided]:
        """Every step of an aggregate, decided again on the state that is recorded before it."""
        kind = kind_of(aggregate)
        state = kind.new()
        async for step in self._log.steps(aggregate):
            yield await self._again(aggregate, state, step)
            for event in step.events:
                state = kind.evolve(state, event)

    async def _again(self, aggregate: str, state: Any, step: Step[Any]) -> Redecided:
        procedures = self._decides(step)
        if procedures is None:
            why = f"decided by {step.procedure} {step.version}, which is not here"
            return Redecided(aggregate, step, None, state, why, elsewhere=True)
        given = Inputs(
            now=step.at,
            entropy=step.entropy,
            network=await self._log.network(step.network),
            network_version=step.network,
            subscriber=await self._subscriber(aggregate, step.subscription),
            subscription=step.subscription,
            flags=step.flags,
            oracle=told(step),
        )
        try:
            now = decide(procedures, state, step.seq, step.trigger, given)
        except Exception as err:
            return Redecided(aggregate, step, None, state, f"{type(err).__name__}: {err}")
        if isinstance(now, Forward):
            return Redecided(aggregate, step, None, state, f"forwarded to {now.procedure}")
        return Redecided(aggregate, step, now, state)

    def _decides(self, step: Step[Any]) -> Procedures | None:
        """The procedures for a step: those it was decided by, if they are not replaced here."""
        if is_variant(step.version) and step.procedure not in self._procedures.replaced:
            return None if self._variants is None else self._variants(step.procedure, step.version)
        return self._procedures

    async def _subscriber(self, aggregate: str, version: int) -> Subscriber | None:
        if not version or aggregate.startswith(UNIDENTIFIED):
            return None
        found = await self._subscribers.get(aggregate.removeprefix("ue/"), version)
        return None if found is None else found.subscriber

    async def state_is_the_fold(self, aggregate: str) -> bool:
        """Whether reading by snapshot gives the state that all the steps fold to."""
        kind = kind_of(aggregate)
        state = kind.new()
        async for step in self._log.steps(aggregate):
            for event in step.events:
                state = kind.evolve(state, event)
        (read,) = await self._log.load([aggregate])
        return encode(read.state) == encode(state)


async def all_aggregates(events: EventLog, prefix: str = "") -> AsyncIterator[tuple[str, int]]:
    """The names and heads of all aggregates, in the order of their names."""
    after = ""
    while page := await events.engine.aggregates(prefix, after):
        for name, head in page:
            yield name, head
        after = page[-1][0]
