"""The model of the order of the events of a UE (docs/architecture.md, "Order")."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.order import scenarios as s
from tests.order.explore import every_state, walk
from tests.order.states import BEFORE, Design, Scenario


@pytest.mark.parametrize(
    ("scenario", "wrong"),
    [
        (s.OVERTAKEN, "c2.0 is processed before c1.1-deregistration"),
        (s.GAP, "c1.2 is processed before c1.1"),
    ],
)
def test_the_faults_of_the_design_before_are_found(scenario: Scenario, wrong: str) -> None:
    found = every_state(scenario, BEFORE, 1000)
    assert found.wrong == wrong, found


def test_an_older_connection_acted_on_the_newer_one() -> None:
    found = every_state(s.LATE, BEFORE, 1000)
    assert found.wrong == "c1.1 acts on connection 2, which is newer", found


@pytest.mark.parametrize("scenario", s.ALL.values(), ids=s.ALL)
def test_no_state_breaks_the_order(scenario: Scenario) -> None:
    found = every_state(scenario, Design())
    assert not found.wrong, found


@pytest.mark.parametrize(
    ("without", "scenario", "wrong"),
    [
        (Design(wait="fixed"), s.GAP, "c1.2 is processed before c1.1"),
        (
            Design(openings_wait=False),
            s.OVERTAKEN,
            "c2.0 is processed before c1.1-deregistration",
        ),
        (Design(keeps_position=False), s.HANDED_OFF, "c1.2 is processed before c1.1"),
        (Design(again=False), s.HANDED_OFF, "c1.2 is processed before c1.1"),
        (Design(again_last=False), s.HANDED_OFF, "c1.2 is processed before c1.1"),
        (Design(stored_first=False), s.HANDED_OFF, "c1.2 is processed before c1.1"),
        (
            Design(superseded=False),
            s.CONCEALED,
            "c1.0-suci acts on connection 2, which is newer",
        ),
        (
            Design(remembered=False),
            s.CONCEALED,
            "c1.0-suci acts on connection 2, which is newer",
        ),
        (Design(old_dropped=False), s.LATE, "c1.1 acts on connection 2, which is newer"),
        (Design(with_time=False), s.RECREATED, "c2.0 acts on connection 3, which is newer"),
        (Design(all_slots=False), s.FOREIGN, "c2.0 is processed before c1.1"),
        (Design(in_flight="many"), s.LOST, "c1.2 is processed before c1.1"),
        (Design(in_flight="publication"), s.LOST, "c1.2 is processed before c1.1"),
        (Design(own_batch=False), s.HANDED_OFF, "c1.2 is processed before c1.1"),
        (Design(leaves_in_order=False), s.LEFT, "c2.0 is processed before c1.1"),
        (Design(floors=False), s.FORGOTTEN, "c2.0 waits for ever"),
    ],
)
def test_each_part_of_the_design_is_needed(without: Design, scenario: Scenario, wrong: str) -> None:
    found = every_state(scenario, without)
    assert found.wrong == wrong, found


def test_a_consumer_that_is_full_of_waiting_events_delivers_nothing() -> None:
    """The limit of the design: `max_ack_pending` events of one consumer wait for a copy behind
    them."""
    assert every_state(s.FULL, Design()).wrong == "c2.0 waits for ever"
    assert not every_state(s.FULL._replace(ack_pending=2), Design()).wrong


def test_a_gateway_that_publishes_twice_is_overtaken_by_another_gateway() -> None:
    """The other limit of the design: the second message of an event has a later position."""
    found = every_state(s.PUBLISHED_TWICE, Design())
    assert found.wrong == "c1.0-suci acts on connection 2, which is newer", found


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(s.scenarios(), st.lists(st.integers(0, 1 << 16), min_size=30, max_size=150))
def test_no_way_through_a_larger_instance_breaks_the_order(
    scenario: Scenario, choices: list[int]
) -> None:
    found = walk(scenario, Design(), choices)
    assert not found.wrong, found
