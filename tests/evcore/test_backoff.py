"""Pauses before a process that ended is started again."""

from evcore.local.backoff import FIRST, HEALTHY, MOST, Backoff


def test_one_that_has_worked_is_started_at_once() -> None:
    backoff = Backoff()
    assert [backoff.after(HEALTHY) for _ in range(5)] == [0.0] * 5


def test_one_that_does_not_work_is_given_time() -> None:
    backoff = Backoff()
    pauses = [backoff.after(0.1) for _ in range(12)]
    assert pauses[:4] == [0.0, FIRST, FIRST * 2, FIRST * 4]
    assert pauses[-1] == MOST
    assert pauses == sorted(pauses)


def test_one_that_works_again_is_forgiven() -> None:
    backoff = Backoff()
    for _ in range(6):
        backoff.after(0.0)
    assert backoff.after(HEALTHY) == 0.0
    assert backoff.after(0.0) == FIRST


def test_other_measures() -> None:
    backoff = Backoff(first=1, most=3, healthy=0.5)
    assert [backoff.after(0.4) for _ in range(4)] == [0.0, 1, 2, 3]
