"""The decisions and the forwarded events of a worker while procedures are swapped."""

from hypothesis import given
from hypothesis import strategies as st

from eventing.ownership.assignments import Assignment, variant_for
from eventing.ownership.leases import Lease
from functions.runtime.hosting import Hosted, by_partition, hosted_in, on_trial
from schemas.procedures import Procedure

PARTITIONS = 8
PAGING = Procedure.PAGING
ALL = frozenset(Procedure)
OWN = "0+own"

variants = st.sampled_from(["", "1+a", "2+b"])
assignments = st.builds(
    Assignment,
    procedure=st.just(PAGING),
    state=st.sampled_from(["starting", "canary", "finished", "aborted", "rolled-back"]),
    at=st.just(0),
    stable=st.sampled_from(["", "1+a", "2+b", OWN]),
    canary=st.sampled_from(["", "1+a", "2+b", OWN]),
    partitions=st.lists(st.integers(0, PARTITIONS - 1), unique=True).map(tuple),
)
CANARY = Assignment(PAGING, "canary", 0, canary="2+b", partitions=(0, 1))


def lease(hosted: frozenset[Procedure] = ALL, variant: str = "") -> Lease:
    mine = {str(PAGING): variant} if variant else {}
    return Lease("w", tuple(hosted), "test", variants=mine, code=OWN)


@given(st.frozensets(st.sampled_from(tuple(Procedure))), variants, assignments)
def test_a_worker_decides_what_is_assigned_to_its_variants_and_nothing_else(
    hosted: frozenset[Procedure], variant: str, assigned: Assignment
) -> None:
    for partition in range(PARTITIONS):
        found = hosted_in(lease(hosted, variant), {str(PAGING): assigned}, partition)
        assert found - {PAGING} == hosted - {PAGING}
        wanted = variant_for({PAGING: assigned}, PAGING, partition)
        fits = wanted == variant or (not variant and wanted == OWN)
        assert (PAGING in found) == (PAGING in hosted and fits)


@given(variants, variants, assignments, st.integers(0, PARTITIONS - 1))
def test_two_workers_of_different_variants_never_decide_the_same(
    one: str, other: str, assigned: Assignment, partition: int
) -> None:
    leases = [lease(variant=variant) for variant in (one, other)]
    decide = [PAGING in hosted_in(found, {PAGING: assigned}, partition) for found in leases]
    assert one == other or not all(decide)


def test_a_stable_worker_forwards_the_events_of_a_canary() -> None:
    found = by_partition(Hosted(), lease(), {PAGING: CANARY}, PARTITIONS)
    assert found is not None
    assert [PAGING in found[partition].procedures for partition in range(4)] == [
        *(False, False),
        *(True, True),
    ]
    assert found[0] is found[1], "as few as possible"


def test_without_a_swap_there_is_one_for_all_partitions() -> None:
    assert by_partition(Hosted(), lease(), {}, PARTITIONS) is None
    over = Assignment(PAGING, "rolled-back", 0, canary="2+b", partitions=(0, 1))
    assert by_partition(Hosted(), lease(), {PAGING: over}, PARTITIONS) is None


def test_only_a_canary_is_on_trial() -> None:
    assert on_trial({PAGING: "2+b"}, {PAGING: CANARY})
    assert not on_trial({}, {PAGING: CANARY})
    assert not on_trial({PAGING: "1+a"}, {PAGING: CANARY})
    finished = Assignment(PAGING, "finished", 0, stable="2+b", canary="2+b")
    assert not on_trial({PAGING: "2+b"}, {PAGING: finished})
