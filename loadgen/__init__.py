"""The load generator: gNB and UE emulators that judge a core from outside.

It imports `wire` and `transport`, and nothing of the core.
"""

from loadgen.config import ConfigError, LoadConfig
from loadgen.driver import LoadError, run
from loadgen.identity import SNssai
from loadgen.profile import Algorithms, HomeKey
from loadgen.report import Report
from loadgen.subscribers import MIXED_ALGORITHMS, Population
from loadgen.timers import TimerValues
from loadgen.ue_model import Procedure

__all__ = [
    "MIXED_ALGORITHMS",
    "Algorithms",
    "ConfigError",
    "HomeKey",
    "LoadConfig",
    "LoadError",
    "Population",
    "Procedure",
    "Report",
    "SNssai",
    "TimerValues",
    "run",
]
