"""The deadline of an event, by the timer of its UE, its procedure and the state of its UE."""

from typing import Any, cast

import pytest
from msgspec.structs import replace

from eventing.jetstream.delivery import Delivery
from functions.runtime.cache import Cache
from functions.runtime.deadlines import SESSION_TIMER, TIMER, Deadlines
from schemas.cloudevents import EventType
from schemas.config.objectives import RELAXED, Objectives
from schemas.connection.state import Connection, ParkedConnection
from schemas.gmm.state import Registration
from schemas.gsm.state import N4Request, PduSession
from schemas.identity import SNssai, Tai
from schemas.position import Position
from schemas.ue.state import Ue
from statestore.contract import IndexKey
from statestore.log import Aggregate
from statestore.vault import AggregateSealer
from tests.runtime.test_effects_n4 import SESSION

URLLC = SNssai(2, "000001")
OBJECTIVES = Objectives({"paging": 0.1, "session": 0.02}, {URLLC: 0.05})
KEY = "ngap-0000000001"
SUPI = "imsi-001010000000001"
STORED = 1_700_000_000
CONNECTION = Connection("gnb", "a", 1, 1, 0, Tai("001-01", 1))
REGISTRATION = Registration(b"", b"", None, "suci")


def session(number: int, nssai: SNssai) -> PduSession:
    return replace(SESSION, id=number, nssai=nssai)


def deadlines(*slices: SNssai) -> Deadlines:
    """Return the deadlines of a worker that has one UE with a session in each of these slices."""
    sessions = tuple(session(n, nssai) for n, nssai in enumerate(slices, 1))
    return with_ue(OBJECTIVES, sessions=sessions)


def with_ue(objectives: Objectives, **state: Any) -> Deadlines:
    """Return the deadlines of a worker that has a UE with this state."""
    ue = Aggregate(f"ue/{SUPI}", cast("AggregateSealer", None), b"")
    ue.state = Ue(**state)
    found = Deadlines(objectives)
    found.cache = Cache()
    found.cache.put(ue)
    found.cache.own(IndexKey("ngap", KEY), ue.name)
    return found


def delivery(procedure: str, key: str = KEY, sequence: int = 1) -> Delivery:
    reply = f"$JS.ACK.EVCORE.{procedure}-0007.1.1.1.{STORED}000000000.0"
    headers = {
        "ce-partitionkey": key,
        "ce-sequence": str(sequence),
        "ce-type": EventType.NGAP_UPLINK,
    }
    return Delivery("", b"", headers, reply, 1, f"{procedure}-0007")


def left(found: Deadlines, one: Delivery) -> float:
    """Return the time from the storage of an event to its deadline, in whole milliseconds."""
    return round(found(one) - STORED, 3)


def timer_left(one: Delivery, **state: Any) -> float:
    return left(with_ue(Objectives(), **state), one)


def test_by_procedure() -> None:
    found = deadlines()
    assert left(found, delivery("session")) == 0.02
    assert left(found, delivery("service-request")) == RELAXED


@pytest.mark.parametrize("key", [KEY, SUPI, f"ue/{SUPI}"])
def test_a_ue_with_a_session_in_an_urgent_slice(key: str) -> None:
    found = deadlines(SNssai(1), URLLC)
    assert left(found, delivery("service-request", key)) == 0.05
    assert left(found, delivery("session", key)) == 0.02, "the shorter one counts"


@pytest.mark.parametrize("key", ["ngap-0000000002", "tmsi-1", "imsi-2", "gnb-1", "", "x"])
def test_a_ue_that_is_not_known_here(key: str) -> None:
    assert left(deadlines(URLLC), delivery("service-request", key)) == RELAXED


def test_a_ue_of_other_slices() -> None:
    assert left(deadlines(SNssai(1)), delivery("service-request")) == RELAXED


def test_before_there_are_states() -> None:
    assert left(Deadlines(OBJECTIVES), delivery("paging")) == 0.1


# The timers of UEs, without objectives


@pytest.mark.parametrize(
    ("procedure", "timer"),
    [("registration", TIMER), ("service-request", TIMER), ("session", SESSION_TIMER)],
)
def test_the_first_message_of_a_procedure(procedure: str, timer: float) -> None:
    found = Deadlines(Objectives())
    assert left(found, delivery(procedure, SUPI, 0)) == timer
    assert left(found, delivery(procedure)) == timer


def test_a_timer_counts_from_the_first_message_of_a_registration() -> None:
    position = Position(1, 0, (STORED - 4) * 1000)
    here = replace(CONNECTION, position=position)
    later = delivery("registration")
    assert timer_left(later, connection=here, registration=REGISTRATION) == TIMER - 4
    assert timer_left(later, connection=here) == TIMER, "it has ended"
    parked = ParkedConnection(here, registration=REGISTRATION)
    assert timer_left(later, parked=(parked,)) == TIMER - 4


def test_a_timer_counts_from_the_first_message_of_a_session() -> None:
    sent = N4Request("establish", 1, (STORED - 3) * 1000)
    asked = replace(SESSION, stage="establishing", n4=replace(SESSION.n4, sent=sent))
    assert timer_left(delivery("session"), sessions=(asked,)) == SESSION_TIMER - 3
    at_the_upf = replace(asked, n4=replace(SESSION.n4, sent=None, since=(STORED - 2) * 1000))
    assert timer_left(delivery("session"), sessions=(at_the_upf,)) == SESSION_TIMER - 2
    active = replace(asked, stage="active")
    assert timer_left(delivery("session"), sessions=(active,)) == SESSION_TIMER
