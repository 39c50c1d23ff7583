"""Each partition has one owner, each owner as many partitions, and few move when workers change."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventing.ownership.leases import Lease, owner
from schemas.procedures import Procedure

ALL = tuple(Procedure)
PARTITIONS = 24
PAIRS = [(procedure, partition) for procedure in ALL for partition in range(PARTITIONS)]

names = st.text("abcdef0123456789-", min_size=1, max_size=8)
hosted = st.lists(st.sampled_from(ALL), unique=True).map(tuple)
leases = st.builds(Lease, worker=names, procedures=hosted, version=st.sampled_from(["1", "2"]))
fleets = st.lists(leases, max_size=6, unique_by=lambda lease: lease.worker)


def owners(fleet: list[Lease]) -> dict[tuple[Procedure, int], str | None]:
    return {pair: owner(fleet, *pair, PARTITIONS) for pair in PAIRS}


def workers(count: int) -> list[Lease]:
    return [Lease(f"worker-{number}", ALL, "1") for number in range(count)]


@given(fleets)
def test_whoever_owns_hosts_and_nobody_only_where_nobody_hosts(fleet: list[Lease]) -> None:
    hosts = {lease.worker: lease.procedures for lease in fleet}
    for (procedure, _), found in owners(fleet).items():
        if found is None:
            assert not any(procedure in procedures for procedures in hosts.values())
        else:
            assert procedure in hosts[found]


@given(fleets, st.randoms(use_true_random=False))
def test_all_workers_compute_the_same_in_whatever_order_they_see_each_other(
    fleet: list[Lease], rng: random.Random
) -> None:
    assert owners(rng.sample(fleet, len(fleet))) == owners(fleet)


@given(st.integers(1, 40), st.integers(1, 40))
def test_each_worker_has_as_many_partitions_or_one_more(count: int, partitions: int) -> None:
    fleet = workers(count)
    found = [owner(fleet, Procedure.RAN, n, partitions) for n in range(partitions)]
    shares = Counter({lease.worker: 0 for lease in fleet})
    shares.update(filter(None, found))
    assert shares.total() == partitions
    assert max(shares.values()) - min(shares.values()) <= 1, shares


@pytest.mark.parametrize("partitions", [8, 64])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_few_partitions_move_when_a_worker_joins_or_leaves(partitions: int, count: int) -> None:
    """At least its own share moves; a quarter of the others on average."""
    moved = 0
    for number in range(100):
        some = [Lease(f"worker-{number}-{one}", ALL, "1") for one in range(count + 1)]
        fewer, more = (
            [owner(fleet, Procedure.RAN, n, partitions) for n in range(partitions)]
            for fleet in (some[:-1], some)
        )
        moved += sum(a != b and b != some[-1].worker for a, b in zip(fewer, more, strict=True))
    assert moved <= 100 * partitions / 4


@given(st.integers(0, PARTITIONS - 1), st.integers(1, 6))
def test_all_procedures_of_a_ue_are_with_one_worker_that_hosts_all(
    partition: int, count: int
) -> None:
    found = {owner(workers(count), procedure, partition, PARTITIONS) for procedure in ALL}
    assert len(found) == 1


def test_versions_share_as_if_they_were_one() -> None:
    """A step names its version, so workers with two versions may run at the same time."""
    old, new = Lease("a", ALL, "1"), Lease("b", ALL, "2")
    assert set(owners([old, new]).values()) == {"a", "b"}
