"""The load generator: gNB and UE emulators that judge a core from outside.

It imports `wire` and `transport`, and nothing of the core.
"""

from loadgen.config import ConfigError, LoadConfig
from loadgen.driver import LoadError, run
from loadgen.faults import Faults
from loadgen.identity import SNssai
from loadgen.profile import Algorithms, HomeKey
from loadgen.report import Report
from loadgen.scenario import Scenario, find_scenario, read_scenario, scenario_names
from loadgen.session_model import SessionRecord, SessionRequest, Tunnel
from loadgen.subscribers import MIXED_ALGORITHMS, Population
from loadgen.timers import TimerValues
from loadgen.ue import DownlinkData
from loadgen.ue_model import Procedure

__all__ = [
    "MIXED_ALGORITHMS",
    "Algorithms",
    "ConfigError",
    "DownlinkData",
    "Faults",
    "HomeKey",
    "LoadConfig",
    "LoadError",
    "Population",
    "Procedure",
    "Report",
    "SNssai",
    "Scenario",
    "SessionRecord",
    "SessionRequest",
    "TimerValues",
    "Tunnel",
    "find_scenario",
    "read_scenario",
    "run",
    "scenario_names",
]
