"""A canary is judged worse only if chance does not explain the difference."""

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from evcore.swap import judge
from evcore.swap.judge import Counts, counted, lowest, verdict
from eventing.ownership.assignments import Margins
from eventing.stats import ProcedureStats, Stats, StatsWatch, bucket_of
from functions.runtime.variants import mark_of

SERVICE, VARIANT, LABEL = "service-request", "2+b", "0.1.0 service-request=2+b"


def stats(latencies: list[float], failures: int = 0, rejects: int = 0) -> ProcedureStats:
    found = ProcedureStats(SERVICE, "", len(latencies), failures, rejects=rejects)
    for seconds in latencies:
        bucket = bucket_of(seconds)
        found.latency[bucket] = found.latency.get(bucket, 0) + 1
    return found


def judged(stable: ProcedureStats, canary: ProcedureStats) -> str:
    return verdict(Counts(stable, canary), Margins())


FAST = [0.005] * 500


def test_the_same_is_not_worse() -> None:
    assert judged(stats(FAST), stats(FAST[:50])) == ""
    assert judged(stats([]), stats([])) == ""


def test_what_raises_each_time_is_worse_from_the_third_time_on() -> None:
    assert judged(stats(FAST), stats([], failures=2)) == ""
    found = judged(stats(FAST), stats([], failures=3))
    assert found == (
        "it fails: of 3 decisions 3 raised and 0 were rejects; with the stable version, 0.0% of "
        "the decisions do either"
    )


def test_rejects_are_failures_where_the_stable_version_has_none() -> None:
    assert "3 were rejects" in judged(stats(FAST), stats(FAST[:4], rejects=3))
    alike = stats(FAST, rejects=450)
    assert judged(alike, stats(FAST[:10], rejects=9)) == ""


def test_one_failure_among_many_is_within_the_margin() -> None:
    assert judged(stats(FAST), stats(FAST, failures=5)) == ""
    assert judged(stats(FAST), stats(FAST, failures=50)).startswith("it fails")


def test_what_takes_longer_is_worse() -> None:
    assert judged(stats(FAST), stats([0.2] * 5)).startswith("it is slow: 5 of 5 events took")
    assert judged(stats(FAST), stats([0.2] * 4)) == "", "too few to say"
    assert judged(stats(FAST[:19]), stats([0.2] * 50)) == "", "too few to compare with"


def test_little_is_no_reason_whatever_the_ratio() -> None:
    assert judged(stats(FAST), stats([0.08] * 500)) == ""
    assert judged(stats([0.4] * 500), stats([0.6] * 500)) == "", "not twice as long"
    assert judged(stats([0.4] * 500), stats([1.2] * 500)).startswith("it is slow")


def test_some_that_are_late_by_chance_are_no_reason() -> None:
    assert judged(stats(FAST), stats([*FAST, *[3.0] * 5])) == ""
    assert judged(stats(FAST), stats([*FAST, *[3.0] * 25])).startswith("it is slow")


def test_a_version_like_the_other_is_kept_by_chance_however_often_it_is_looked_at() -> None:
    rng = random.Random(5)
    for _ in range(200):
        stable = stats([rng.lognormvariate(-5, 0.5) for _ in range(300)])
        latencies: list[float] = []
        for _ in range(20):
            latencies += [rng.lognormvariate(-5, 0.5) for _ in range(5)]
            assert judged(stable, stats(latencies)) == ""


@given(st.integers(0, 500), st.integers(1, 500))
def test_the_interval_is_below_the_share_and_comes_near_it(part: int, more: int) -> None:
    whole = part + more
    low = lowest(part, whole)
    assert 0 <= low <= part / whole
    assert lowest(part * 1000, whole * 1000) >= low
    assert math.isclose(lowest(part * 10**8, whole * 10**8), part / whole, abs_tol=1e-3)


def test_the_workers_of_a_canary_are_known_by_their_leases() -> None:
    """Also by a decision that raised, which leaves no step with the id of its code."""
    watch = StatsWatch()
    steps = ProcedureStats(SERVICE, "1", 100, 0, {3: 100}, 2)
    raised = ProcedureStats(SERVICE, "", 7, 5)
    watch.note(Stats("a", "0.1.0", 1, (steps, raised)))
    tried = ProcedureStats(SERVICE, VARIANT, 10, 0, {9: 10}, 1)
    failed = ProcedureStats(SERVICE, "", 0, 3)
    watch.note(Stats("b", LABEL, 2, (tried, failed, ProcedureStats("paging", "1", 9, 9))))
    found = counted(watch, SERVICE, VARIANT)
    assert found.stable == ProcedureStats(SERVICE, "", 100, 5, {3: 100}, 2)
    assert found.canary == ProcedureStats(SERVICE, "", 10, 3, {9: 10}, 1)


def test_identification_has_no_steps_and_is_judged_by_its_events() -> None:
    watch = StatsWatch()
    watch.note(Stats("a", "0.1.0", 1, (ProcedureStats("identification", "", 90, 1, {3: 90}),)))
    failing = ProcedureStats("identification", "", 2, 6, {3: 2})
    watch.note(Stats("b", f"0.1.0 {mark_of('identification', VARIANT)}", 2, (failing,)))
    counts = counted(watch, "identification", VARIANT)
    assert (counts.stable.steps, counts.stable.failures) == (90, 1)
    assert verdict(counts, Margins()).startswith("it fails: of 8 decisions 6 raised")


def test_statistics_from_before_a_watch_do_not_count() -> None:
    """A worker may have been a canary that failed, and runs still."""
    watch = StatsWatch()
    before = Stats("b", LABEL, 2, (ProcedureStats(SERVICE, VARIANT, 10, 50, {9: 10}),))
    stable = ProcedureStats(SERVICE, "1", 100, 0, {3: 100})
    watch.note(Stats("a", "0.1.0", 1, (stable,)))
    watch.note(Stats("b", LABEL, 2, (ProcedureStats(SERVICE, VARIANT, 14, 51, {9: 14}),)))
    found = counted(watch, SERVICE, VARIANT, [before])
    assert found.canary == ProcedureStats(SERVICE, "", 4, 1, {9: 4})
    assert found.stable == ProcedureStats(SERVICE, "", 100, 0, {3: 100})


def test_only_what_came_since_counts() -> None:
    before = Counts(stats(FAST), stats([5.0] * 100, failures=100))
    after = Counts(stats(FAST * 2), stats([5.0] * 100 + FAST, failures=100))
    assert verdict(after.since(before), Margins()) == ""
    assert judge.FLOOR > 0
