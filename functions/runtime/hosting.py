"""The procedures that a process decides, and the code for each of them."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from eventing.ownership.assignments import Assignment, variant_for
from eventing.ownership.leases import Lease
from functions.decider import Forward, Inputs, decide
from functions.gmm import identification
from functions.gmm.identification import HomeNetworkKey
from functions.runtime.variants import Variant
from functions.ue.dispatch import Procedures
from schemas.cloudevents import CloudEvent
from schemas.procedures import Procedure
from schemas.step import Step

NO_VARIANTS: Final[Mapping[Procedure, Variant]] = MappingProxyType({})


class Hosted:
    """Decides about events: for some procedures by variants, for the others by this release.

    This release's code finds the procedure of an event. If a variant decides for that procedure, it
    makes the whole decision: its message builders and reconcilers count for this decision only.
    """

    def __init__(
        self,
        procedures: Collection[Procedure] = tuple(Procedure),
        variants: Mapping[Procedure, Variant] = NO_VARIANTS,
        code: str = "",
    ) -> None:
        """`code` is the id of this release's code."""
        self.procedures = frozenset(procedures)
        self._variants = {p: one for p, one in variants.items() if p in self.procedures}
        self._own = Procedures(self.procedures - self._variants.keys(), code)

    def narrowed(self, procedures: Collection[Procedure]) -> "Hosted":
        """Return the same code for fewer procedures."""
        return Hosted(procedures, self._variants, self._own.code)

    def load(self) -> None:
        """Import all modules. A decision that is replayed imports none."""
        self._own.load()

    def decide(
        self,
        state: Any,
        seq: int,
        event: CloudEvent,
        given: Inputs,
        withdraw: Callable[[], None] | None = None,
    ) -> Step[Any] | Forward | None:
        """Return the step number `seq` of an aggregate: see `functions.decider.decide`.

        `withdraw` takes back the answers to lookups before a variant looks them up again.
        """
        found = decide(self._own, state, seq, event, given)
        if not isinstance(found, Forward) or found.procedure not in self._variants:
            return found
        if withdraw is not None:
            withdraw()
        return self._variants[found.procedure].decide(state, seq, event, given)

    def identify(
        self, event: CloudEvent, keys: Mapping[int, HomeNetworkKey]
    ) -> CloudEvent | Forward:
        """Return the event that replaces one with a SUCI; `Forward` if others host this."""
        procedure = Procedure.IDENTIFICATION
        if procedure not in self.procedures:
            return Forward(procedure)
        variant = self._variants.get(procedure)
        by = identification.decide if variant is None else variant.identify
        return by(event, keys)


def hosted_in(
    lease: Lease, assignments: Mapping[str, Assignment], partition: int
) -> frozenset[Procedure]:
    """Return the procedures that the worker of a lease decides in a partition.

    It hosts the variant that is assigned to the partition. It forwards the events of all other
    procedures.
    """
    return frozenset(
        Procedure(procedure)
        for procedure in lease.procedures
        if lease.hosts(procedure, variant_for(assignments, procedure, partition))
    )


def by_partition(
    hosted: Hosted, lease: Lease, assignments: Mapping[str, Assignment], partitions: int
) -> tuple[Hosted, ...] | None:
    """Return the hosted procedures of each partition; None if they are those of `hosted` in all."""
    found = [hosted_in(lease, assignments, partition) for partition in range(partitions)]
    if all(one == hosted.procedures for one in found):
        return None
    narrowed = {one: hosted.narrowed(one) for one in set(found)}
    return tuple(narrowed[one] for one in found)


def on_trial(variants: Mapping[str, str], assignments: Mapping[str, Assignment]) -> bool:
    """Whether a variant of a worker is a canary: another variant can decide instead of it."""
    return any(
        one.under_way and variants.get(one.procedure) == one.canary for one in assignments.values()
    )
