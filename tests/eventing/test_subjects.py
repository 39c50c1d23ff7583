"""Subjects, filters and names: every event has one consumer, and no two share one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventing import subjects
from schemas.identity import SLOTS, partition_of, slot_of
from schemas.origin import Origin
from schemas.procedures import Procedure

partition_counts = st.integers(1, SLOTS)
slots = st.integers(0, SLOTS - 1)
procedures = st.sampled_from(Procedure)

TOKEN = re.compile(r"[^.*> \t\r\n]+")
"""Texts that NATS accepts as one token of a subject."""


def takes(pattern: str, subject: str) -> bool:
    """Whether a NATS filter matches a subject."""
    wanted, found = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(found) >= len(wanted) and takes(".".join(wanted[:-1]), _first(found, wanted))
    return len(wanted) == len(found) and all(
        w in ("*", f) for w, f in zip(wanted, found, strict=True)
    )


def _first(found: list[str], wanted: list[str]) -> str:
    return ".".join(found[: len(wanted) - 1])


@given(slots, partition_counts)
def test_a_slot_has_one_partition(slot: int, partitions: int) -> None:
    assert 0 <= partition_of(slot, partitions) < partitions


@given(partition_counts)
def test_partitions_have_as_many_slots_each_but_for_one(partitions: int) -> None:
    counts = [0] * partitions
    for slot in range(SLOTS):
        counts[partition_of(slot, partitions)] += 1
    assert sum(counts) == SLOTS
    assert max(counts) - min(counts) <= 1


@given(st.text())
def test_any_key_has_a_slot(key: str) -> None:
    assert 0 <= slot_of(key) < SLOTS


@given(st.integers(1, 40), procedures, st.sampled_from(Origin), slots)
def test_an_event_is_taken_by_exactly_one_consumer(
    partitions: int, procedure: Procedure, origin: Origin, slot: int
) -> None:
    subject = subjects.event(partition_of(slot, partitions), procedure, origin, slot)
    assert any(takes(pattern, subject) for pattern in subjects.STREAM_SUBJECTS)
    takers = [
        (other, partition)
        for other in Procedure
        for partition in range(partitions)
        if takes(subjects.events_of(partition, other), subject)
    ]
    assert takers == [(procedure, partition_of(slot, partitions))]
    assert subjects.slot_of_subject(subject) == slot


def test_consumers_have_names_of_their_own() -> None:
    names = {subjects.consumer(p, procedure) for procedure in Procedure for p in range(SLOTS)}
    assert len(names) == SLOTS * len(Procedure)
    assert all(TOKEN.fullmatch(name) for name in names)
    filters = {subjects.events_of(p, procedure) for procedure in Procedure for p in range(SLOTS)}
    assert len(filters) == len(names)


@given(procedures, st.integers(0, SLOTS - 1))
def test_the_procedure_can_be_told_from_the_name_of_a_consumer(
    procedure: Procedure, partition: int
) -> None:
    name, _, number = subjects.consumer(partition, procedure).rpartition("-")
    assert (name, int(number)) == (procedure, partition)


aggregates = st.builds("{}/{}".format, st.sampled_from(["ue", "gnb"]), st.text(min_size=1))


@given(st.text(min_size=1))
def test_any_name_is_one_token(name: str) -> None:
    assert TOKEN.fullmatch(subjects.token(name))


@given(slots, st.integers(1, 40), aggregates)
def test_a_wake_up_waits_in_the_event_stream_and_no_consumer_takes_it(
    slot: int, partitions: int, aggregate: str
) -> None:
    subject = subjects.timer(partition_of(slot, partitions), slot, aggregate)
    assert takes("timer.*.*.*", subject)
    assert any(takes(pattern, subject) for pattern in subjects.STREAM_SUBJECTS)
    assert not any(
        takes(subjects.events_of(p, procedure), subject)
        for procedure in Procedure
        for p in range(partitions)
    )


@given(st.integers(0, 999).map("gnb-{}".format), st.integers(0, 999).map("boot-{:x}".format))
def test_a_downlink_reaches_its_association_alone(gnb: str, association: str) -> None:
    subject = subjects.downlink(gnb, association)
    assert takes(subjects.downlinks_of(association), subject)
    assert not takes(subjects.downlinks_of(association + "0"), subject)
    assert not any(takes(pattern, subject) for pattern in subjects.STREAM_SUBJECTS)


@given(procedures, slots)
def test_an_event_that_is_published_again_has_the_same_consumer(
    procedure: Procedure, slot: int
) -> None:
    subject = subjects.republished(3, procedure, slot)
    assert takes(subjects.events_of(3, procedure), subject)
    assert takes(subjects.republished_in(3, slot), subject)
    assert takes(subjects.events_in(3), subject)
    assert not takes(
        subjects.republished_in(3, slot), subjects.event(3, procedure, Origin.CORE, slot)
    )
    assert subjects.slot_of_subject(subject) == slot


@given(procedures, slots)
def test_a_dead_letter_is_kept_by_the_other_stream_alone(procedure: Procedure, slot: int) -> None:
    subject = subjects.dead(subjects.event(0, procedure, Origin.N2, slot))
    assert any(takes(pattern, subject) for pattern in subjects.DEAD_LETTER_SUBJECTS)
    assert not any(takes(pattern, subject) for pattern in subjects.STREAM_SUBJECTS)


@pytest.mark.parametrize(
    "subject", ["", "ue", "ue.1.ran.2", "ue.1.ran.n2.2.3", "dead.ue.1.ran.n2.2"]
)
def test_other_subjects_have_no_slot(subject: str) -> None:
    with pytest.raises(ValueError, match=r"is not ue\.<partition>\.<procedure>\.<origin>\.<slot>$"):
        subjects.slot_of_subject(subject)
