"""The subjects and names on the bus. All other modules take them from this module.

| subject | carries |
|---|---|
| ``ue.<partition>.<procedure>.<slot>`` | every event of an aggregate; partition = slot mod P |
| ``timer.<partition>.<slot>.<aggregate>`` | the one pending wake-up of an aggregate |
| ``timer.<partition>.<partition>.wakes-<procedure>-<at>`` | a wake-up of several UEs |
| ``n2.<gnb>.<association>`` | NGAP PDUs for the gateway that has the association |
| ``n4.<upf>`` | PFCP messages for one of the gateways that serve the UPF |
| ``stats.<worker>`` | statistics of a worker |
| ``stats-request`` | asks all workers for their statistics |
"""

from functools import lru_cache
from typing import Final

STREAM: Final = "EVCORE"
"""Work-queue stream of the events and the wake-ups of aggregates."""
TIMERS: Final = "timer."
"""Prefix of the subjects of wake-ups."""
STREAM_SUBJECTS: Final = ("ue.>", f"{TIMERS}>")

DEAD_LETTERS: Final = "EVCORE_DEAD"
"""Stream of dead letters: events that no delivery could process, each with the reason."""
DEAD_LETTER_SUBJECTS: Final = ("dead.>",)

LEASES: Final = "evcore-leases"
"""Key-value bucket of the live workers."""

ANNOUNCERS: Final = "evcore-announcers"
"""Key-value bucket of the position of each announcer of domain events."""

ASSIGNMENTS: Final = "evcore-assignments"
"""Key-value bucket of the swapped versions of procedures (`eventing.ownership.assignments`)."""

_UNSAFE: Final = {**dict.fromkeys(map(ord, "\0\t\n\r .*>"), "_"), ord("/"): "-"}


@lru_cache(maxsize=4096)
def token(text: str) -> str:
    """Return `text` as one token of a subject."""
    return text.translate(_UNSAFE)


def event(partition: int, procedure: str, slot: int) -> str:
    """Return the subject of an event for a procedure."""
    return f"ue.{partition}.{procedure}.{slot}"


def events_of(partition: int, procedure: str) -> str:
    """Return the filter for the events of one procedure in one partition."""
    return f"ue.{partition}.{procedure}.*"


def consumer_of(subject: str) -> str:
    """Return the subject of an event without its slot: the same for all events of a consumer."""
    return subject.rpartition(".")[0]


def consumer(partition: int, procedure: str) -> str:
    """Return the name of the durable consumer of one procedure in one partition."""
    return f"{procedure}-{partition:04d}"


def timer(partition: int, slot: int, name: str) -> str:
    """Return the subject of a pending wake-up. A later wake-up of the same name replaces it.

    `name` is the name of an aggregate, or of a wake-up of several aggregates.
    """
    return f"{TIMERS}{partition}.{slot}.{token(name)}"


def dead(subject: str) -> str:
    """Return the subject of the dead letter of an event that arrived by `subject`."""
    return f"dead.{subject}"


def downlink(gnb: str, association: str) -> str:
    """Return the subject of PDUs for one association of a gNB."""
    return f"n2.{token(gnb)}.{token(association)}"


def downlinks_of(association: str) -> str:
    """Return the filter for PDUs of an association, with any gNB name."""
    return f"n2.*.{token(association)}"


def n4(upf: str) -> str:
    """Return the subject of PFCP messages for a UPF, by its Node ID."""
    return f"n4.{token(upf)}"


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
    if len(parts) != 4 or parts[0] != "ue" or not (parts[3].isascii() and parts[3].isdigit()):
        raise ValueError(f"{subject!r} is not ue.<partition>.<procedure>.<slot>")
    return int(parts[3])
