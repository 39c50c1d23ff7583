"""Hanging workers: they run without a lease."""

import pytest

from evcore.swap import silence
from evcore.swap.silence import Silence

LOOK = 0.5
STABLE, ONE, OTHER = 10, 11, 12
ALL = {STABLE, ONE, OTHER}


class Watched:
    """A clock, and the observations of three workers that run all the time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.silence = Silence()

    def looks(self, live: set[int], seconds: float) -> list[float]:
        for _ in range(round(seconds / LOOK)):
            self.now += LOOK
            self.silence.look(ALL, live)
        return [self.silence.of(pid) for pid in sorted(ALL)]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    made = Watched()
    monkeypatch.setattr(silence.time, "monotonic", lambda: made.now)
    return made


def test_it_counts_for_each_from_the_first_look_that_misses_it(watched: Watched) -> None:
    assert watched.looks(ALL, 5) == [0, 0, 0]
    assert watched.looks({STABLE, OTHER}, LOOK) == [0, 0, 0]
    assert watched.looks({STABLE, OTHER}, 1) == [0, 1, 0]
    assert watched.looks({STABLE}, 2) == [0, 3, 1.5]
    assert watched.looks({STABLE, ONE}, 1) == [0, 0, 2.5]
    watched.silence.look({STABLE, ONE}, {STABLE, ONE})
    assert watched.looks({STABLE, ONE}, 1) == [0, 0, 0], "it has ended"


def test_one_that_has_had_no_lease_yet_is_not_silent(watched: Watched) -> None:
    assert watched.looks({STABLE}, 60) == [0, 0, 0]


def test_what_nobody_could_see_or_do_tells_nothing(watched: Watched) -> None:
    assert watched.looks(ALL, 5) == [0, 0, 0]
    assert watched.looks(set(), 60) == [0, 0, 0], "a broker that has lost all leases"
    assert watched.looks(ALL, LOOK) == [0, 0, 0]
    assert watched.looks({STABLE}, 1) == [0, 0.5, 0.5]
    watched.now += 3600
    assert watched.looks({STABLE}, LOOK) == [0, 1.5, 1.5], "a pause is one second at most"
    watched.silence.missed()
    assert watched.looks({STABLE}, LOOK) == [0, 0, 0]
    assert watched.looks({STABLE}, 1) == [0, 1, 1], "and they are known still"
