"""The pace of the core's own events: quick while queues are short, slow while they are long."""

from functions.runtime.pace import AT_ONCE, FASTEST, FIRST, LONGEST, SLOWEST, TARGET, Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def in_a_minute(waited: float) -> int:
    """Return the pages of a chain in a minute, if each event for a page waits as long."""
    clock, pages = Clock(), 0
    pace, end = Pace(clock), clock.now + 60
    while clock.now < end:
        clock.now += waited
        pace.learn(waited)
        wait, granted = pace.turn()
        clock.now += wait
        pages += granted
    return pages


def test_an_idle_core_tells_thousands_in_a_minute() -> None:
    assert in_a_minute(0.005) > 60 / FASTEST * 0.9


def test_a_core_that_is_behind_tells_few() -> None:
    assert in_a_minute(5.0) <= 60 / SLOWEST


def test_the_pace_follows_the_queue() -> None:
    clock = Clock()
    pace = Pace(clock)
    for waited in (0.0, 0.0, 2 * TARGET):
        clock.now += 1
        pace.learn(waited)
    assert pace.interval == FIRST * 0.8 * 0.8 * 2
    for _ in range(50):
        pace.learn(2 * TARGET)
    assert pace.interval == FIRST * 0.8 * 0.8 * 2, "all of these have met one queue"
    for _ in range(50):
        pace.learn(0.0)
    assert pace.interval == FASTEST


def test_many_chains_share_the_turns() -> None:
    """A thousand gNBs that are lost together."""
    pace = Pace(Clock())
    turns = [pace.turn() for _ in range(1000)]
    given = [wait for wait, granted in turns if granted]
    assert given == sorted(given)
    assert sum(wait <= AT_ONCE for wait in given) <= 1 + AT_ONCE / FIRST
    assert max(given) <= LONGEST
    assert {wait for wait, granted in turns if not granted} == {LONGEST}
    assert len(given) == int(LONGEST / FIRST) + 1
