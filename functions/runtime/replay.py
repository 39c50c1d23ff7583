"""Deciding recorded steps again, to verify a log or to try a new version."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from functions.decider import Forward, Inputs, decide
from functions.runtime.code import this_code
from functions.runtime.pure import pure
from functions.runtime.variants import Variant
from functions.ue.dispatch import Procedures
from schemas.aggregates import UNIDENTIFIED, kind_of
from schemas.cloudevents import CloudEvent
from schemas.code import Code
from schemas.identity import SNssai, Tai
from schemas.lookups import (
    AddressLookup,
    AssociationLookup,
    CongestionLookup,
    FeaturesLookup,
    IpVersion,
    Lookup,
    RoomLookup,
    SlicesLookup,
    UpfsLookup,
    UsableUpf,
)
from schemas.network import Network, TrackingArea
from schemas.step import Step, encode
from schemas.subscriber import Subscriber
from statestore.log import EventLog
from statestore.subscribers import SubscriberStore

_L = TypeVar("_L", bound=Lookup)

Decide: TypeAlias = Callable[[Any, int, CloudEvent, Inputs], Step[Any] | Forward | None]
"""Returns the step number N of an aggregate, from its state and an event."""


def this_release() -> Decide:
    """Return the decisions of this release, with all modules imported."""
    procedures = Procedures(code=this_code().id)
    procedures.load()
    return partial(decide, procedures)


class RecordedLookups:
    """Returns the lookup results in a step, each once and in order, for the same lookups.

    A lookup that is not in the step, or not as often, has no result.
    """

    def __init__(self, step: Step[Any]) -> None:
        self._left = list(step.lookups)

    def usable_upfs(self) -> tuple[UsableUpf, ...]:
        """See `Lookups.usable_upfs`."""
        found = self._next(UpfsLookup)
        return found.upfs if found is not None else ()

    def upf_features(self, upf: str) -> tuple[str, ...]:
        """See `Lookups.upf_features`."""
        found = self._next(FeaturesLookup, upf=upf)
        return found.features if found is not None else ()

    def free_address(self, dnn: str, upf: str, ip_version: IpVersion) -> str:
        """See `Lookups.free_address`."""
        found = self._next(AddressLookup, dnn=dnn, upf=upf, ip_version=ip_version)
        return found.address if found is not None else ""

    def association(self, tai: Tai, gnb: str) -> str:
        """See `Lookups.association`."""
        found = self._next(AssociationLookup, tai=tai, gnb=gnb)
        return found.association if found is not None else ""

    def lacking_slices(self, area: TrackingArea, gnb: str, association: str) -> tuple[SNssai, ...]:
        """See `Lookups.lacking_slices`."""
        del association
        found = self._next(SlicesLookup, tai=area.tai, gnb=gnb)
        return found.lacking if found is not None else ()

    def back_off(self) -> int:
        """See `Lookups.back_off`."""
        found = self._next(CongestionLookup)
        return found.seconds if found is not None else 0

    def lack_of_room(self) -> int:
        """See `Lookups.lack_of_room`."""
        found = self._next(RoomLookup)
        return found.seconds if found is not None else 0

    def _next(self, kind: type[_L], **asked: object) -> _L | None:
        for index, found in enumerate(self._left):
            if isinstance(found, kind) and all(getattr(found, k) == v for k, v in asked.items()):
                del self._left[index]
                return found
        return None


def recorded_inputs(step: Step[Any], network: Network, subscriber: Subscriber | None) -> Inputs:
    """Return the inputs of the decision that made a step, with the documents that it names."""
    return Inputs(
        now=step.at,
        entropy=step.entropy,
        network=network,
        network_version=step.network,
        subscriber=subscriber,
        subscription=step.subscription,
        flags=step.flags,
        lookups=RecordedLookups(step),
        poisoned=step.poisoned,
    )


class Redecided(Struct, frozen=True):
    """One recorded step, and the decision about its trigger by other code."""

    aggregate: str
    recorded: Step[Any]
    now: Step[Any] | None
    """None if the decision has no step, or fails."""
    before: Any
    """The state that both were decided in: the fold of the recorded events."""
    error: str = ""
    """The error of a failed decision; empty if it did not fail."""
    elsewhere: bool = False
    """Whether the step was not decided again, because its variant is not available."""

    @property
    def same(self) -> bool:
        """Whether procedure, events and outputs are the same, octet by octet."""
        now, recorded = self.now, self.recorded
        return (
            now is not None
            and now.procedure == recorded.procedure
            and encode(now.events) == encode(recorded.events)
            and encode(now.outputs) == encode(recorded.outputs)
        )


class Replayer:
    """Decides the steps of aggregates again, each with the code that decided it, if that is
    available.

    A `candidate` decides every step instead. `variants` returns the variant with an id; None if it
    is not available. A step of another release is decided by this one.
    """

    def __init__(
        self,
        events: EventLog,
        subscribers: SubscriberStore,
        candidate: Decide | None = None,
        variants: Callable[[str], Variant | None] = lambda _: None,
    ) -> None:
        self._log = events
        self._subscribers = subscribers
        self._candidate = candidate
        self._variants = variants
        self._own = this_release()
        self.codes: dict[str, Code | None] = {}
        """The code of every step so far, by its id; None if the log does not have it."""

    async def steps(self, aggregate: str) -> AsyncIterator[Redecided]:
        """Yield every step of an aggregate, decided again in the recorded state before it."""
        kind = kind_of(aggregate)
        state = kind.new()
        async for step in self._log.steps(aggregate):
            yield await self._again(aggregate, state, step)
            for event in step.events:
                state = kind.evolve(state, event)

    async def _again(self, aggregate: str, state: Any, step: Step[Any]) -> Redecided:
        decide = await self._decides(step)
        if decide is None:
            why = f"decided by {self.decided_by(step.code)}, which is not here"
            return Redecided(aggregate, step, None, state, why, elsewhere=True)
        network = await self._log.network(step.network)
        given = recorded_inputs(step, network, await self._subscriber(aggregate, step.subscription))
        try:
            with pure():
                now = decide(state, step.seq, step.trigger, given)
        except Exception as err:
            return Redecided(aggregate, step, None, state, f"{type(err).__name__}: {err}")
        if isinstance(now, Forward):
            return Redecided(aggregate, step, None, state, f"forwarded to {now.procedure}")
        return Redecided(aggregate, step, now, state)

    async def _decides(self, step: Step[Any]) -> Decide | None:
        """Return the code for a step; None if its variant is not available."""
        code = await self._code(step.code)
        if self._candidate is not None:
            return self._candidate
        if code is None or not code.variant:
            return self._own
        variant = self._variants(code.id)
        return None if variant is None else variant.decide

    async def _code(self, identifier: str) -> Code | None:
        if identifier not in self.codes:
            self.codes[identifier] = await self._log.code(identifier)
        return self.codes[identifier]

    def decided_by(self, identifier: str) -> str:
        """Return the name of the code of a step, such as ``"0.1.0 (3f2a9c01)"``."""
        return str(self.codes.get(identifier) or f"unknown code ({identifier})")

    async def _subscriber(self, aggregate: str, version: int) -> Subscriber | None:
        if not version or aggregate.startswith(UNIDENTIFIED):
            return None
        found = await self._subscribers.get(aggregate.removeprefix("ue/"), version)
        return None if found is None else found.subscriber

    async def state_is_the_fold(self, aggregate: str) -> bool:
        """Whether reading by snapshot gives the same state as the fold of all steps."""
        kind = kind_of(aggregate)
        state = kind.new()
        async for step in self._log.steps(aggregate):
            for event in step.events:
                state = kind.evolve(state, event)
        (read,) = await self._log.load([aggregate])
        return encode(read.state) == encode(state)


async def all_aggregates(events: EventLog, prefix: str = "") -> AsyncIterator[tuple[str, int]]:
    """Yield the names and heads of all aggregates, in the order of their names."""
    after = ""
    while page := await events.engine.aggregates(prefix, after):
        for name, head in page:
            yield name, head
        after = page[-1][0]
