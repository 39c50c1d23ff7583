"""The event log: appends per second, and reading a long log."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from bench.figures import Figure, Row
from functions.runtime.replay import Replayer
from schemas.aggregates import kind_of
from schemas.step import Step
from statestore.contract import Append, Appended, Engine
from statestore.log import EventLog
from statestore.open import open_store
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault
from tests.functions.world import NETWORK, World
from tests.histories.scenarios import at_a_gnb

BATCHES: Final = (1, 16, 64)
LONG: Final = 10_000
"""Steps of the log that is read."""


def life(length: int = LONG) -> tuple[World, list[Step[Any]]]:
    """Return the steps of a UE that registers and deregisters until its log has `length` steps."""
    phone = at_a_gnb()
    world = phone.world
    while len(world.steps["ue/" + phone.supi]) < length:
        phone.register()
        phone.say(phone.deregistration())
        phone.ngap("UEContextReleaseComplete")
    return world, world.steps["ue/" + phone.supi][:length]


async def rows(folder: Path, url: str, runs: int = 5) -> AsyncIterator[Row]:
    """Measure the appends per second by batch size, then reading a long log, of one engine."""
    world, steps = life()
    engine = await open_store(url.format(folder=folder))
    name = url.partition(":")[0]
    try:
        events = EventLog(engine, Vault(bytes(32)))
        for batch in BATCHES:
            found = [await _appends(engine, events, steps, batch, run) for run in range(runs)]
            yield Row(
                "log", f"{name}: steps appended, {batch} a transaction", "1/s", Figure.of(found)
            )
        async for row in _reading(engine, events, world, steps, name, runs):
            yield row
    finally:
        await engine.close()


async def _appends(
    engine: Engine, events: EventLog, steps: list[Step[Any]], batch: int, run: int
) -> float:
    """Return the steps per second of appending the first steps of `batch` UEs at a time, for about
    a second."""
    done, begun, number = 0, time.perf_counter(), 0
    while time.perf_counter() - begun < 1.0:
        names = [f"ue/bench-{batch}-{run}-{number}-{one}" for one in range(batch)]
        aggregates = [(await events.load([one]))[0] for one in names]
        number += 1
        for step in steps[:8]:
            entries: list[Append] = []
            for aggregate in aggregates:
                before = aggregate.state
                aggregate.apply(step)
                entry = EventLog.entry(aggregate, step, before)
                entries.append(replace(entry, put=(), drop=()))
            outcomes = await engine.append(entries)
            if not all(isinstance(outcome, Appended) for outcome in outcomes):
                raise RuntimeError(f"not appended: {outcomes[0]}")
            done += batch
    return done / (time.perf_counter() - begun)


async def _reading(
    engine: Engine,
    events: EventLog,
    world: World,
    steps: list[Step[Any]],
    name: str,
    runs: int,
) -> AsyncIterator[Row]:
    subscribers = SubscriberStore(engine, Vault(bytes(32)))
    await subscribers.put_all(list(world.subscribers.values()))
    version = await events.publish_network(NETWORK)
    steps = [replace(step, network=version) for step in steps]
    owner = next(n for n in world.steps if n.startswith("ue/imsi"))
    (aggregate,) = await events.load([owner])
    for step in steps:
        before = aggregate.state
        aggregate.apply(step)
        await engine.append([EventLog.entry(aggregate, step, before)])
    by_snapshot: list[float] = []
    folded: list[float] = []
    again: list[float] = []
    for _ in range(runs):
        begun = time.perf_counter()
        await events.load([owner])
        by_snapshot.append(1000 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        kind = kind_of(owner)
        state = kind.new()
        async for step in events.steps(owner):
            for event in step.events:
                state = kind.evolve(state, event)
        folded.append(1000 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        different = [
            one async for one in Replayer(events, subscribers).steps(owner) if not one.same
        ]
        if different:
            raise RuntimeError(f"{len(different)} steps are decided differently")
        again.append(1000 * (time.perf_counter() - begun))
    yield Row(
        "log", f"{name}: state of a log of {LONG} steps, by snapshot", "ms", Figure.of(by_snapshot)
    )
    yield Row("log", f"{name}: the same, every step read and folded", "ms", Figure.of(folded))
    yield Row("log", f"{name}: the same, every step decided again", "ms", Figure.of(again))
