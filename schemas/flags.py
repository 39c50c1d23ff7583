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


DEFAULT_FLAGS: Final[tuple[int, ...]] = ()
"""What new steps are decided under."""
