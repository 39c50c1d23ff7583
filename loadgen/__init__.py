"""The load generator: gNB and UE emulators that judge a core from outside.

It imports `wire` and `transport`, and nothing of the core.
"""

from loadgen.faults import Faults
from loadgen.identity import SNssai
from loadgen.load.config import ConfigError, LoadConfig
from loadgen.load.driver import LoadError, run
from loadgen.load.scenario import Scenario, find_scenario, read_scenario, scenario_names
from loadgen.load.subscribers import MIXED_ALGORITHMS, Population
from loadgen.report.report import Report
from loadgen.session_model import SessionRecord, SessionRequest, Tunnel
from loadgen.timers import TimerValues
from loadgen.ue.model import Procedure
from loadgen.ue.profile import Algorithms, HomeKey
from loadgen.ue.ue import DownlinkData

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
