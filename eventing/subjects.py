"""Subjects and names on the bus. All of them are made here.

``ue.<partition>.<procedure>.<slot>`` carries every event of an aggregate; the partition is
``slot mod P``. ``timer.<partition>.<slot>.<aggregate>`` holds the one pending wake-up of an
aggregate, and ``timer.<partition>.<partition>.wakes-<procedure>-<at>`` one that UEs share.
``n2.<gnb>.<association>`` carries NGAP PDUs to the gateway that has the association, ``n4.<upf>``
PFCP messages to one of the gateways that serve the UPF. ``stats.<worker>`` carries what a worker
says of its work.
"""

from functools import lru_cache
from typing import Final

STREAM: Final = "EVCORE"
"""Work-queue stream of all events of aggregates, and of their wake-ups."""
TIMERS: Final = "timer."
"""How the subjects of wake-ups begin."""
STREAM_SUBJECTS: Final = ("ue.>", f"{TIMERS}>")

DEAD_LETTERS: Final = "EVCORE_DEAD"
"""Stream of events whose deliveries are spent, each with the reason."""
DEAD_LETTER_SUBJECTS: Final = ("dead.>",)

LEASES: Final = "evcore-leases"
"""Key-value bucket of the live workers."""

ANNOUNCERS: Final = "evcore-announcers"
"""Key-value bucket of how far each announcer of domain events has come."""

ASSIGNMENTS: Final = "evcore-assignments"
"""Key-value bucket of the versions that decide in the place of others (`eventing.ownership.assignments`)."""

_UNSAFE: Final = {**dict.fromkeys(map(ord, "\0\t\n\r .*>"), "_"), ord("/"): "-"}


@lru_cache(maxsize=4096)
def token(text: str) -> str:
    """`text` as one token of a subject."""
    return text.translate(_UNSAFE)


def event(partition: int, procedure: str, slot: int) -> str:
    """The subject of an event for a procedure."""
    return f"ue.{partition}.{procedure}.{slot}"


def events_of(partition: int, procedure: str) -> str:
    """The filter of the events of one procedure in one partition."""
    return f"ue.{partition}.{procedure}.*"


def consumer_of(subject: str) -> str:
    """What the events of one consumer have in common in their subjects."""
    return subject.rpartition(".")[0]


def consumer(partition: int, procedure: str) -> str:
    """The name of the durable consumer of one procedure in one partition."""
    return f"{procedure}-{partition:04d}"


def timer(partition: int, slot: int, name: str) -> str:
    """The subject of a pending wake-up, by the aggregate's name or that of what many share; a later
    one replaces it."""
    return f"{TIMERS}{partition}.{slot}.{token(name)}"


def dead(subject: str) -> str:
    """The subject of a dead letter that came by `subject`."""
    return f"dead.{subject}"


def downlink(gnb: str, association: str) -> str:
    """The subject of PDUs for one association of a gNB."""
    return f"n2.{token(gnb)}.{token(association)}"


def downlinks_of(association: str) -> str:
    """The filter of PDUs for an association, whatever its gNB is called."""
    return f"n2.*.{token(association)}"


def n4(upf: str) -> str:
    """The subject of PFCP messages for a UPF, by its Node ID."""
    return f"n4.{token(upf)}"


def stats(worker: str) -> str:
    """The subject of what a worker says of its work."""
    return f"stats.{worker}"


def slot_of_subject(subject: str) -> int:
    """The slot in the subject of an event.

    Raises:
        ValueError: it is not the subject of an event.
    """
    parts = subject.split(".")
    if len(parts) != 4 or parts[0] != "ue" or not (parts[3].isascii() and parts[3].isdigit()):
        raise ValueError(f"{subject!r} is not ue.<partition>.<procedure>.<slot>")
    return int(parts[3])
