"""The heap of deadlines."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from loadgen.timers import Deadlines


class Alarm:
    def __init__(self) -> None:
        self.queued = inf
        self.at = inf
        self.rang: list[float] = []

    def deadline(self) -> float:
        return self.at

    def advance(self, now: float) -> None:
        self.rang.append(now)
        self.at = inf


def test_a_deadline_that_moves_away_keeps_its_entry() -> None:
    deadlines, alarm = Deadlines(), Alarm()
    for at in (15.0, 20.0, 30.0):
        alarm.at = at
        deadlines.touch(alarm)
    assert len(deadlines) == 1
    deadlines.run(16.0)
    assert alarm.rang == []
    assert deadlines.next() == 30.0
    deadlines.run(30.0)
    assert alarm.rang == [30.0]
    assert deadlines.next() == inf


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), max_size=40))
def test_everyone_is_advanced_at_its_time_and_once(moves: list[tuple[int, int]]) -> None:
    deadlines, alarms = Deadlines(), [Alarm() for _ in range(5)]
    expected = [inf] * 5
    for who, at in moves:
        alarms[who].at = expected[who] = float(at)
        deadlines.touch(alarms[who])
    for now in range(51):
        deadlines.run(float(now))
        for alarm, at in zip(alarms, expected, strict=True):
            assert alarm.rang == ([at] if at <= now else [])
