"""The variant that decides in each partition: canaries and how they end."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from eventing.jetstream.connection import connected
from eventing.jetstream.streams import assignment_bucket, ensure_buckets
from eventing.ownership import assignments as assignment
from eventing.ownership.assignments import (
    Assignment,
    AssignmentWatch,
    Margins,
    SwapError,
    variant_for,
)
from eventing.ownership.leases import Lease, owner
from schemas.procedures import Procedure
from tests.eventing.brokers import Bus

PARTITIONS = 16
PAGING = Procedure.PAGING
ALL = tuple(Procedure)

variants = st.sampled_from(["", "1+a", "2+b"])
names = st.text("abcdef0123456789-", min_size=1, max_size=8)
leases = st.builds(
    Lease,
    worker=names,
    procedures=st.lists(st.sampled_from(ALL), unique=True).map(tuple),
    version=st.just("1"),
    variants=st.dictionaries(st.sampled_from(ALL), variants.filter(bool), max_size=3),
)
fleets = st.lists(leases, max_size=6, unique_by=lambda lease: lease.worker)
assignments = st.builds(
    Assignment,
    procedure=st.just(PAGING),
    state=st.sampled_from(["starting", "canary", "finished", "aborted", "rolled-back"]),
    at=st.just(0),
    stable=variants,
    canary=variants,
    partitions=st.lists(st.integers(0, PARTITIONS - 1), unique=True).map(tuple),
)


def begun(last: Assignment | None = None, variant: str = "2+b") -> Assignment:
    return assignment.begun(last, PAGING, variant, (0, 1), Margins(), 1)


def canary() -> Assignment:
    return assignment.promoted(begun(), 2)


@given(fleets, assignments, st.integers(0, PARTITIONS - 1), st.sampled_from(ALL))
def test_whoever_owns_a_partition_hosts_the_version_that_is_to_decide_there(
    fleet: list[Lease], assigned: Assignment, partition: int, procedure: Procedure
) -> None:
    variant = variant_for({PAGING: assigned}, procedure, partition)
    found = owner(fleet, procedure, partition, PARTITIONS, variant)
    fit = {lease.worker for lease in fleet if lease.hosts(procedure, variant)}
    assert (found in fit) if fit else (found is None)


@given(assignments, st.integers(0, PARTITIONS - 1))
def test_only_a_canary_decides_in_its_partitions_and_it_nowhere_else(
    assigned: Assignment, partition: int
) -> None:
    found = assigned.variant(partition)
    if assigned.state == "canary" and partition in assigned.partitions:
        assert found == assigned.canary
    else:
        assert found == assigned.stable


@given(assignments)
def test_other_procedures_are_left_alone(assigned: Assignment) -> None:
    found = {str(PAGING): assigned}
    assert {variant_for(found, p, 3) for p in ALL if p != PAGING} == {""}


def test_workers_are_started_before_a_canary_decides() -> None:
    starting = begun()
    assert (starting.state, starting.under_way) == ("starting", True)
    assert {starting.variant(partition) for partition in range(PARTITIONS)} == {""}
    there = assignment.promoted(starting, 2)
    assert [there.variant(partition) for partition in range(3)] == ["2+b", "2+b", ""]


def test_a_canary_that_is_finished_decides_everywhere_until_it_is_aborted() -> None:
    done = assignment.finished(canary(), PAGING, 3)
    assert {done.variant(partition) for partition in range(PARTITIONS)} == {"2+b"}
    again = assignment.finished(assignment.promoted(begun(done, "3+c"), 4), PAGING, 5)
    assert again.variant(9) == "3+c"
    back = assignment.aborted(again, PAGING, "by command", 6)
    assert (back.variant(9), back.under_way) == ("2+b", False)


def test_a_canary_that_ends_leaves_what_was_before() -> None:
    done = assignment.finished(canary(), PAGING, 3)
    second = assignment.promoted(begun(done, "3+c"), 4)
    for ended in (
        assignment.aborted(second, PAGING, "by command", 5),
        assignment.rolled_back(second, "it is slow", 5),
    ):
        assert {ended.variant(partition) for partition in range(PARTITIONS)} == {"2+b"}
        assert (ended.canary, ended.partitions) == ("3+c", (0, 1)), "it is known what it was"


def test_a_canary_gets_more_partitions_without_a_start() -> None:
    wider = assignment.begun(canary(), PAGING, "2+b", (0, 1, 2), Margins(), 3)
    assert (wider.state, wider.variant(2)) == ("canary", "2+b")


def test_what_cannot_be() -> None:
    with pytest.raises(SwapError, match=r"a swap of paging to 2\+b is under way: --finish or"):
        begun(canary(), "3+c")
    with pytest.raises(SwapError, match=r"paging 2\+b decides everywhere already"):
        begun(assignment.finished(canary(), PAGING, 3))
    with pytest.raises(SwapError, match="there is no canary of paging"):
        assignment.finished(begun(), PAGING, 3)
    for none in (None, assignment.rolled_back(canary(), "", 3)):
        with pytest.raises(SwapError, match="there is no swap of paging to go back from"):
            assignment.aborted(none, PAGING, "", 4)


async def test_it_is_written_once_and_all_of_it_is_kept(client: Client) -> None:
    await ensure_buckets(client)
    kv = await assignment_bucket(client)
    assert await assignment.read(kv, PAGING) == (None, 0)
    assert await assignment.history(client, PAGING) == []
    first = await assignment.write(kv, begun(), 0)
    with pytest.raises(SwapError, match="changed by somebody else just now"):
        await assignment.write(kv, begun(), 0)
    second = await assignment.write(kv, canary(), first)
    assert await assignment.read(kv, PAGING) == (canary(), second)
    assert await assignment.history(client, PAGING) == [begun(), canary()]


async def test_it_is_followed_through_a_restart_of_the_broker(bus: Bus) -> None:
    changed = asyncio.Event()

    async def seen(follower: AssignmentWatch, wanted: Assignment) -> None:
        async with asyncio.timeout(20):
            while follower.current.get(PAGING) != wanted:
                changed.clear()
                await follower.refresh()
                try:
                    await asyncio.wait_for(changed.wait(), 0.2)
                except TimeoutError:
                    continue

    async with connected(bus.url, "follower") as client, connected(bus.url, "other") as other:
        await ensure_buckets(other)
        kv = await assignment_bucket(other)
        revision = await assignment.write(kv, begun(), 0)
        follower = AssignmentWatch(client, changed.set)
        await follower.start()
        assert (follower.current[PAGING], follower.revision) == (begun(), revision)
        await kv.put("what", b"{}")
        await bus.end()
        await bus.start()
        revision = await assignment.write(kv, canary(), revision)
        await seen(follower, canary())
        assert follower.revision == revision
        await follower.stop()
