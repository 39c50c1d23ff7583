"""Numbered behaviours: a change of meaning gets a number, and steps say which were in force.

A step is decided again under the flags that are written in it, so old logs keep their old
rules. A number is never used twice, and a flag is on by default only once every version that
may read the log knows it.
"""

from enum import IntEnum
from typing import Final


class Flag(IntEnum):
    """The behaviours that there are."""

    POISONED = 1
    """Not a rule but a fact of one step: its event could not be decided, and the UE was given
    a cause in place of it. No log has it unless code has failed."""

    SHARED_WAKES = 2
    """A wake-up may come after its time (`schemas.ue.waking`). A short timer does not rely on that of
    the mobile reachable timer, and a timer that has ended does not wait for another."""
    SESSIONS_KEPT = 3
    """A UPF that is associated anew and has not restarted may have kept its sessions: those that
    nobody needs any more are deleted there."""


DEFAULT_FLAGS: Final[tuple[int, ...]] = (Flag.SHARED_WAKES.value, Flag.SESSIONS_KEPT.value)
"""What new steps are decided under."""
