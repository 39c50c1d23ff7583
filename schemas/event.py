"""The base of all events: facts that a log is made of."""

from typing import Final

from msgspec import Struct

IGNORABLE: Final = "~"
"""How the name of an event begins that a version may ignore which does not know it."""


class Event(Struct, frozen=True, omit_defaults=True, tag=True, tag_field="event"):
    """A fact. It is stored with the name of its class under `event`."""


class IgnorableEvent(Event, frozen=True, tag=lambda name: IGNORABLE + name):
    """A fact that a version may ignore which does not know it: what that version folds and
    decides without it is right (docs/decisions/0011)."""


class Noted(Event, frozen=True):
    """Something worth a line in the log that changes nothing: why a message was ignored."""

    text: str
