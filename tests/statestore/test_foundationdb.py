"""Behaviour of the FoundationDB engine only: unknown results, limits of size and of time."""

import asyncio
import functools
import itertools
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from statestore.contract import (
    Conflict,
    Document,
    Duplicate,
    StoreDamaged,
    StoreError,
    StoreUnavailable,
)
from statestore.foundationdb.engine import FoundationDbEngine
from statestore.foundationdb.keys import Keys, pack_int
from tests.statestore.backends import DoubleBackend
from tests.statestore.fdb_double_cluster import Fault
from tests.statestore.steps import NGAP, OK, OTHER, TMSI, UE, follow, step, steps, stored

UNKNOWN = [Fault.UNKNOWN_APPLIED, Fault.UNKNOWN_LOST, Fault.LATE, Fault.VERY_LATE]


@pytest.fixture
async def fdb(double: DoubleBackend) -> AsyncGenerator[FoundationDbEngine]:
    engine = await double.open()
    yield engine
    await engine.close()


@pytest.mark.parametrize("fault", UNKNOWN)
async def test_an_unknown_commit_of_every_append_is_resolved(
    fdb: FoundationDbEngine, double: DoubleBackend, fault: Fault
):
    double.cluster.faults = itertools.cycle([fault, None])
    for seq in range(1, 21):
        batch = [step(UE, seq, put=[TMSI]), step(OTHER, seq), step("ue/x", 7)]
        assert await fdb.append(batch) == [OK, OK, Conflict(0)]
    double.cluster.faults = iter(())
    assert await stored(fdb, UE) == list(range(1, 21))
    assert await stored(fdb, OTHER) == list(range(1, 21))
    assert len(await follow(fdb)) == 40
    assert await fdb.owners([TMSI]) == [UE]


@pytest.mark.parametrize("first", UNKNOWN)
@pytest.mark.parametrize("second", UNKNOWN)
@pytest.mark.parametrize("third", UNKNOWN)
async def test_unknown_commits_in_a_row_are_resolved(
    fdb: FoundationDbEngine, double: DoubleBackend, first: Fault, second: Fault, third: Fault
):
    double.cluster.faults = iter([first, second, third])
    assert await fdb.append(steps(UE, 1, 3)) == [OK] * 3
    assert await stored(fdb, UE) == [1, 2, 3]


@pytest.mark.parametrize("fault", UNKNOWN)
@pytest.mark.parametrize("same_trigger", [True, False])
async def test_of_two_writers_one_appends_whatever_becomes_of_commits(
    double: DoubleBackend, fault: Fault, *, same_trigger: bool
):
    writers = [await double.open(), await double.open()]
    double.cluster.faults = itertools.cycle([fault, None, fault, Fault.CONFLICT, None])
    for seq in range(1, 30):
        outcomes = await asyncio.gather(
            *(
                writer.append(
                    [step(UE, seq, f"t{seq}" if same_trigger else f"t{seq}-{n}", b"%d" % n)]
                )
                for n, writer in enumerate(writers)
            )
        )
        lost = Duplicate(seq) if same_trigger else Conflict(seq)
        assert sorted(outcomes, key=repr) == sorted([[OK], [lost]], key=repr)
        winner = outcomes.index([OK])
        (record,) = await writers[0].read(UE, seq - 1)
        assert record.body == b"%d" % winner
    assert len(await follow(writers[0])) == 29


async def test_a_late_commit_cannot_undo_what_was_decided_since(
    double: DoubleBackend,
):
    """A commit is running while another writer takes the head. Its writer is told so. When the
    commit arrives, its reads are outdated and it fails."""
    slow, fast = await double.open(), await double.open()
    await fast.append([step(UE, 1)])
    on_its_way = asyncio.Event()
    wake = functools.partial(asyncio.get_running_loop().call_soon_threadsafe, on_its_way.set)

    def faults() -> Iterator[Fault]:
        wake()
        yield Fault.VERY_LATE

    double.cluster.faults = faults()
    appending = asyncio.create_task(slow.append([step(UE, 2, "slow", put=[TMSI])]))
    await on_its_way.wait()
    outcomes = await asyncio.gather(fast.append([step(UE, 2, "fast", put=[NGAP])]), appending)
    assert sorted(map(repr, outcomes)) == ["[Appended()]", "[Conflict(head=2)]"]
    await fast.append([step(OTHER, 1)])
    (record,) = await fast.read(UE, 1)
    assert (await fast.owners([NGAP]) == [UE]) == (outcomes[0] == [OK])
    assert await stored(fast, UE) == [1, 2]
    assert record.seq == 2


