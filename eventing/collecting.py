"""How often a process that handles messages looks for cyclic garbage."""

import gc
from typing import Final

THRESHOLDS: Final = (20_000, 20, 50)
"""Objects more than at the last look, and looks of one generation until one of the next. A message
makes a few hundred objects and hardly a cycle; Python's own thresholds look after every second."""


def collect_seldom() -> None:
    """Leave out what is there already, which stays, and look for cycles now and then."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
