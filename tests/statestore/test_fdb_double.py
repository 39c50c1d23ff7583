"""The double has the semantics on which the engine relies."""

import threading
from collections.abc import Generator
from typing import Any

import pytest

from tests.statestore.fdb_double import Database, FdbDouble, KeySelector, Transaction
from tests.statestore.fdb_double_cluster import Cluster, Fault, FDBError, Future


@pytest.fixture
def cluster() -> Generator[Cluster]:
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def db(cluster: Cluster) -> Database:
    return Database(cluster)


def put(db: Database, **values: bytes) -> None:
    transaction = db.create_transaction()
    for key, value in values.items():
        transaction.set(key.encode(), value)
    transaction.commit().wait()


def rows(reader: Any, begin: bytes, end: bytes, limit: int = 0) -> list[tuple[bytes, bytes]]:
    selectors = KeySelector.first_greater_or_equal(begin), KeySelector.first_greater_or_equal(end)
    found, count, _ = reader._get_range(*selectors, limit, -2, 1, False).wait()
    assert count == len(found)
    return [(row.key, row.value) for row in found]


def code_of(future: Future) -> int:
    with pytest.raises(FDBError) as caught:
        future.wait()
    return caught.value.code


def test_reads_see_one_version_and_own_writes(db: Database):
    put(db, a=b"1", b=b"1", c=b"1")
    transaction = db.create_transaction()
    assert transaction.get(b"a").value == b"1"
    put(db, a=b"2", d=b"2")
    transaction.set(b"b", b"own")
    transaction.clear(b"c")
    assert transaction.get(b"a").value == b"1"
    assert transaction.snapshot.get(b"b").value == b"own"
    assert rows(transaction, b"a", b"z") == [(b"a", b"1"), (b"b", b"own")]
    transaction.clear_range(b"a", b"c")
    assert rows(transaction, b"a", b"z") == []
    assert transaction.get(b"b").value is None


@pytest.mark.parametrize("snapshot", [True, False])
@pytest.mark.parametrize("ranged", [True, False])
@pytest.mark.parametrize("cleared", [True, False])
def test_what_was_read_must_not_have_changed(
    db: Database, *, snapshot: bool, ranged: bool, cleared: bool
):
    put(db, a=b"1")
    transaction = db.create_transaction()
    reader = transaction.snapshot if snapshot else transaction
    _ = rows(reader, b"a", b"b") if ranged else reader.get(b"a").value
    other = db.create_transaction()
    if cleared:
        other.clear_range(b"", b"z")
    else:
        other.set(b"a", b"2")
    other.commit().wait()
    transaction.set(b"x", b"")
    if snapshot:
        transaction.commit().wait()
    else:
        assert code_of(transaction.commit()) == 1020


def test_writes_alone_do_not_conflict(db: Database):
    one, two = db.create_transaction(), db.create_transaction()
    for transaction in (one, two):
        assert transaction.get(b"elsewhere").value is None
        transaction.set(b"a", b"")
    one.commit().wait()
    two.commit().wait()


def test_a_range_that_was_cut_conflicts_as_far_as_it_was_read(db: Database):
    put(db, a=b"", b=b"", c=b"")
    transaction = db.create_transaction()
    assert len(rows(transaction, b"a", b"z", 1)) == 1
    put(db, c=b"changed")
    transaction.set(b"x", b"")
    transaction.commit().wait()


def test_versionstamps_grow_and_may_not_be_read_before(db: Database):
    for value in (b"1", b"2", b"3"):
        transaction = db.create_transaction()
        for number in (1, 0):
            key = b"feed/" + b"\xff" * 10 + number.to_bytes(2) + (5).to_bytes(4, "little")
            transaction.set_versionstamped_key(key, value + b"%d" % number)
        if value == b"2":
            assert code_of(transaction.get(b"feed/" + b"\0" * 10 + b"\0\0")) == 1036
        transaction.commit().wait()
    found = rows(db.create_transaction(), b"feed/", b"feed0")
    assert [value for _, value in found] == [b"10", b"11", b"20", b"21", b"30", b"31"]


def test_pages_are_cut(db: Database):
    for number in range(10):
        put(db, **{f"k{number}": bytes(30_000)})
    begin, end = map(KeySelector.first_greater_or_equal, (b"k", b"l"))
    reader: Any = db.create_transaction()
    found, count, more = reader._get_range(begin, end, 0, -2, 1, False).wait()
    assert (len(found), count, more) == (3, 3, 1)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [(b"k" * 10_001, b"", 2102), (b"k", bytes(100_001), 2103), (b"k" * 10_000, bytes(100_000), 0)],
)
def test_limits_of_keys_and_values_are_told_at_the_commit(
    db: Database, key: bytes, value: bytes, code: int
):
    transaction = db.create_transaction()
    transaction.set(key, value)
    commit = transaction.commit()
    if code:
        assert code_of(commit) == code
    else:
        commit.wait()


