"""The subjects and names on the bus. All other modules take them from this module.

| subject | carries |
|---|---|
| ``ue.<partition>.<procedure>.<origin>.<slot>`` | an event of an aggregate |
| ``ue.<partition>.<procedure>.core.<slot>-again`` | an event of a UE that is published again |
| ``timer.<partition>.<slot>.<aggregate>`` | the one pending wake-up of an aggregate |
| ``timer.<partition>.<partition>.wakes-<procedure>-<at>`` | a wake-up of several aggregates |
| ``timer.<partition>.<slot>.page-<output>`` | a page of events for many UEs that waits |
| ``timer.made`` | a mark: the stream has had all wake-ups of the log |
| ``n2.<gnb>.<association>`` | sealed NGAP PDUs for the gateway that has the association |
| ``n4.<upf>`` | PFCP messages for one of the gateways that serve the UPF |
| ``alive.<worker>`` | asks whether a worker is connected; it answers |
| ``stats.<worker>`` | statistics of a worker |
| ``stats-request`` | asks all workers for their statistics |

The partition is the slot modulo the number of partitions. The origin is in `schemas.origin`.
"""

from functools import lru_cache
from typing import Final

from schemas.origin import Origin

STREAM: Final = "EVCORE"
"""Work-queue stream of the events and the wake-ups of aggregates."""
TIMERS: Final = "timer."
"""Prefix of the subjects of wake-ups."""
TIMERS_MADE: Final = f"{TIMERS}made"
"""Subject of the mark in a stream that has had all wake-ups of the log."""
EVENTS: Final = "ue.>"
"""The filter for all events."""
STREAM_SUBJECTS: Final = (EVENTS, f"{TIMERS}>")
N2: Final = "n2."
"""Prefix of the subjects of NGAP messages, which are sealed (`eventing.jetstream.sealed`)."""
DOWNLINKS: Final = f"{N2}*.*"
"""The filter for all NGAP messages for gNBs."""
N4: Final = "n4."
"""Prefix of the subjects of PFCP messages."""

DEAD_LETTERS: Final = "EVCORE_DEAD"
"""Stream of dead letters: events that no delivery could process, each with the reason."""
DEAD_LETTER_SUBJECTS: Final = ("dead.>",)

LEASES: Final = "evcore-leases"
"""Key-value bucket of the live workers."""

ANNOUNCERS: Final = "evcore-announcers"
"""Key-value bucket of the position of each announcer of domain events."""

ASSIGNMENTS: Final = "evcore-assignments"
"""Key-value bucket of the swapped versions of procedures (`eventing.ownership.assignments`)."""

_REPUBLISHED: Final = "-again"

_UNSAFE: Final = {**dict.fromkeys(map(ord, "\0\t\n\r .*>"), "_"), ord("/"): "-"}


@lru_cache(maxsize=4096)
def token(text: str) -> str:
    """Return `text` as one token of a subject."""
    return text.translate(_UNSAFE)


def event(partition: int, procedure: str, origin: str, slot: int) -> str:
    """Return the subject of an event for a procedure."""
    return f"ue.{partition}.{procedure}.{origin}.{slot}"


def events_from(origin: str) -> str:
    """Return the filter for all events of an origin."""
    return f"ue.*.*.{origin}.*"


def events_for(procedure: str) -> str:
    """Return the filter for all events of a procedure."""
    return f"ue.*.{procedure}.*.*"


def republished(partition: int, procedure: str, slot: int) -> str:
    """Return the subject of an event that is published again: the first message is acknowledged."""
    return f"{event(partition, procedure, Origin.CORE, slot)}{_REPUBLISHED}"


def is_republished(subject: str) -> bool:
    """Whether the subject of an event says that it is published again."""
    return subject.endswith(_REPUBLISHED)


def republished_as(subject: str) -> str:
    """Return the subject of an event that arrived by `subject` and is published again."""
    if is_republished(subject):
        return subject
    prefix, partition, procedure, _, slot = subject.split(".")
    return f"{prefix}.{partition}.{procedure}.{Origin.CORE}.{slot}{_REPUBLISHED}"


def events_in(partition: int) -> str:
    """Return the filter for all events in one partition."""
    return f"ue.{partition}.>"


def republished_in(partition: int, slot: int) -> str:
    """Return the filter for the events of a slot that are published again."""
    return f"ue.{partition}.*.{Origin.CORE}.{slot}{_REPUBLISHED}"


def events_of(partition: int, procedure: str) -> str:
    """Return the filter for the events of one procedure in one partition."""
    return f"ue.{partition}.{procedure}.*.*"


def consumer_of(subject: str) -> str:
    """Return the subject of an event without its slot: the same for all events of a consumer that
    have one origin."""
    return subject.rpartition(".")[0]


def in_slot(subject: str, slot: int | None) -> str:
    """Return the subject of an event of the same consumer and origin in a slot; `subject` without
    a slot."""
    return subject if slot is None else f"{consumer_of(subject)}.{slot}"


def consumer(partition: int, procedure: str) -> str:
    """Return the name of the durable consumer of one procedure in one partition."""
    return f"{procedure}-{partition:04d}"


def consumer_name(subject: str) -> str:
    """Return the name of the durable consumer of an event's subject."""
    _, partition, procedure, _, _ = subject.split(".")
    return consumer(int(partition), procedure)


def is_from(subject: str, origin: str) -> bool:
    """Whether the subject of an event has an origin."""
    return consumer_of(subject).endswith(f".{origin}")


def timer(partition: int, slot: int, name: str) -> str:
    """Return the subject of a pending wake-up. A later wake-up of the same name replaces it.

    `name` is the name of an aggregate, or of a wake-up of several aggregates.
    """
    return f"{TIMERS}{partition}.{slot}.{token(name)}"


def timers_in(partition: int) -> str:
    """Return the filter for the pending wake-ups of a partition."""
    return f"{TIMERS}{partition}.>"


def dead(subject: str) -> str:
    """Return the subject of the dead letter of an event that arrived by `subject`."""
    return f"dead.{subject}"


def downlink(gnb: str, association: str) -> str:
    """Return the subject of PDUs for one association of a gNB."""
    return f"{N2}{token(gnb)}.{token(association)}"


def downlinks_of(association: str) -> str:
    """Return the filter for PDUs of an association, with any gNB name."""
    return f"{N2}*.{token(association)}"


def n4(upf: str) -> str:
    """Return the subject of PFCP messages for a UPF, by its Node ID."""
    return f"{N4}{token(upf)}"


def alive(worker: str) -> str:
    """Return the subject of requests to a worker, which it answers while it is connected."""
    return f"alive.{worker}"


STATS_REQUEST: Final = "stats-request"
"""Subject of a request to all workers to publish their statistics at once."""


def stats(worker: str) -> str:
    """Return the subject of a worker's statistics."""
    return f"stats.{worker}"


def slot_of_subject(subject: str) -> int:
    """Return the slot in the subject of an event.

    Raises:
        ValueError: the subject is not that of an event.
    """
    parts = subject.split(".")
    slot = parts[-1].removesuffix(_REPUBLISHED)
    if len(parts) != 5 or parts[0] != "ue" or not (slot.isascii() and slot.isdigit()):
        raise ValueError(f"{subject!r} is not ue.<partition>.<procedure>.<origin>.<slot>")
    return int(slot)
