"""The contract of reading: loads, reads, indexes and listings, on every engine."""

import time

import pytest

from statestore.contract import Append, Engine, IndexKey, Loaded, Record, StoreError
from tests.statestore.backends import Backend
from tests.statestore.steps import OK, OTHER, UE, step, steps

UNICODE = [
    "",
    "a",
    "aa",
    "a\0",
    "a\0b",
    "aÿ",
    "b",
    "é",
    "ü",
    "\ud7ff",
    "\ue000",
    "€",
    "😀",
    "\U0010ffff",
]


async def test_an_empty_store_has_nothing(engine: Engine):
    assert await engine.load([UE, OTHER]) == [None, None]
    assert await engine.load([]) == []
    assert await engine.read(UE) == []
    assert await engine.data_key(UE) is None
    assert await engine.processed(UE, "a") is None
    assert await engine.owners([]) == []
    assert await engine.owners([IndexKey("a", "b")]) == [None]
    assert await engine.scan("tmsi", "") == []
    assert await engine.aggregates() == []
    assert await engine.feed() == []
    assert await engine.get_document("a") is None
    assert await engine.documents() == []


async def test_load_without_a_snapshot_has_all_steps(engine: Engine):
    await engine.append([*steps(UE, 1, 3), step(OTHER, 1)])
    tail = tuple(Record(s.seq, s.body) for s in steps(UE, 1, 3))
    loaded = await engine.load([OTHER, "ue/none", UE, UE])
    expected = Loaded(3, f"key of {UE}".encode(), 0, b"", tail)
    assert loaded[1:] == [None, expected, expected]
    assert loaded[0] is not None
    assert loaded[0].head == 1


async def test_a_snapshot_and_the_tail_equal_a_full_replay(engine: Engine):
    # The state of this "aggregate" is the concatenation of all bodies.
    said: list[bytes] = []
    for seq in range(1, 31):
        made = step(UE, seq)
        said.append(made.body)
        if seq % 7 == 0:
            made = step(UE, seq, snapshot=b"|".join(said))
        assert await engine.append([made]) == [OK]
        (loaded,) = await engine.load([UE])
        assert loaded is not None
        assert loaded.head == seq
        assert loaded.snapshot_seq == seq // 7 * 7
        assert [r.seq for r in loaded.tail] == list(range(loaded.snapshot_seq + 1, seq + 1))
        start = [loaded.snapshot] if loaded.snapshot_seq else []
        assert b"|".join([*start, *(r.body for r in loaded.tail)]) == b"|".join(said)
    # A snapshot removes no history.
    assert b"|".join(r.body for r in await engine.read(UE)) == b"|".join(said)


async def test_the_last_snapshot_of_a_batch_counts(engine: Engine):
    await engine.append(
        [step(UE, 1, snapshot=b"one" * 90_000), step(UE, 2, snapshot=b"two"), step(UE, 3)]
    )
    (loaded,) = await engine.load([UE])
    assert loaded is not None
    assert (loaded.snapshot_seq, loaded.snapshot) == (2, b"two")
    assert [r.seq for r in loaded.tail] == [3]


async def test_a_snapshot_of_the_last_step_leaves_no_tail(engine: Engine):
    await engine.append([*steps(UE, 1, 4), step(UE, 5, snapshot=b"state")])
    (loaded,) = await engine.load([UE])
    assert loaded == Loaded(5, f"key of {UE}".encode(), 5, b"state", ())


async def test_read_pages_through_a_log(engine: Engine):
    await engine.append(steps(UE, 1, 25))
    assert [r.seq for r in await engine.read(UE, 0, 10)] == list(range(1, 11))
    assert [r.seq for r in await engine.read(UE, 10, 10)] == list(range(11, 21))
    assert [r.seq for r in await engine.read(UE, 20, 10)] == list(range(21, 26))
    assert await engine.read(UE, 25) == []
    assert await engine.read(UE, 0, 0) == []
    assert len(await engine.read(UE, -1)) == 25
    assert await engine.read(UE, 0, -1) == []


