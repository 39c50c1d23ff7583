"""The contract of the feed, on every engine."""

import asyncio
import random
from itertools import pairwise

import pytest

from statestore.contract import Appended, Conflict, Engine, FeedEntry, StoreError
from tests.statestore.backends import Backend
from tests.statestore.steps import OTHER, UE, follow, step, steps


async def test_the_feed_has_every_step_once(engine: Engine):
    await engine.append([step(UE, 1), step(OTHER, 1), step(UE, 2)])
    await engine.append([step(OTHER, 3), step(OTHER, 2)])
    await engine.append([step(UE, 3)])
    entries = await engine.feed()
    assert [(e.aggregate, e.seq) for e in entries] == [(UE, 1), (OTHER, 1), (UE, 2), (UE, 3)]
    assert [e.body for e in entries] == [step(e.aggregate, e.seq).body for e in entries]


@pytest.mark.parametrize("page", [1, 7, 100, 1000])
async def test_the_feed_resumes_after_any_cursor(engine: Engine, page: int):
    for first in range(1, 101, 20):
        await engine.append([s for name in (UE, OTHER) for s in steps(name, first, first + 19)])
    whole = await engine.feed()
    assert len(whole) == 200
    assert await follow(engine, page=page) == whole
    for at in (0, 1, 99, 198):
        assert await engine.feed(whole[at].cursor) == whole[at + 1 :]
    assert await engine.feed(whole[-1].cursor) == []
    assert await engine.feed(b"", 0) == []


async def test_the_feed_goes_on_after_its_end(engine: Engine):
    await engine.append([step(UE, 1)])
    (first,) = await engine.feed()
    assert await engine.feed(first.cursor) == []
    await engine.append([step(UE, 2)])
    assert [e.seq for e in await engine.feed(first.cursor)] == [2]


async def test_the_end_of_the_feed_is_behind_its_last_step(engine: Engine):
    end = await engine.feed_end()
    assert end == b""
    for seq in range(1, 20):
        await engine.append([step(UE, seq), step(OTHER, seq)])
        end = await engine.feed_end()
        assert end == (await engine.feed())[-1].cursor
        assert await engine.feed(end) == []
    await engine.append([step(UE, 20)])
    assert [e.seq for e in await engine.feed(end)] == [20]


async def test_cursors_order_as_the_feed_does(engine: Engine):
    for seq in range(1, 300):
        await engine.append([step(UE, seq), step(OTHER, seq)])
    entries = await engine.feed()
    assert len(entries) == 598
    assert all(a.cursor < b.cursor for a, b in pairwise(entries))


async def test_a_cursor_of_something_else_is_refused(engine: Engine):
    with pytest.raises(StoreError, match="0102 is not a cursor"):
        await engine.feed(b"\1\2")


async def test_the_feed_is_stable_and_complete_under_concurrent_appends(backend: Backend):
    """Two writers, one delayed with half of its steps, and a reader that never reads back."""
    writers = [await backend.open(), await backend.open()]
    reader = await backend.open()
    names = [f"ue/{number}" for number in range(8)]
    rounds, conflicts = 60, 0

    async def write(engine: Engine, seed: int) -> None:
        nonlocal conflicts
        rng = random.Random(seed)
        heads = dict.fromkeys(names, 0)
        for number in range(rounds):
            some = rng.sample(names, 3)
            batch = [step(name, heads[name] + 1, f"{seed}-{number}") for name in some]
            for name, outcome in zip(some, await engine.append(batch), strict=True):
                if isinstance(outcome, Conflict):
                    conflicts += 1
                    heads[name] = outcome.head
                else:
                    assert isinstance(outcome, Appended)
                    heads[name] += 1
            await asyncio.sleep(0)

    seen: list[FeedEntry] = []
    writing = asyncio.gather(*(write(w, seed) for seed, w in enumerate(writers)))
    while not writing.done():
        seen += await reader.feed(seen[-1].cursor if seen else b"", 5)
        await asyncio.sleep(0)
    await writing
    seen += await follow(reader, seen[-1].cursor)
    assert seen == await follow(writers[0])
    assert conflicts
    assert len(seen) == 2 * rounds * 3 - conflicts
    for name in names:
        told = [e.seq for e in seen if e.aggregate == name]
        assert told == list(range(1, len(told) + 1))
    for engine in (*writers, reader):
        await engine.close()
