"""Overload in a model of the core, with the real queue, admission and reduction."""

import pytest

from tests.runtime.overload_model import CAPACITY, HOSTILE, Model

SECONDS = 20.0


@pytest.mark.parametrize("times", [2.0, 4.0])
def test_the_core_does_its_work_in_an_overload(times: float) -> None:
    """It serves what it can, those that it admits are done soon, and no timer of a UE ends."""
    model = Model()
    model.arrive(times * CAPACITY, 0.0, SECONDS)
    model.run(SECONDS)
    found = model.outcome
    assert found.served(0.0, SECONDS) >= 0.85 * SECONDS * CAPACITY
    assert found.served(5.0, SECONDS) >= 0.9 * (SECONDS - 5.0) * CAPACITY
    took = sorted(found.took)
    assert took[int(0.99 * len(took))] <= 4.0, "a registration, a session and an AN release"
    assert found.expired == 0
    assert found.rejected <= 0.5 * found.refused, "most of the excess ends at the gNBs"
    backlog = len(found.begun) - len(found.done)
    model.run(SECONDS + 1.3 * backlog / CAPACITY + 16.0)
    assert len(found.done) == len(found.begun)


@pytest.mark.parametrize("known", [False, True])
def test_gnbs_that_do_not_obey(known: bool) -> None:
    """Workers alone keep the core at work: what is rejected costs, but no timer of a UE ends."""
    model = Model(obey=False, known=known)
    model.arrive(2.0 * CAPACITY, 0.0, SECONDS)
    model.run(SECONDS)
    found = model.outcome
    assert found.served(5.0, SECONDS) >= 0.5 * (SECONDS - 5.0) * CAPACITY
    assert found.expired == 0


@pytest.mark.parametrize("times", [0.5, 0.9])
def test_no_ue_is_put_off_without_overload(times: float) -> None:
    model = Model()
    model.arrive(times * CAPACITY, 0.0, SECONDS)
    model.run(SECONDS)
    assert (model.outcome.rejected, model.outcome.refused) == (0, 0)


def test_no_ue_is_put_off_for_a_stall() -> None:
    model = Model()
    model.arrive(0.5 * CAPACITY, 0.0, SECONDS)
    model.stall(5.0, 2.0)
    model.run(SECONDS + 5.0)
    assert len(model.outcome.done) == len(model.outcome.begun)
    assert (model.outcome.rejected, model.outcome.refused) == (0, 0)


def test_no_ue_is_put_off_in_a_short_burst() -> None:
    model = Model()
    model.arrive(3 * CAPACITY, 0.0, 0.5)
    model.run(SECONDS)
    assert len(model.outcome.done) == len(model.outcome.begun)
    assert (model.outcome.rejected, model.outcome.refused, model.outcome.expired) == (0, 0, 0)


@pytest.mark.parametrize("times", [3.0, 10.0])
def test_a_hostile_gnb_delays_no_ue_of_another(times: float) -> None:
    """Its requests are many times the capacity, and none of its UEs ever answers."""
    model = Model()
    model.arrive(0.5 * CAPACITY, 0.0, 40.0)
    model.flood(times * CAPACITY, 5.0, 35.0)
    model.run(45.0)
    found = model.outcome
    assert len(found.done) == len(found.begun)
    assert (found.rejected, found.refused, found.expired) == (0, 0, 0)
    took = sorted(found.took)
    assert took[int(0.99 * len(took))] <= 1.0
    assert took[-1] <= 2.0
    assert model.asked["g"] == 0
    model.run(90.0)
    assert model.waiting == 0
    assert model.asked[HOSTILE] == 0
    assert model.shares[HOSTILE].unproved == model.shares[HOSTILE].waiting == 0


def test_a_hostile_gnb_gets_a_bounded_part_of_the_core() -> None:
    model = Model()
    model.flood(10 * CAPACITY, 0.0, 60.0)
    model.run(60.0)
    assert model.outcome.strangers <= 0.5 * 60 * CAPACITY
    assert model.asked[HOSTILE] >= 90
