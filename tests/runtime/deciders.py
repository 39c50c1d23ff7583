"""Deciders on one store without a bus: the work of workers on a batch of events."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from eventing.jetstream.delivery import Delivery
from eventing.jetstream.earlier import Waiting
from eventing.jetstream.messages import Outgoing, outgoing
from functions.gmm import identification
from functions.runtime.cache import Subscriptions
from functions.runtime.effects import Effects
from functions.runtime.hosting import Hosted
from functions.runtime.job import Job, parse
from functions.runtime.round import Decider, Round
from schemas.cloudevents import CloudEvent, EventType
from schemas.network import Network
from schemas.procedures import Procedure
from schemas.step import Step
from statestore.contract import StoreUnavailable
from tests.functions.world import HOME_KEYS, NETWORK
from tests.runtime.script import Script
from tests.runtime.store import Store

PARTITIONS = 2


async def nothing_earlier(waiting: Sequence[Waiting]) -> list[bool]:
    """Answer as `EarlierEvents.none_earlier` for a stream without other events."""
    return [True for _ in waiting]


async def always_earlier(waiting: Sequence[Waiting]) -> list[bool]:
    return [False for _ in waiting]


async def decider(
    store: Store,
    script: Script,
    hosted: Hosted | None = None,
    *,
    network: Network = NETWORK,
    **more: Any,
) -> Decider:
    version = await store.log.publish_network(network)
    subscriptions = Subscriptions(store.subscribers)
    values: dict[str, Any] = {"draw": script.draw, **more}
    return Decider(store.log, hosted or Hosted(), subscriptions, network, version, **values)


def job(event: CloudEvent, deliveries: int = 1) -> Job:
    return _job(outgoing(event, PARTITIONS), deliveries)


def _job(message: Outgoing, deliveries: int) -> Job:
    subject, data, headers = message
    delivery = Delivery(subject, data, headers, "", deliveries, "")
    return Job(delivery, parse(delivery), 0.0)


def jobs(events: Iterable[CloudEvent]) -> list[Job]:
    return [job(event) for event in events]


def first_in_the_stream(some: Sequence[Job]) -> Sequence[Job]:
    """Return jobs for which the stream has no earlier event."""
    for one in some:
        one.has_turn = True
    return some


def ids(some: Sequence[Job | tuple[Job, Any]]) -> list[str]:
    """Return the event ids of jobs or of their results."""
    return [(one[0] if isinstance(one, tuple) else one).event.id for one in some]


class Bench:
    """Gives events to a decider one by one, followed by the events that its steps hand on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._effects = Effects(store.log, PARTITIONS)

    async def take(self, decider: Decider, event: CloudEvent) -> None:
        """Decide an event and all events that follow from it, each until it is appended."""
        todo, rounds = deque(jobs([event])), 0
        while todo:
            rounds += 1
            assert rounds < 50, event
            one = todo.popleft()
            if one.event.type == EventType.FAN_OUT:
                page = await self._effects.page(one.event, 0.0)
                todo.extend(_job(message, 1) for message in page.messages)
                continue
            if one.event.procedure == Procedure.IDENTIFICATION:
                todo.append(job(identification.decide(one.event, HOME_KEYS)))
                continue
            try:
                done = await decider.run([one])
            except StoreUnavailable:
                one.repeated = True
                todo.append(one)
                continue
            assert (done.failed, done.forward) == ([], [])
            for early in first_in_the_stream(done.early):
                decider.cache.drop(early.aggregate)
            todo.extend([*done.conflicts, *done.early, *self._moved(done)])
            for by, step in done.appended:
                todo.extend(self._handed_on(by, step))
            for by, seq in done.duplicate:
                step = await self._store.log.step(by.aggregate, seq)
                assert step is not None
                todo.extend(self._handed_on(by, step))

    @staticmethod
    def _moved(done: Round) -> list[Job]:
        return [job(replace(one.event, slot=slot)) for one, slot in done.moved]

    def _handed_on(self, by: Job, step: Step[Any]) -> list[Job]:
        queued = self._effects.queued(by.aggregate, step)
        return [_job(message, 1) for message in queued if message.subject.startswith("ue.")]
