"""The events that a worker decides or hands on while procedures are swapped."""

from hypothesis import given
from hypothesis import strategies as st

from eventing.ownership.assignments import Assignment, variant_for
from functions.runtime.hosting import by_partition, hosted_in, on_trial
from functions.ue.dispatch import Procedures
from schemas.procedures import Procedure

PARTITIONS = 8
PAGING = Procedure.PAGING
ALL = frozenset(Procedure)

variants = st.sampled_from(["", "1+a", "2+b"])
assignments = st.builds(
    Assignment,
    procedure=st.just(PAGING),
    state=st.sampled_from(["starting", "canary", "finished", "aborted", "rolled-back"]),
    at=st.just(0),
    stable=variants,
    canary=variants,
    partitions=st.lists(st.integers(0, PARTITIONS - 1), unique=True).map(tuple),
)
CANARY = Assignment(PAGING, "canary", 0, canary="2+b", partitions=(0, 1))


@given(st.frozensets(st.sampled_from(tuple(Procedure))), variants, assignments)
def test_a_worker_decides_what_is_assigned_to_its_variants_and_nothing_else(
    hosted: frozenset[Procedure], variant: str, assigned: Assignment
) -> None:
    mine = {str(PAGING): variant} if variant else {}
    for partition in range(PARTITIONS):
        found = hosted_in(hosted, mine, {str(PAGING): assigned}, partition)
        assert found - {PAGING} == hosted - {PAGING}
        fits = variant_for({PAGING: assigned}, PAGING, partition) == variant
        assert (PAGING in found) == (PAGING in hosted and fits)


@given(variants, variants, assignments, st.integers(0, PARTITIONS - 1))
def test_two_workers_of_different_variants_never_decide_the_same(
    one: str, other: str, assigned: Assignment, partition: int
) -> None:
    both = [{str(PAGING): variant} if variant else {} for variant in (one, other)]
    decide = [PAGING in hosted_in(ALL, v, {PAGING: assigned}, partition) for v in both]
    assert one == other or not all(decide)


def test_a_stable_worker_hands_on_what_a_canary_decides() -> None:
    found = by_partition(Procedures(), {}, {PAGING: CANARY}, PARTITIONS)
    assert found is not None
    assert [PAGING in found[partition].hosted for partition in range(4)] == [
        *(False, False),
        *(True, True),
    ]
    assert found[0] is found[1], "as few as there are"
    assert found[2].module(PAGING) is found[3].module(PAGING)


def test_without_a_swap_nothing_is_looked_up() -> None:
    assert by_partition(Procedures(), {}, {}, PARTITIONS) is None
    over = Assignment(PAGING, "rolled-back", 0, canary="2+b", partitions=(0, 1))
    assert by_partition(Procedures(), {}, {PAGING: over}, PARTITIONS) is None


def test_only_a_canary_is_on_trial() -> None:
    assert on_trial({PAGING: "2+b"}, {PAGING: CANARY})
    assert not on_trial({}, {PAGING: CANARY})
    assert not on_trial({PAGING: "1+a"}, {PAGING: CANARY})
    finished = Assignment(PAGING, "finished", 0, stable="2+b", canary="2+b")
    assert not on_trial({PAGING: "2+b"}, {PAGING: finished})
