"""Behaviour flags: a change of meaning gets a number, and each step lists the numbers in force.

A replay decides a step with the flags in the step, so old logs keep their old behaviour. A number
is never used twice. A flag is in `DEFAULT_FLAGS` only when every version that may read the log
knows it. Before the first release there are no flags (docs/releasing.md).
"""

from typing import Final

DEFAULT_FLAGS: Final[tuple[int, ...]] = ()
"""The flags of new steps."""