async def test_logs_are_apart(engine: Engine):
    """Names that are prefixes of each other, or contain the terminator of a key element."""
    names = ["a", "a\0", "a\0\0", "a\x01", "a/", "a/b", "aa"]
    await engine.append([step(name, seq) for seq in (1, 2) for name in names])
    for name in names:
        assert [r.body for r in await engine.read(name)] == [step(name, s).body for s in (1, 2)]
        (loaded,) = await engine.load([name])
        assert loaded is not None
        assert len(loaded.tail) == 2
        assert await engine.processed(name, "t2") == 2


async def test_aggregates_are_listed_in_order(engine: Engine):
    names = UNICODE[1:]
    await engine.append([step(name, 1) for name in reversed(names)])
    await engine.append([step("b", 2)])
    assert await engine.aggregates() == [(n, 2 if n == "b" else 1) for n in sorted(names)]


@pytest.mark.parametrize("prefix", UNICODE)
async def test_a_prefix_selects(engine: Engine, prefix: str):
    names = UNICODE[1:]
    await engine.append([step(name, 1, put=[IndexKey("k", name)]) for name in names])
    for name in names:
        await engine.put_document(name, b"x")
    expected = [n for n in sorted(names) if n.startswith(prefix)]
    assert [n for n, _ in await engine.aggregates(prefix)] == expected
    assert [n for n, _ in await engine.documents(prefix)] == expected
    assert await engine.scan("k", prefix) == [(n, n) for n in expected]
    for after in names:
        rest = [n for n in expected if n > after]
        assert [n for n, _ in await engine.aggregates(prefix, after)] == rest
        assert [n for n, _ in await engine.documents(prefix, after, 2)] == rest[:2]
        assert await engine.scan("k", prefix, after, 1) == [(n, n) for n in rest[:1]]


async def test_listings_page(engine: Engine):
    names = [f"gnb/{number:03}" for number in range(120)]
    await engine.append([step(name, 1, put=[IndexKey("tai", name)]) for name in names])
    seen: list[str] = []
    while page := await engine.aggregates("gnb/", seen[-1] if seen else "", 50):
        assert len(page) <= 50
        seen += [name for name, _ in page]
    assert seen == names
    assert await engine.aggregates("gnb/", "", 0) == []
    keys: list[str] = []
    while entries := await engine.scan("tai", "gnb/", keys[-1] if keys else "", 7):
        keys += [key for key, _ in entries]
    assert keys == names


async def test_scan_sees_one_kind(engine: Engine):
    tai = [IndexKey("tai", f"001-01-00000{n}/gnb-{n}") for n in range(3)]
    await engine.append([step(UE, 1, put=[*tai, IndexKey("ta", "x"), IndexKey("taj", "x")])])
    assert [key for key, _ in await engine.scan("tai", "")] == [key for _, key in tai]
    assert [key for key, _ in await engine.scan("tai", "001-01-000001")] == [tai[1].key]


async def test_names_that_are_not_unicode_are_refused(engine: Engine):
    with pytest.raises(StoreError, match="not valid Unicode"):
        await engine.append([Append("ue/\udcff", 1, "a", b"")])
    with pytest.raises(StoreError, match="not valid Unicode"):
        await engine.aggregates("\udcff")
    assert await engine.append([step(UE, 1)]) == [OK]


@pytest.mark.slow
async def test_a_log_of_ten_thousand_steps_loads_within_its_budget(backend: Backend):
    writer = await backend.open()
    body = bytes(1200)
    for first in range(1, 10_001, 1000):
        batch = [step(UE, seq, body=body) for seq in range(first, first + 1000)]
        assert await writer.append(batch) == [OK] * 1000
    reader = await backend.open()
    start = time.perf_counter()
    (loaded,) = await reader.load([UE])
    took = time.perf_counter() - start
    assert loaded is not None
    assert [r.seq for r in loaded.tail] == list(range(1, 10_001))
    # 0.05 s on SQLite, 0.4 s through the double, on an idle machine.
    assert took < 5
    await writer.close()
    await reader.close()
