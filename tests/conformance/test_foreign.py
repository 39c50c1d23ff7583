"""Messages of another UE and another gNB: optional IEs change no outcome, and leave no state.

EVCORE_SEED sets another seed, as for the sequences. A failing test prints the seed.
"""

from typing import Final
from zlib import crc32

import pytest

from tests.conformance import outcomes
from tests.conformance.bench import Foreign
from tests.conformance.cells import Cell, cells_of, event
from tests.conformance.outcomes import Outcome
from tests.conformance.playing import play
from tests.conformance.states import STATES
from tests.conformance.test_sequences import SEED, sequence_of

WAYS: Final = ("", "U", "I")
"""NGAP messages, and NAS messages with their right protection."""
SHARE: Final = 3
"""One cell in this number is tested."""
SEQUENCES: Final = 800
REPLAYED: Final = 50
"""One sequence in this number is decided again."""
REPEATABLE: Final = (
    "REGISTRATION REQUEST: initial, SUCI",
    "REGISTRATION REQUEST: initial, 5G-GUTI",
    "PDU SESSION ESTABLISHMENT REQUEST",
)
"""Requests that some states have got already. The same octets are a repetition (TS 24.501
5.5.1.2.8 e, 6.4.1.6), and other IEs make another request."""


def cells_to_test(state: str) -> list[Cell]:
    """Return the tested cells of a state."""
    cells = [cell for cell in cells_of(state) if cell.way in WAYS]
    return [cell for cell in cells if crc32(f"{SEED} {cell}".encode()) % SHARE == 0]


def outcome(cell: Cell, seed: str | None) -> Outcome:
    """Return the outcome of a message with the optional IEs of a seed; of None, without any."""
    bench = STATES[cell.state].build()
    if seed is not None:
        bench.foreign = Foreign.of(seed)
    return outcomes.of(bench, event(bench, cell))


def is_same(own: Outcome, foreign: Outcome) -> bool:
    """Whether two outcomes are equal, but for events that record the contents of optional IEs."""
    told = set(own.events) <= set(foreign.events)
    return told and (own.sends, own.after) == (foreign.sends, foreign.after)


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_optional_ies_change_no_outcome(state: str) -> None:
    for cell in cells_to_test(state):
        seed = f"{SEED} {cell}"
        own, foreign = outcome(cell, None), outcome(cell, seed)
        if not is_same(own, foreign) and cell.message in REPEATABLE:
            own = outcome(cell, f"another {seed}")
        assert is_same(own, foreign), f"{cell}, EVCORE_SEED={SEED}: {own}, not {foreign}"


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(4))
def test_sequences_with_optional_ies_leave_no_state(chunk: int) -> None:
    for number in range(chunk, SEQUENCES, 4):
        seed, sequence = sequence_of(number)
        try:
            play(sequence, foreign=seed, replay=number % REPLAYED == 0)
        except Exception:
            print(f"the sequence {seed} with optional IEs (EVCORE_SEED={SEED}) fails")
            raise
