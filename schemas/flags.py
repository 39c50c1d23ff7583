"""Numbered behaviours: a change of meaning gets a number, and steps say which were in force.

A step is decided again under the flags that are written in it, so old logs keep their old
rules. A number is never used twice. A flag is in `DEFAULT_FLAGS` only once every version that
may read the log knows it. Until the first release there are none (docs/releasing.md).
"""

from typing import Final

DEFAULT_FLAGS: Final[tuple[int, ...]] = ()
"""The flags that new steps are decided under."""
