"""Each trigger of a recorded run is delivered twice and out of order: the log has each once.

The second core gets the recorded time and entropy of each decision, so that its log must be equal
to the first log, octet for octet.
"""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evcore import population as populations
from evcore.local.broker import Broker
from evcore.local.data import DataDirectory
from evcore.local.lag import wait_until_idle
from evcore.logs.access import opened
from eventing.jetstream.connection import connected
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import ensure
from functions.decision.env import ENTROPY_OCTETS
from functions.runtime.opening import worker_config
from functions.runtime.replay import all_aggregates
from functions.runtime.resolve import connection_of
from functions.runtime.worker import Worker
from loadgen import Population, Procedure, run
from schemas.aggregates import UNIDENTIFIED
from schemas.cloudevents import CloudEvent, EventType
from schemas.config import reading as configuration
from schemas.network import Congestion, Timers
from schemas.procedures import Procedure as Hosted
from schemas.step import Step, encode
from statestore.log import EventLog
from tests.servers import nats_server, site

pytestmark = pytest.mark.slow

UNHURRIED = Timers(t3550=3600, t3560=3600, t3570=3600, ng_release=3600)
"""Seconds so long that no timer expires in either core. The second core has the times of the first,
and an expiry there would add a step."""

UNLIMITED = Congestion(after=0)
"""On a slow machine one of the cores would put UEs off, and the other one would not."""

History = dict[str, list[Step[Any]]]


async def history(data: DataDirectory) -> tuple[History, dict[str, bytes]]:
    """Return the steps and the folded state of every aggregate."""
    steps: History = {}
    states: dict[str, bytes] = {}
    async with opened(data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log)]
        for aggregate in await access.log.load(names):
            states[aggregate.name] = encode(aggregate.state)
            steps[aggregate.name] = [s async for s in access.log.steps(aggregate.name)]
    return steps, states


def from_outside(event: CloudEvent) -> bool:
    return event.source.startswith("/n2/")


class Wave(NamedTuple):
    """Events that can be in flight at the same time, and the heads after them."""

    events: list[CloudEvent]
    heads: dict[str, int]


def chains(recorded: History) -> Iterator[list[tuple[str, Step[Any]]]]:
    """Return the steps of each UE and each RAN node in the order of the decisions.

    The steps of an unidentified UE are in the chain of the identified UE, before the step that
    took its connection over.
    """
    unknown = {
        event.partitionkey: name
        for name, steps in recorded.items()
        if name.startswith(UNIDENTIFIED)
        for event in (step.trigger for step in steps)
        if event.partitionkey.startswith("ngap-")
    }
    for name, steps in recorded.items():
        if name in unknown.values():
            continue
        chain: list[tuple[str, Step[Any]]] = []
        for step in steps:
            if step.trigger.type == EventType.IDENTIFIED:
                before = unknown[connection_of(step.trigger).key]
                chain.extend((before, s) for s in recorded[before])
            chain.append((name, step))
        yield chain


def waves(recorded: History) -> list[Wave]:
    """Return the external events of a recorded run, one wave for each stretch of a connection.

    A UE has one stretch in a wave, because it waits for the answer after it opens a connection.
    All messages after the first of a connection are one stretch. The RAN nodes come first, and
    their associations end last.
    """
    found: list[Wave] = [Wave([], {})]
    last = Wave([], {})
    for chain in chains(recorded):
        number, stretch = 0, ""
        for name, step in chain:
            event = step.trigger
            part = event.partitionkey if event.partitionkey.startswith("ngap-") else event.id
            if from_outside(event) and part != stretch:
                number, stretch = number + 1, part
            if name.startswith("gnb/"):
                wave = found[0] if number == 1 else last
            else:
                found.extend(Wave([], {}) for _ in range(len(found), number + 1))
                wave = found[number]
            if from_outside(event):
                wave.events.append(event)
            wave.heads[name] = step.seq
    return [*found, last]


def twice(events: list[CloudEvent], rng: random.Random) -> Iterator[tuple[CloudEvent, bool]]:
    """Return each event twice, with a flag for the second time, which is in random order.

    The first times are in order: the stream has the events of a UE as the gateway read them.
    """
    places = rng.sample([*range(len(events))] * 2, len(events) * 2)
    first = {place: number for number, place in enumerate(dict.fromkeys(places))}
    seen: set[int] = set()
    for place in places:
        yield events[first[place]], place in seen
        seen.add(place)


async def reached(log: EventLog, heads: dict[str, int]) -> None:
    """Wait until the aggregates have these numbers of steps."""
    missing: dict[str, tuple[int, int]] = {}
    try:
        async with asyncio.timeout(60):
            while True:
                now = {name: head async for name, head in all_aggregates(log)}
                found = {name: (now.get(name, 0), head) for name, head in heads.items()}
                missing = {name: (has, head) for name, (has, head) in found.items() if has < head}
                if not missing:
                    return
                await asyncio.sleep(0.05)  # the worker appends the steps
    except TimeoutError:
        pytest.fail(f"steps are missing (aggregate: has, should have): {missing}")


async def replayed(broker: Broker, data: DataDirectory, recorded: History) -> None:
    """Send the events of a run to a new core in `data`, with the recorded time and entropy."""
    drawn = {s.trigger.id: (s.at, s.entropy) for own in recorded.values() for s in own}

    def draw(event: CloudEvent) -> tuple[int, bytes]:
        return drawn.get(event.id, (0, bytes(ENTROPY_OCTETS)))

    rng = random.Random(1)
    config = configuration.load(data.config_file)
    settings = worker_config(config, data.prepare(), tuple(Hosted))
    async with connected(broker.url, "test") as client, opened(data.root) as access:
        await ensure(client, settings.bus)
        worker = Worker(settings, client, access.log, access.subscribers, draw)
        working = asyncio.ensure_future(worker.run())
        publisher = Publisher(client, settings.bus.partitions)
        await publisher.start()
        for wave in waves(recorded):
            for event, again in twice(wave.events, rng):
                await publisher.publish([publisher.outgoing(event, repeated=again)])
            await reached(access.log, wave.heads)
        await wait_until_idle(client)
        worker.stop()
        await working


async def test_each_trigger_twice_with_its_copies_out_of_order(tmp_path: Path) -> None:
    programme = (Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER)
    first = site(tmp_path / "first", 30, timers=UNHURRIED, congestion=UNLIMITED)
    async with first as it:
        report = await run(it.load(programme=programme, identities=("stored", "unknown-guti")))
        assert report.ok, report.violations
        await it.settled()
    steps, states = await history(it.data)

    second = DataDirectory(tmp_path / "second")
    second.root.mkdir()
    second.secrets_file.write_bytes(it.data.secrets_file.read_bytes())
    population = Population(
        count=30, schemes=("null", "A", "B"), home_keys=populations.home_keys(second.prepare())
    )
    await populations.provision(second.root, population)
    async with nats_server(tmp_path / "broker") as broker:
        second.write_config(it.core.config)
        await replayed(broker, second, steps)

    again, folded = await history(second)
    assert again.keys() == steps.keys()
    for name, own in steps.items():
        assert [s.trigger.id for s in again[name]] == [s.trigger.id for s in own], name
        assert [encode(s) for s in again[name]] == [encode(s) for s in own], name
    assert folded == states
