"""Strangers: UEs that have never proved their identity, and RAN nodes without an accepted NG SETUP.

Anyone who reaches N2 can make any number of their aggregates. So their logs are removed after a
while (docs/decisions/0031). An index of the store lists them in the order of time.
"""

from typing import Final

from msgspec import Struct

from schemas.event import Event

STRANGER: Final = "stranger"
"""The index of strangers."""


class Stranger(Struct, frozen=True, omit_defaults=True):
    """When an aggregate became that of a stranger."""

    since: int
    """The time of the first step that left it without a connection, in milliseconds since the Unix
    epoch."""
    slot: int
    """The slot of its events."""
    number: int
    """A random number of 64 bits. It distinguishes strangers of the same time and slot."""


class StrangerRecorded(Event, frozen=True):
    """The UE has never proved its identity and has no connection, or the RAN node never had an
    accepted NG SETUP. The aggregate may be removed some time after `since`."""

    since: int
    slot: int
    number: int


def stranger_of(event: StrangerRecorded) -> Stranger:
    """Return the record in the state."""
    return Stranger(event.since, event.slot, event.number)


def stranger_key(since: int, slot: int, number: int) -> str:
    """Return the index key of a stranger. The keys are in the order of time."""
    return f"{since:013d}/{slot:04d}/{number:016x}"


def parse_stranger_key(key: str) -> tuple[int, int]:
    """Return the time and the slot in an index key."""
    since, slot, _ = key.split("/", 2)
    return int(since), int(slot)
