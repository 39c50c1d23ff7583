"""What a worker decides itself, by partition, while versions of procedures are swapped."""

from collections.abc import Mapping

from eventing.ownership.assignments import Assignment, variant_for
from functions.ue.dispatch import Procedures
from schemas.procedures import Procedure


def hosted_in(
    hosted: frozenset[Procedure],
    variants: Mapping[str, str],
    assignments: Mapping[str, Assignment],
    partition: int,
) -> frozenset[Procedure]:
    """The procedures that a worker decides about in a partition: of those that it hosts, the ones
    whose variant is that which is to decide there. It hands on the events of all others."""
    return frozenset(
        procedure
        for procedure in hosted
        if variants.get(procedure, "") == variant_for(assignments, procedure, partition)
    )


def by_partition(
    procedures: Procedures,
    variants: Mapping[str, str],
    assignments: Mapping[str, Assignment],
    partitions: int,
) -> tuple[Procedures, ...] | None:
    """The same as procedures to decide with, one for each partition; None where all that it hosts
    is decided by it everywhere."""
    found = [hosted_in(procedures.hosted, variants, assignments, p) for p in range(partitions)]
    if all(one == procedures.hosted for one in found):
        return None
    narrowed = {one: procedures.narrowed(one) for one in set(found)}
    return tuple(narrowed[one] for one in found)


def on_trial(variants: Mapping[str, str], assignments: Mapping[str, Assignment]) -> bool:
    """Whether something that a worker hosts is a canary: what it cannot decide, another can."""
    return any(
        one.under_way and variants.get(one.procedure) == one.canary for one in assignments.values()
    )
