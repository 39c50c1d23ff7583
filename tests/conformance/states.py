"""A UE in every state that the core can have one in, each by the shortest way there."""

from typing import Final

from tests.conformance import states_mobility, states_network, states_sessions
from tests.conformance.state import ENTERED, State

MODULES: Final = (states_mobility, states_sessions, states_network)
"""The files that enter the states, in the order of the table."""

STATES: Final[dict[str, State]] = {entry.name: entry for entry in ENTERED}
