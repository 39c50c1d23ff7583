"""The base class of all events of a log."""

from typing import Final

from msgspec import Struct

IGNORABLE: Final = "~"
"""Prefix of the stored name of an event that a version may ignore if it does not know it."""


class Event(Struct, frozen=True, omit_defaults=True, tag=True, tag_field="event"):
    """An event of a log. It is stored with the name of its class under `event`."""


class IgnorableEvent(Event, frozen=True, tag=lambda name: IGNORABLE + name):
    """An event that a version may ignore if it does not know it. The state and the decisions of
    that version must be correct without it (docs/decisions/0011)."""


class Noted(Event, frozen=True):
    """A note in the log, for example the reason why a message was ignored. The state does not
    change."""

    text: str