@pytest.mark.parametrize("fault", UNKNOWN)
async def test_an_unknown_commit_of_a_document_adds_one_version(
    fdb: FoundationDbEngine, double: DoubleBackend, fault: Fault
):
    other = await double.open()
    double.cluster.faults = itertools.cycle([fault, None])
    for number in range(6):
        versions = await asyncio.gather(
            fdb.put_document("a", b"fdb %d" % number), other.put_document("a", b"other %d" % number)
        )
        assert sorted(versions) == [2 * number + 1, 2 * number + 2]
    assert await fdb.documents() == [("a", 12)]
    bodies = {(await fdb.get_document("a", v)) for v in range(1, 13)}
    assert len(bodies) == 12


async def test_a_document_version_is_known_again_behind_others(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    """The commit succeeds without an answer, and another writer commits before the next attempt."""
    keys, cluster = Keys("evcore"), double.cluster

    def overtake() -> None:
        cluster.version += 10
        cluster.write(keys.version("a", 2), bytes(16) + b"\0other", cluster.version)
        cluster.write(keys.doc("a"), (2).to_bytes(8), cluster.version)

    cluster.faults, cluster.after_commit = iter([Fault.UNKNOWN_APPLIED]), overtake
    assert await fdb.put_document("a", b"own") == 1
    assert await fdb.documents() == [("a", 2)]
    assert await fdb.get_document("a") == Document(2, b"other")


async def test_a_shorter_snapshot_leaves_nothing_of_a_longer_one(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    keys = Keys("evcore")
    parts = keys.parts(keys.snapshot(UE))
    for octets, left in ((300_000, 3), (100_000, 1), (10, 0)):
        (loaded,) = await fdb.load([UE])
        seq = 1 + (loaded.head if loaded else 0)
        await fdb.append([step(UE, seq, snapshot=bytes(octets))])
        transaction = double.database.create_transaction()
        found = [key for n in range(1, 9) if transaction.get(key := parts + pack_int(n)).value]
        assert len(found) == left


async def test_a_failure_stops_an_aggregate_also_in_later_transactions(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    await fdb.append([step(UE, 1, "a")])
    commits = double.cluster.commits
    filler = [step(OTHER, seq, body=bytes(80_000)) for seq in range(1, 31)]
    batch = [step(UE, 2, "a"), *filler, step(UE, 2, "fits")]
    assert await fdb.append(batch) == [Duplicate(1), *[OK] * 30, Conflict(1)]
    assert double.cluster.commits - commits > 1


async def test_a_conflict_is_tried_again(fdb: FoundationDbEngine, double: DoubleBackend):
    double.cluster.faults = iter([Fault.CONFLICT] * 5)
    assert await fdb.append([step(UE, 1)]) == [OK]
    assert double.cluster.conflicts == 5


async def test_a_large_batch_takes_small_transactions(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    names = [f"ue/{number}" for number in range(10)]
    batch = [step(n, seq, body=bytes(10_000)) for seq in range(1, 41) for n in names]
    batch[205] = step(batch[205].aggregate, 99)
    commits = double.cluster.commits
    outcomes = await fdb.append(batch)
    assert double.cluster.commits - commits >= 4
    assert double.cluster.largest < 1_000_000
    # The steps after the failed one fail too, also in later transactions.
    failed = [i for i, outcome in enumerate(outcomes) if outcome != OK]
    assert failed == list(range(205, 400, 10))
    assert set(map(repr, (outcomes[i] for i in failed))) == {"Conflict(head=20)"}


async def test_many_small_steps_are_cut_by_their_number(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    commits = double.cluster.commits
    assert await fdb.append(steps(UE, 1, 1200)) == [OK] * 1200
    assert double.cluster.commits - commits == 3
    assert await stored(fdb, UE) == list(range(1, 1201))


async def test_a_step_may_be_as_large_as_a_transaction(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    large = step(UE, 2, body=bytes(8_000_000))
    assert await fdb.append([step(UE, 1), large, step(UE, 3)]) == [OK] * 3
    assert double.cluster.largest > 8_000_000
    assert (await fdb.read(UE, 1, 1))[0].body == large.body


async def test_what_is_too_large_is_told_before_anything_is_done(fdb: FoundationDbEngine):
    with pytest.raises(StoreError, match=r"step 2 of 'ue/imsi-\d+' has 8000001 octets"):
        await fdb.append([step(UE, 1), step(UE, 2, body=bytes(8_000_001))])
    assert await fdb.load([UE]) == [None]
    with pytest.raises(StoreError, match="the document 'a' has 8000001 octets"):
        await fdb.put_document("a", bytes(8_000_001))
    with pytest.raises(StoreError, match="a key is longer than the 10 kB"):
        await fdb.append([step("ue/" + "x" * 10_000, 1)])


async def test_reading_goes_on_where_a_transaction_got_too_old(double: DoubleBackend):
    """Every read of the clock adds a second, so no transaction lives for ten reads."""
    engine = await double.open()
    for first in range(1, 600, 100):
        await engine.append([step(UE, s, body=bytes(9_000)) for s in range(first, first + 100)])
    seconds = itertools.count()
    double.cluster.clock = lambda: float(next(seconds))
    begun = double.cluster.begun
    records = await engine.read(UE, 0, 600)
    assert [record.seq for record in records] == list(range(1, 601))
    assert double.cluster.begun - begun > 10
    double.cluster.clock = lambda: 0.0
    assert await follow(engine, page=600) == await follow(engine, page=7)
    (loaded,) = await engine.load([UE])
    assert loaded is not None
    assert loaded.tail == tuple(records)


async def test_the_feed_reads_bodies_in_slices(double: DoubleBackend):
    engine = await double.open()
    await engine.append(steps(UE, 1, 400))
    seconds = itertools.count()
    double.cluster.clock = lambda: next(seconds) / 25
    assert len(await engine.feed()) == 400


async def test_an_append_that_got_too_old_is_tried_again(double: DoubleBackend):
    engine = await double.open()
    times = iter([0.0, 6.0])
    double.cluster.clock = lambda: next(times, 10.0)
    assert await engine.append([step(UE, 1)]) == [OK]


async def test_many_aggregates_load_in_one_transaction(
    fdb: FoundationDbEngine, double: DoubleBackend
):
    names = [f"ue/{number}" for number in range(64)]
    await fdb.append([step(name, seq) for seq in range(1, 5) for name in names])
    begun = double.cluster.begun
    loaded = await fdb.load(names)
    assert double.cluster.begun - begun == 1
    assert all(one and len(one.tail) == 4 for one in loaded)


async def test_a_cluster_that_does_not_answer_is_unavailable(double: DoubleBackend):
    engine = await double.open(patience=0.02)
    double.cluster.close()
    for call in (
        engine.append([step(UE, 1)]),
        engine.load([UE]),
        engine.feed(),
        engine.put_document("a", b""),
    ):
        with pytest.raises(StoreUnavailable, match=r"did not answer within 0.02 s$"):
            await call


async def test_a_cluster_that_only_refuses_is_unavailable(double: DoubleBackend):
    engine = await double.open(patience=0.05)
    double.cluster.faults = itertools.repeat(Fault.CONFLICT)
    with pytest.raises(StoreUnavailable, match=r"within 0.05 s: error 1020"):
        await engine.append([step(UE, 1)])


async def test_an_append_whose_time_ran_out_can_be_asked_again(double: DoubleBackend):
    engine = await double.open(patience=0.05)
    double.cluster.faults = iter([Fault.SILENT])
    with pytest.raises(StoreUnavailable):
        await engine.append([step(UE, 1)])
    assert await engine.append([step(UE, 1)]) == [Duplicate(1)]


async def test_an_error_that_no_retry_mends_is_told(fdb: FoundationDbEngine, double: DoubleBackend):
    double.cluster.faults = iter([Fault.REFUSED])
    with pytest.raises(StoreError, match="FoundationDB rejects the transaction: error 2000"):
        await fdb.append([step(UE, 1)])
    assert await fdb.append([step(UE, 1)]) == [OK]


async def test_an_error_of_a_disk_is_not_permanent(fdb: FoundationDbEngine, double: DoubleBackend):
    double.cluster.faults = iter([Fault.FAILING_DISK])
    with pytest.raises(StoreUnavailable, match="FoundationDB cannot be used now: error 1510"):
        await fdb.append([step(UE, 1)])
    assert await fdb.append([step(UE, 1)]) == [OK]


async def test_the_loop_goes_on_while_a_call_waits(fdb: FoundationDbEngine, double: DoubleBackend):
    """The network thread blocks until the loop has turned. No other thread waits."""
    turned = threading.Event()
    threads = threading.active_count()
    double.cluster.submit_idle(turned.wait)
    reading = asyncio.create_task(fdb.load([UE]))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not reading.done()
    assert threading.active_count() == threads
    turned.set()
    assert await reading == [None]


async def test_a_cancelled_call_lets_go(fdb: FoundationDbEngine, double: DoubleBackend):
    held = threading.Event()
    double.cluster.submit_idle(held.wait)
    reading = asyncio.create_task(fdb.load([UE]))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    held.set()
    assert await fdb.load([UE]) == [None]


async def test_prefixes_are_apart(double: DoubleBackend):
    names = ["evcore", "evcore\0", "evcor", "evcoree"]
    engines = [await FoundationDbEngine.open(double.api, double.database, n) for n in names]
    for number, engine in enumerate(engines, 1):
        await engine.append([step(f"ue/{number}", 1, put=[TMSI])])
        await engine.put_document("a", b"%d" % number)
    for number, engine in enumerate(engines, 1):
        assert await engine.aggregates() == [(f"ue/{number}", 1)]
        assert await engine.owners([TMSI]) == [f"ue/{number}"]
        assert await engine.get_document("a") == Document(1, b"%d" % number)
        assert len(await engine.feed()) == 1


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (b"2", StoreError, "'evcore' has format 2, made by a newer evcore; .* formats up to 1"),
        (b"\0\1", StoreDamaged, "the prefix 'evcore' does not hold an evcore store"),
        (b"0", StoreDamaged, "the prefix 'evcore' does not hold an evcore store"),
    ],
)
async def test_another_format_is_refused(
    double: DoubleBackend, value: bytes, kind: type[StoreError], said: str
):
    double.put(Keys("evcore").format, value)
    with pytest.raises(StoreError, match=said) as caught:
        await double.open()
    assert caught.type is kind


async def test_what_is_missing_is_damage(fdb: FoundationDbEngine, double: DoubleBackend):
    keys = Keys("evcore")
    await fdb.append([step(UE, 1), step(UE, 2, body=bytes(300_000)), step(UE, 3)])
    await fdb.put_document("a", b"body")
    double.put(keys.parts(keys.step(UE, 2)) + b"\x15\x02", None)
    with pytest.raises(StoreDamaged, match="1 of 3 parts of a body are missing"):
        await fdb.read(UE)
    double.put(keys.step(UE, 2), None)
    with pytest.raises(StoreDamaged, match="step 2 of 'ue/imsi-001010000000001' is missing"):
        await fdb.load([UE])
    with pytest.raises(StoreDamaged, match="the feed refers to a step that does not exist"):
        await fdb.feed()
    double.put(keys.version("a", 1), None)
    with pytest.raises(StoreDamaged, match="version 1 of the document 'a' is missing"):
        await fdb.put_document("a", b"other")
