"""Reading the feed yields the same events from any start, and with any size of the cache."""

from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from functions.announcer.reader import Reader
from schemas.step import encode
from statestore.contract import Append, Appended, Engine, FeedEntry, StoreDamaged
from statestore.log import EventLog
from statestore.vault import Vault, WrongKeyError
from tests.announcer.told import SOURCE, told
from tests.evcore.recording import played
from tests.statestore.backends import make
from tests.statestore.steps import follow

KEY = bytes(32)


@pytest.fixture(params=["sqlite", "fdb-double"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Engine]:
    backend = make(request.param, tmp_path)
    opened = await backend.open()
    yield opened
    await opened.close()
    await backend.close()


async def stored(engine: Engine) -> list[str]:
    """Store interleaved logs of UEs and nodes. Return the ids of their domain events."""
    log = EventLog(engine, Vault(KEY))
    lives = [[(f"{name}-{n}", step) for name, step in played().order] for n in range(3)]
    random = Random(3)
    ids: list[str] = []
    expected = {one.event.id: None for life in lives for one in told(life)}
    while any(lives):
        name, step = random.choice([life for life in lives if life]).pop(0)
        (aggregate,) = await log.load([name])
        before = aggregate.state
        aggregate.apply(step)
        entry = replace(log.entry(aggregate, step, before), put=(), drop=())
        assert await engine.append([entry]) == [Appended()]
        prefix = f"{name}/{step.seq}/"
        ids += [one for one in expected if one.startswith(prefix)]
    return ids


async def read(engine: Engine, entries: list[FeedEntry], page: int, kept: int) -> list[str]:
    reader = Reader(EventLog(engine, Vault(KEY)), SOURCE, kept)
    found: list[str] = []
    for start in range(0, len(entries), page):
        for _, events in await reader.read(entries[start : start + page]):
            found += [event.id for event in events]
    return found


async def test_the_same_is_told_however_it_is_read(engine: Engine) -> None:
    ids = await stored(engine)
    entries = await follow(engine)
    for page, kept in ((1, 1), (1, 100), (7, 2), (50, 3), (1000, 1), (1000, 1000)):
        assert await read(engine, entries, page, kept) == ids
    for begin in range(0, len(entries), 5):
        rest = await read(engine, await follow(engine, entries[begin].cursor), 16, 4)
        assert rest == ids[len(ids) - len(rest) :]


async def test_entries_that_were_read_may_be_read_again(engine: Engine) -> None:
    await stored(engine)
    entries = await engine.feed(b"", 40)
    reader = Reader(EventLog(engine, Vault(KEY)), SOURCE)
    once = await reader.read(entries)
    assert await reader.read(entries) == once


async def test_another_master_key_ends_it(engine: Engine) -> None:
    await stored(engine)
    reader = Reader(EventLog(engine, Vault(bytes(range(32)))), SOURCE)
    with pytest.raises(WrongKeyError):
        await reader.read(await engine.feed())


async def test_a_damaged_step_does_not_stop_the_others(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    ids = await stored(engine)
    name = "ue/imsi-001010000000002-1"
    ((_, head),) = await engine.aggregates(name)
    changed = Append(name, head + 1, "changed", b"not as it was sealed" * 9)
    assert await engine.append([changed]) == [Appended()]
    entries = await follow(engine)
    for page in (1, 7, 1000):
        assert await read(engine, entries, page, 100) == ids
    problem = f"step {head + 1} of {name} is damaged: it was changed after it was sealed"
    assert f"{problem}; its domain events are not sent" in caplog.messages
    # Its state is not known any more.
    last = Append(name, head + 2, "last", changed.body)
    assert await engine.append([last]) == [Appended()]
    assert await read(engine, await follow(engine), 1, 100) == ids


async def test_a_step_of_a_later_version_is_not_passed_over(engine: Engine) -> None:
    """This version cannot translate the step: a version that knows it continues."""
    await stored(engine)
    log = EventLog(engine, Vault(KEY))
    ((name, head),) = await engine.aggregates("ue/imsi-001010000000002-1")
    at, last = await log.at(name, head), await log.step(name, head)
    tree = msgspec.msgpack.decode(encode(last))
    tree |= {"seq": head + 1, "code": "0.9.0", "events": [{"event": "Weighed"}]}
    body = at.sealer.seal("step", head + 1, encode(tree))
    assert await engine.append([Append(name, head + 1, "later", body)]) == [Appended()]
    with pytest.raises(StoreDamaged, match=r"code 0\.9\.0 wrote the event Weighed"):
        await Reader(log, SOURCE).read(await engine.feed())
