"""Random sequences of the UE, its gNBs, the UPFs and time.

After each sequence the UE can register, and no state is left.

EVCORE_SEQUENCES is the number of sequences. The default seed is fixed, and EVCORE_SEED sets
another. If EVCORE_SEED is `new`, the seed is random. A failing test prints the seed.
"""

import os
import secrets
from random import Random
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.playing import Sequence, failure, play
from tests.conformance.sequences import as_test, draw, shorten

SEQUENCES: Final = int(os.environ.get("EVCORE_SEQUENCES", "50000"))
CHUNKS: Final = 20
CHOSEN: Final = os.environ.get("EVCORE_SEED", "fixed")
SEED: Final = secrets.token_hex(4) if CHOSEN == "new" else CHOSEN

CHECKED_EACH: Final = 100
"""One sequence in this number is checked step by step and replayed."""


def sequence_of(number: int) -> tuple[str, Sequence]:
    """Return the seed and the sequence of a number."""
    seed = f"{SEED}/{number}"
    return seed, draw(Random(seed))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_sequences(chunk: int) -> None:
    for number in range(chunk, SEQUENCES, CHUNKS):
        seed, sequence = sequence_of(number)
        closely = number // CHUNKS % CHECKED_EACH == 0
        broken = failure(sequence, checked=closely, replay=closely)
        if not broken:
            continue
        short = shorten(
            sequence, lambda s, b=broken, c=closely: failure(s, checked=c, replay=c) == b
        )
        told = f"the sequence {seed} (EVCORE_SEED={SEED}) fails: {broken}\n"
        print(f"{told}For test_regressions.py:\n{as_test(short)}")
        play(short, checked=closely, replay=closely)
        pytest.fail(told)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_sequences_that_hypothesis_shortens(random: Random) -> None:
    play(draw(random), replay=True)


def test_a_seed_gives_the_same_sequence_again() -> None:
    assert sequence_of(7) == sequence_of(7)
    assert draw(Random("a")) != draw(Random("b"))


def test_the_shortest_sequence_that_fails_is_found() -> None:
    long = Sequence("connected", (("answer", 3), ("expire",), ("advance", 4.0), ("report",)))
    short = shorten(long, lambda s: any(shot[0] == "advance" for shot in s.shots))
    assert short == Sequence("connected", (("advance", 0.0),))


def test_checks_of_each_step_do_not_change_a_sequence() -> None:
    for number in range(0, 60, 3):
        _, sequence = sequence_of(number * 2)
        quick, close = play(sequence), play(sequence, checked=True, replay=True)
        assert quick.core.states == close.core.states
