"""Rendezvous hashing: each partition has one owner, and few partitions move when workers change."""

import random
from collections import Counter

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
    return {pair: owner(fleet, *pair) for pair in PAIRS}


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


@given(fleets, leases)
def test_who_joins_takes_and_nothing_else_moves(fleet: list[Lease], joins: Lease) -> None:
    fleet = [lease for lease in fleet if lease.worker != joins.worker]
    before, after = owners(fleet), owners([*fleet, joins])
    for pair in PAIRS:
        assert after[pair] in (before[pair], joins.worker)


@given(fleets.filter(bool))
def test_who_leaves_gives_and_nothing_else_moves(fleet: list[Lease]) -> None:
    leaves, *rest = fleet
    before, after = owners(fleet), owners(rest)
    for pair in PAIRS:
        assert after[pair] == before[pair] or before[pair] == leaves.worker


@given(st.integers(0, PARTITIONS - 1), st.integers(1, 6))
def test_all_procedures_of_a_ue_are_with_one_worker_that_hosts_all(
    partition: int, count: int
) -> None:
    assert len({owner(workers(count), procedure, partition) for procedure in ALL}) == 1


def test_each_worker_has_about_as_much() -> None:
    shares = Counter(owner(workers(4), Procedure.RAN, partition) for partition in range(1024))
    assert shares.keys() == {lease.worker for lease in workers(4)}
    assert all(180 < share < 340 for share in shares.values()), shares


def test_versions_share_as_if_they_were_one() -> None:
    """A step names its version, so workers with two versions may run at the same time."""
    old, new = Lease("a", ALL, "1"), Lease("b", ALL, "2")
    assert set(owners([old, new]).values()) == {"a", "b"}
