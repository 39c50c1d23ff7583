"""The table of collisions: the core acts by its verdict for each procedure in each state."""

import functools
from typing import NamedTuple

import pytest

from functions.decision.collisions import TABLE, Rule, Start, Verdict, judge
from schemas.ue.states import Condition, ongoing, reachable
from tests.conformance import collisions
from tests.conformance.collisions import SITUATIONS, Observation


class Driven(NamedTuple):
    """A procedure that was started in a situation."""

    situation: str
    found: Condition
    observed: Observation


@functools.cache
def driven(start: Start) -> tuple[Driven, ...]:
    """Start a procedure in each situation that has a reason for it."""
    made: list[Driven] = []
    for name, build in SITUATIONS.items():
        bench = build()
        found = ongoing(bench.here)
        observed = collisions.observe(start, bench)
        if observed is not None:
            made.append(Driven(name, found, observed))
    return tuple(made)


def aborted(start: Start, found: Condition) -> Condition:
    """Return the conditions that the table aborts for a procedure."""
    rules = (rule for rule in TABLE if rule.start is start and rule.verdict is Verdict.ABORT)
    made = Condition(0)
    for rule in rules:
        made |= rule.conditions & found
    return made


@pytest.mark.parametrize("start", Start, ids=lambda start: start.name)
def test_the_core_does_what_the_table_says(start: Start) -> None:
    for situation, found, observed in driven(start):
        expected = judge(start, found.value)
        assert observed.verdict is expected, (situation, found)
        if expected is Verdict.ABORT:
            ended = aborted(start, found)
            parts = collisions.without_parts
            assert parts(ended & found) == parts(observed.ended & found), (situation, found)


PAIRS = [(rule, condition) for rule in TABLE for condition in rule.conditions]


def decides(one: Driven, rule: Rule, condition: Condition) -> bool:
    """Whether one condition causes the verdict of a rule in a situation."""
    if condition not in one.found or one.observed.verdict is not rule.verdict:
        return False
    if rule.verdict is Verdict.START:
        return True
    if rule.verdict is Verdict.ABORT:
        return condition in one.observed.ended
    return judge(rule.start, (one.found & ~condition).value) is not rule.verdict


@pytest.mark.parametrize(
    ("rule", "condition"), PAIRS, ids=lambda one: one.name if isinstance(one, Condition) else one[0]
)
def test_each_rule_decides_somewhere(rule: Rule, condition: Condition) -> None:
    assert any(decides(one, rule, condition) for one in driven(rule.start))


def test_no_pair_has_two_rules() -> None:
    pairs = [(rule.start, condition) for rule, condition in PAIRS]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_ue_has_signalling_if_it_is_reachable(name: str) -> None:
    ue = SITUATIONS[name]().here
    assert reachable(ue) == (Condition.SIGNALLING in ongoing(ue))
