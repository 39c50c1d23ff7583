"""All states of a UE in the core, each built by the shortest sequence."""

from typing import Final

from tests.conformance import states_mobility, states_network, states_sessions
from tests.conformance.state import ENTERED, State

MODULES: Final = (states_mobility, states_sessions, states_network)
"""The files that define the states, in the order of the table."""

STATES: Final[dict[str, State]] = {entry.name: entry for entry in ENTERED}
