"""Scenario files: loads with several phases, in YAML.

The scenarios in `loadgen/scenarios` are found by name.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from yaml import MarkedYAMLError

from loadgen.errors import ConfigError
from loadgen.faults import Faults
from loadgen.gnb.behaviour import GnbBehaviour
from loadgen.load.arrivals import ArrivalsError, loaded
from loadgen.load.phases import Phase, problem_of_phases
from loadgen.session_model import SessionType

FOLDER = Path(__file__).parent.parent / "scenarios"
_SUFFIXES = (".yaml", ".yml")


class Scenario(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a scenario file. The address and the configuration of the core are not in
    it."""

    description: str
    """A sentence for people."""
    ues: int = 64
    """The number of UEs, unless the command line has another."""
    gnbs: int = 1
    """The number of gNBs, unless the command line has another."""
    dnn: str | None = "internet"
    session_type: SessionType = "ipv4"
    seed: int = 0
    """The seed of arrivals and choices, unless the command line has another."""
    failure_pause: float = 1.0
    """Seconds for which a UE stays off after a failure."""
    faults: Faults | float | None = None
    """The faults of all phases without their own, unless the command line has others."""
    gnb_behaviour: GnbBehaviour = GnbBehaviour()
    """The behaviour of all gNBs."""
    tacs: tuple[int, ...] = ()
    """The TACs of the gNBs, in turn; the core must serve them."""
    drain: float = 40.0
    """The longest time in seconds for procedures after the end of a phase."""
    phases: tuple[Phase, ...]

    def load(self) -> dict[str, Any]:
        """Return the fields of `LoadConfig` that the scenario sets."""
        names = ("dnn", "session_type", "failure_pause", "faults", "tacs", "drain", "phases")
        return {name: getattr(self, name) for name in (*names, "gnb_behaviour")}


def scenario_names() -> list[str]:
    """Return the names of the scenarios that come with evcore."""
    return sorted(path.name for path in FOLDER.iterdir() if path.suffix in _SUFFIXES)


def find_scenario(name: str) -> Path:
    """Return the file of a scenario: a path, or the name of a scenario that comes with evcore.

    Raises:
        ConfigError: there is no such scenario.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.name == name:
        for known in (name, *(name + suffix for suffix in _SUFFIXES)):
            if (FOLDER / known).is_file():
                return FOLDER / known
    names = ", ".join(scenario_names())
    raise ConfigError(f"there is no scenario {name}: use a path, or one of {names}")


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file and the files that it names.

    Raises:
        ConfigError: a file or a field is invalid; the message is one sentence.
    """
    try:
        scenario = msgspec.yaml.decode(path.read_bytes(), type=Scenario)
        phases = tuple(
            msgspec.structs.replace(phase, arrivals=loaded(phase.arrivals, path.parent))
            for phase in scenario.phases
        )
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, ArrivalsError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {_sentence(error)}") from error
    problem = problem_of_phases(phases) if phases else "phases is empty: name at least one"
    if problem is not None:
        raise ConfigError(f"{path}: {problem}")
    return msgspec.structs.replace(scenario, phases=phases)


def _sentence(error: Exception) -> str:
    """Return an error on one line, with the position in a YAML file."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, MarkedYAMLError) and cause.problem_mark is not None:
        mark = cause.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {cause.problem}"
    return " ".join(str(error).split())
