"""The contract of `Engine.remove`, on every engine."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statestore.contract import Append, Conflict, Engine, IndexKey, Removal
from tests.statestore import backends
from tests.statestore.backends import Backend, DoubleBackend
from tests.statestore.fdb_double_cluster import Fault
from tests.statestore.steps import NGAP, OK, OTHER, TMSI, UE, follow, step, steps, stored

LATER = "ue/imsi-001010000000009"
KEY = f"key of {UE}".encode()
GONE = Removal(UE, 3, KEY, (NGAP, TMSI))


async def _begin(engine: Engine) -> None:
    """Append three steps of an aggregate, and steps of others before and after them."""
    await engine.append([step(OTHER, 1), step(UE, 1, put=[NGAP, TMSI]), step(UE, 2, snapshot=b"s")])
    await engine.append([step(UE, 3), step(LATER, 1), step(OTHER, 2)])


async def test_a_removed_aggregate_leaves_nothing(engine: Engine):
    await _begin(engine)
    assert await engine.remove([GONE]) == [True]
    assert await stored(engine, UE) == []
    assert await engine.load([UE]) == [None]
    assert await engine.data_key(UE) is None
    assert await engine.processed(UE, "t1") is None
    assert await engine.owners([NGAP, TMSI]) == [None, None]
    assert await engine.scan("ngap", "") == []
    assert await engine.aggregates() == [(OTHER, 2), (LATER, 1)]
    assert [(e.aggregate, e.seq) for e in await follow(engine)] == [
        (OTHER, 1),
        (LATER, 1),
        (OTHER, 2),
    ]


async def test_to_remove_it_again_is_no_error(engine: Engine):
    await _begin(engine)
    assert await engine.remove([GONE]) == [True]
    assert await engine.remove([GONE, Removal("ue/never", 1, b"")]) == [True, True]


async def test_one_with_a_later_step_stays(engine: Engine):
    await _begin(engine)
    await engine.append([step(UE, 4), step(OTHER, 3)])
    assert await engine.remove([GONE]) == [False]
    assert await stored(engine, UE) == [1, 2, 3, 4]
    assert await engine.owners([NGAP, TMSI]) == [UE, UE]


async def test_one_that_has_begun_again_stays(engine: Engine):
    """It has as many steps as the one that was read, but another data key."""
    await _begin(engine)
    assert await engine.remove([Removal(UE, 3, b"another key")]) == [False]
    assert await stored(engine, UE) == [1, 2, 3]


async def test_an_entry_of_another_aggregate_stays(engine: Engine):
    await _begin(engine)
    await engine.append([step(OTHER, 3, put=[NGAP], take_from=UE)])
    assert await engine.remove([GONE]) == [True]
    assert await engine.owners([NGAP, TMSI]) == [OTHER, None]


async def test_the_last_step_of_the_feed_stays(engine: Engine):
    """A reader stands behind it, and must not miss the next step."""
    await engine.append([step(OTHER, 1), *steps(UE, 1, 3)])
    end = await engine.feed_end()
    assert await engine.remove([Removal(UE, 3, KEY)]) == [False]
    assert await engine.feed_end() == end
    await engine.append([step(OTHER, 2), step(LATER, 1)])
    assert await engine.remove([Removal(UE, 3, KEY)]) == [True]
    assert [(e.aggregate, e.seq) for e in await engine.feed(end)] == [(OTHER, 2), (LATER, 1)]


async def test_a_reader_goes_on_behind_removed_steps(engine: Engine):
    await _begin(engine)
    cursors = [entry.cursor for entry in await engine.feed()]
    assert await engine.remove([GONE]) == [True]
    await engine.append([step(OTHER, 3)])
    left = [[(e.aggregate, e.seq) for e in await engine.feed(after)] for after in cursors]
    tail = [(LATER, 1), (OTHER, 2), (OTHER, 3)]
    assert left == [tail, tail, tail, tail, tail[1:], tail[2:]]


async def test_it_begins_again(engine: Engine):
    """With the same trigger as before, and another data key."""
    await _begin(engine)
    await engine.remove([GONE])
    fresh = Append(UE, 1, "t1", b"again", b"fresh key", put=(NGAP,))
    assert await engine.append([fresh]) == [OK]
    assert await stored(engine, UE) == [1]
    assert await engine.data_key(UE) == b"fresh key"
    assert await engine.owners([NGAP]) == [UE]
    assert [(e.aggregate, e.seq) for e in await follow(engine)][-1] == (UE, 1)


async def test_a_step_for_the_removed_one_is_a_conflict(engine: Engine):
    """A worker has the removed aggregate in its cache. The new one has as many steps by now."""
    await _begin(engine)
    await engine.remove([GONE])
    new = [Append(UE, seq, f"n{seq}", b"new", b"fresh key") for seq in (1, 2, 3)]
    assert await engine.append(new) == [OK, OK, OK]
    assert await engine.append([Append(UE, 4, "t4", b"old", KEY)]) == [Conflict(3)]
    assert await engine.append([Append(UE, 4, "n4", b"new", b"fresh key")]) == [OK]


async def test_a_long_body_is_removed_whole(engine: Engine):
    long = os.urandom(250_000)
    await engine.append([step(UE, 1, body=long, snapshot=long), step(OTHER, 1)])
    assert await engine.remove([Removal(UE, 1, KEY)]) == [True]
    await engine.append([step(UE, 1, body=b"short")])
    (loaded,) = await engine.load([UE])
    assert loaded is not None
    assert (loaded.snapshot_seq, [r.body for r in loaded.tail]) == (0, [b"short"])


async def test_no_octet_of_it_is_left_in_foundationdb(double: DoubleBackend):
    engine = await double.open()
    await engine.append([step(OTHER, 1)])
    version = double.cluster.version
    await engine.append([step(UE, 1, put=[NGAP], snapshot=bytes(250_000)), step(OTHER, 2)])
    await engine.remove([Removal(UE, 1, KEY, (NGAP,))])
    left = double.cluster.keys_in(b"", b"\xff")
    of_ue = [k for k in left if UE.encode() in k or NGAP.key.encode() in k]
    assert not [k for k in of_ue if double.cluster.value_at(k, 1 << 60) is not None]
    values = [double.cluster.value_at(k, 1 << 60) or b"" for k in left]
    assert not [v for v in values if UE.encode() in v]
    assert double.cluster.version > version
    await engine.close()


@pytest.mark.parametrize("fault", [Fault.UNKNOWN_APPLIED, Fault.UNKNOWN_LOST, Fault.LATE])
async def test_an_unknown_result_is_resolved(double: DoubleBackend, fault: Fault):
    engine = await double.open()
    await _begin(engine)
    double.cluster.faults = iter([fault])
    assert await engine.remove([GONE]) == [True]
    assert await stored(engine, UE) == []
    await engine.close()


async def test_a_step_that_comes_meanwhile_wins(double: DoubleBackend):
    engine, other = await double.open(), await double.open()
    await _begin(engine)

    raced = await asyncio.gather(engine.remove([GONE]), other.append([step(UE, 4)]))
    numbers = await stored(engine, UE)
    assert (raced, numbers) in (
        ([[True], [Conflict(0)]], []),
        ([[False], [OK]], [1, 2, 3, 4]),
    )
    await engine.close()
    await other.close()


# Any order of steps and removals

NAMES = ["ue/a", "ue/b", "gnb/c"]
ENTRY = IndexKey("stranger", "1")
actions = st.lists(st.tuples(st.sampled_from(["append", "remove"]), st.sampled_from(NAMES)))


async def _run(backend: Backend, done: list[tuple[str, str]]) -> None:
    engine = await backend.open()
    heads, lives = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    order: list[tuple[str, int, bytes]] = []
    read: list[bytes] = []
    cursor = b""
    for number, (what, name) in enumerate(done):
        key = f"{name} {lives[name]}".encode()
        if what == "append":
            heads[name] += 1
            body = f"{number}".encode()
            told = Append(name, heads[name], f"t{number}", body, key)
            assert await engine.append([told]) == [OK]
            order.append((name, heads[name], body))
        else:
            (gone,) = await engine.remove([Removal(name, heads[name], key)])
            last = bool(order) and order[-1][0] == name
            assert not (gone and last and heads[name])
            if gone and heads[name]:
                order = [one for one in order if one[0] != name]
                heads[name], lives[name] = 0, lives[name] + 1
        if number % 3 == 0:
            entries = await engine.feed(cursor)
            read += [entry.body for entry in entries]
            cursor = entries[-1].cursor if entries else cursor
    read += [entry.body for entry in await engine.feed(cursor)]
    assert len(set(read)) == len(read), "a reader gets no step twice"
    assert {body for _, _, body in order} <= set(read), "and misses none that is left"
    assert [(e.aggregate, e.seq, e.body) for e in await follow(engine)] == order
    assert dict(await engine.aggregates()) == {n: h for n, h in heads.items() if h}
    await engine.close()
    await backend.close()


@pytest.mark.parametrize("name", ["sqlite", "fdb-double"])
@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(done=actions)
def test_readers_of_the_feed_miss_nothing(name: str, done: list[tuple[str, str]]):
    with TemporaryDirectory() as directory:
        asyncio.run(_run(backends.make(name, Path(directory)), done))
