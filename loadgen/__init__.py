"""The load generator: gNB, UE and UPF emulators that check a core from outside.

It imports `wire` and `transport` and no module of the core, so it works against any core.

The packages import only downwards, in this order:

- `load`: programmes, arrivals, phases and scenarios; the event loop and the associations.
- `gnb`: gNBs with their cells, NGAP contexts and handovers. `report`: the recorder, the report
  and its output. Neither imports the other.
- `ue`: UEs with NAS, their procedures and USIMs.
- `foreign`: optional IEs in random combinations, for the messages of UEs and gNBs.
- `upf`: UPFs on N4; imports only `trees`, and is imported by no other package.
- The modules of this folder: trees, identities, violations, faults, timers, PDU sessions, errors.

`python -m loadgen` runs a load, `python -m loadgen.upf` a UPF.
"""

from loadgen.errors import ConfigError, LoadError
from loadgen.faults import Faults
from loadgen.identity import SNssai
from loadgen.load.config import LoadConfig
from loadgen.load.driver import run
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