def test_a_transaction_has_a_largest_size(db: Database):
    transaction = db.create_transaction()
    for number in range(102):
        transaction.set(b"%d" % number, bytes(99_000))
    assert code_of(transaction.commit()) == 2101


def test_a_transaction_lives_five_seconds(cluster: Cluster, db: Database):
    now = 0.0
    cluster.clock = lambda: now
    reading, writing = db.create_transaction(), db.create_transaction()
    for transaction in (reading, writing):
        assert transaction.get(b"a").value is None
    now = 5.0
    assert reading.get(b"a").value is None
    now = 5.1
    assert code_of(reading.get(b"a")) == 1007
    writing.set(b"a", b"")
    assert code_of(writing.commit()) == 1007
    reading.on_error(1007).wait()
    assert reading.get(b"a").value is None


def test_on_error_lets_try_again_what_may_succeed(db: Database):
    transaction = db.create_transaction()
    transaction.set(b"a", b"")
    transaction.on_error(1020).wait()
    assert transaction.get(b"a").value is None, "it is reset"
    assert code_of(transaction.on_error(2101)) == 2101


@pytest.mark.parametrize(
    ("fault", "code", "there"),
    [
        (Fault.CONFLICT, 1020, False),
        (Fault.UNKNOWN_APPLIED, 1021, True),
        (Fault.UNKNOWN_LOST, 1021, False),
        (Fault.LATE, 1039, False),
    ],
)
def test_faults(cluster: Cluster, db: Database, fault: Fault, code: int, *, there: bool):
    cluster.faults = iter([fault])
    transaction = db.create_transaction()
    transaction.set(b"a", b"1")
    assert code_of(transaction.commit()) == code
    assert (db.create_transaction().get(b"a").value is not None) == there


@pytest.mark.parametrize(("fault", "winner"), [(Fault.LATE, b"1"), (Fault.VERY_LATE, b"2")])
def test_a_late_commit_conflicts_like_any(
    cluster: Cluster, db: Database, fault: Fault, winner: bytes
):
    cluster.faults = iter([fault])
    first, second = db.create_transaction(), db.create_transaction()
    for transaction, value in ((first, b"1"), (second, b"2")):
        assert transaction.get(b"a").value is None
        transaction.set(b"a", value)
    assert code_of(first.commit()) == 1039
    if winner == b"1":
        assert code_of(second.commit()) == 1020
    else:
        second.commit().wait()
    assert db.create_transaction().get(b"a").value == winner
    assert cluster.conflicts == 1


def test_futures_call_back_from_the_network_thread(cluster: Cluster, db: Database):
    held, called = threading.Event(), threading.Event()
    threads: list[str] = []

    def callback(_: Any) -> None:
        threads.append(threading.current_thread().name)
        called.set()

    cluster.submit_idle(held.wait)
    future = db.create_transaction().get(b"a")
    assert not future.is_ready()
    future.on_ready(callback)
    held.set()
    called.wait()
    future.on_ready(callback)
    assert threads == ["fdb-double", threading.current_thread().name]


def test_nobody_waits_on_the_network_thread(cluster: Cluster, db: Database):
    codes: list[int] = []
    done = threading.Event()

    def wait() -> None:
        codes.append(code_of(db.create_transaction().get(b"a")))
        done.set()

    cluster.submit_idle(wait)
    done.wait()
    assert codes == [2025]


def test_a_cancelled_future_fails(cluster: Cluster, db: Database):
    held = threading.Event()
    cluster.submit_idle(held.wait)
    future = db.create_transaction().get(b"a")
    future.cancel()
    held.set()
    assert code_of(future) == 1101


def test_a_transaction_is_not_used_while_it_commits(cluster: Cluster, db: Database):
    held = threading.Event()
    cluster.submit_idle(held.wait)
    transaction: Transaction = db.create_transaction()
    transaction.set(b"a", b"")
    commit = transaction.commit()
    with pytest.raises(FDBError, match="2017"):
        transaction.get(b"a")
    held.set()
    commit.wait()


def test_databases_are_opened_by_their_cluster_file(cluster: Cluster):
    api = FdbDouble({"here": cluster})
    assert api.open("here") is api.open("here")
    with pytest.raises(FDBError, match="1515"):
        api.open("there")
