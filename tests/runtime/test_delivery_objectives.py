"""The objective of an event, by its procedure and by the state of its UE."""

from typing import cast

import pytest
from msgspec.structs import replace

from eventing.jetstream.delivery import Delivery
from functions.runtime.cache import Cache
from functions.runtime.worker import DeliveryObjectives
from schemas.config.objectives import RELAXED, Objectives
from schemas.gsm.state import PduSession
from schemas.identity import SNssai
from schemas.ue.state import Ue
from statestore.contract import IndexKey
from statestore.log import Aggregate
from statestore.vault import AggregateSealer
from tests.runtime.test_effects_n4 import SESSION

URLLC = SNssai(2, "000001")
OBJECTIVES = Objectives({"paging": 0.1, "session": 0.02}, {URLLC: 0.05})
KEY = "ngap-0000000001"
SUPI = "imsi-001010000000001"


def session(number: int, nssai: SNssai) -> PduSession:
    return replace(SESSION, id=number, nssai=nssai)


def objectives(*slices: SNssai) -> DeliveryObjectives:
    """Return the objectives of a worker that has one UE with a session in each of these slices."""
    ue = Aggregate(f"ue/{SUPI}", cast("AggregateSealer", None), b"")
    ue.state = Ue(sessions=tuple(session(n, nssai) for n, nssai in enumerate(slices, 1)))
    found = DeliveryObjectives(OBJECTIVES)
    found.cache = Cache()
    found.cache.put(ue)
    found.cache.own(IndexKey("ngap", KEY), ue.name)
    return found


def delivery(procedure: str, key: str = KEY) -> Delivery:
    return Delivery("", b"", {"ce-partitionkey": key}, "", 1, f"{procedure}-0007")


def test_by_procedure() -> None:
    found = objectives()
    assert found(delivery("session")) == 0.02
    assert found(delivery("service-request")) == RELAXED


@pytest.mark.parametrize("key", [KEY, SUPI, f"ue/{SUPI}"])
def test_a_ue_with_a_session_in_an_urgent_slice(key: str) -> None:
    found = objectives(SNssai(1), URLLC)
    assert found(delivery("service-request", key)) == 0.05
    assert found(delivery("session", key)) == 0.02, "the shorter one counts"


@pytest.mark.parametrize("key", ["ngap-0000000002", "tmsi-1", "imsi-2", "gnb-1", "", "x"])
def test_a_ue_that_is_not_known_here(key: str) -> None:
    assert objectives(URLLC)(delivery("service-request", key)) == RELAXED


def test_a_ue_of_other_slices() -> None:
    assert objectives(SNssai(1))(delivery("service-request")) == RELAXED


def test_before_there_are_states() -> None:
    assert DeliveryObjectives(OBJECTIVES)(delivery("paging")) == 0.1
