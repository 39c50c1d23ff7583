"""The order and the aggregate of an event, before it is decided."""

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import wire
from eventing.cloudevents.nats_binding import BadEventError
from functions.runtime import resolve
from functions.runtime.turn import in_order, is_early, waiting, waits
from schemas.cloudevents import CloudEvent, EventType, TimersDue
from schemas.connection.state import Connection, ParkedConnection
from schemas.identity import Tai, index_ngap, make_amf_ue_ngap_id, slot_of, slot_of_amf_ue_ngap_id
from schemas.mobility.fold import place_of
from schemas.position import Position
from schemas.procedures import Procedure
from schemas.ran import Gnb
from schemas.step import encode
from schemas.ue.state import Timer, Ue
from statestore.contract import IndexKey
from tests.eventing.brokers import event
from tests.runtime.deciders import job

NOW = 1_800_000_000_000
AMF_ID = 0x1234567890
HERE = Connection("gnb-1", "a1", 7, AMF_ID, 4, Tai("001-01", 1))
OTHER = Connection("gnb-2", "a2", 8, AMF_ID + 1, 90, Tai("001-01", 1))
UPLINK = event(1, partitionkey=index_ngap(AMF_ID), sequence=5)


@pytest.mark.parametrize(
    ("changes", "state", "early"),
    [
        ({}, Ue(connection=HERE), False),
        ({"sequence": 6}, Ue(connection=HERE), True),
        ({"sequence": 4}, Ue(connection=HERE), False),
        ({"sequence": None}, Ue(connection=HERE), False),
        ({"sequence": 9}, Ue(), False),
        # An unproved connection has its own order.
        ({"sequence": 6}, Ue(connection=OTHER, parked=(ParkedConnection(HERE),)), True),
        ({"sequence": 5}, Ue(connection=OTHER, parked=(ParkedConnection(HERE),)), False),
        ({"sequence": 6}, Ue(parked=(ParkedConnection(HERE),)), True),
        ({"sequence": 5}, Ue(parked=(ParkedConnection(HERE, successor="ue/imsi-1"),)), True),
        ({"sequence": 4}, Ue(parked=(ParkedConnection(HERE, successor="ue/imsi-1"),)), False),
        ({"sequence": 9}, Gnb(), False),
        ({"sequence": 9, "type": EventType.TIMER}, Ue(connection=HERE), False),
        ({"type": EventType.TIMER}, Ue(timers={"T3550": Timer(NOW + 251)}), False),
        # A decision takes a timer for expired a little early, by the clock of its host.
        ({"type": EventType.TIMER}, Ue(timers={"T3550": Timer(NOW + 250)}), True),
        ({"type": EventType.TIMER}, Ue(timers={"T3550": Timer(NOW)}), True),
        # An INITIAL UE MESSAGE, and what ends a connection or takes it over.
        ({"sequence": 0, "partitionkey": "imsi-001010000000001"}, Ue(), False),
        ({"sequence": 0, "partitionkey": "imsi-001010000000001"}, Ue(connection=HERE), True),
        ({"sequence": 0, "partitionkey": "tmsi-00000001"}, Ue(stale=(HERE,)), True),
        ({"type": EventType.CONNECTION_LOST}, Ue(connection=HERE), True),
        ({"type": EventType.CONNECTION_LOST}, Ue(), False),
        ({"type": EventType.IDENTIFIED}, Ue(connection=HERE), True),
        ({"type": EventType.DEREGISTER}, Ue(connection=HERE), False),
        ({"sequence": 9, "partitionkey": index_ngap(1)}, Ue(connection=HERE), False),
        ({}, Ue(connection=HERE, successor="ue/imsi-1"), True),
        ({"sequence": None}, Ue(connection=HERE, successor="ue/imsi-1"), True),
        ({"sequence": 4}, Ue(connection=HERE, successor="ue/imsi-1"), False),
    ],
)
def test_what_has_to_wait(changes: dict[str, Any], state: object, early: bool) -> None:
    assert is_early(replace(UPLINK, **changes), state, NOW) is early


def notice(ran_ue_ngap_id: int) -> bytes:
    ies = [{"AMF-UE-NGAP-ID": AMF_ID}, {"RAN-UE-NGAP-ID": ran_ue_ngap_id}]
    return wire.ngap_encode({"message": "UEContextReleaseComplete", "ies": ies})


@pytest.mark.parametrize(
    ("gnb", "data", "early"),
    [
        ("gnb-1/a1", notice(7), False),
        ("gnb-1/a1", notice(9), True),
        ("gnb-1/a1", b"no NGAP", False),
        ("gnb-3/a3", notice(9), True),
    ],
)
def test_what_comes_by_another_gnb_than_the_ue_is_at(gnb: str, data: bytes, early: bool) -> None:
    """A late message of the source gNB does not wait. A message of a UE that has returned there
    waits for its PATH SWITCH REQUEST."""
    here = replace(OTHER, amf_ue_ngap_id=AMF_ID, before=place_of(HERE))
    said = replace(UPLINK, source=f"/n2/{gnb}", data=data, sequence=1)
    assert is_early(said, Ue(connection=here), NOW) is early


@st.composite
def uplinks(draw: st.DrawFn) -> CloudEvent:
    key = draw(st.sampled_from(["ngap-1", "ngap-2", "imsi-1"]))
    sequence = draw(st.none() | st.integers(0, 5))
    position = Position(draw(st.integers(1, 9)), draw(st.integers(0, 2)), 0)
    number = draw(st.integers(0, 99))
    return event(number, partitionkey=key, sequence=sequence, position=position)


@given(st.lists(uplinks(), max_size=12))
def test_a_batch_is_in_the_order_of_the_stream_and_of_each_connection(
    batch: list[CloudEvent],
) -> None:
    given_ = [job(one) for one in batch]
    found = in_order(given_)
    assert sorted(map(id, found)) == sorted(map(id, given_))
    for key in ("ngap-1", "ngap-2", "imsi-1"):
        own = [one.event for one in found if one.event.partitionkey == key]
        numbers = [one.sequence for one in own if one.sequence is not None]
        assert numbers == sorted(numbers)
    places = [
        one.event.position
        for one in found
        if one.event.sequence is None and one.event.position is not None
    ]
    assert all(not later.precedes(earlier) for earlier, later in pairwise(places))


def test_a_message_that_is_stored_late_comes_before_the_next_of_its_connection() -> None:
    def stored(sequence: int, at: int, **changes: Any) -> CloudEvent:
        changed = {"position": Position(at, 0, at), "sequence": sequence, **changes}
        return replace(UPLINK, id=f"{sequence}-{at}", **changed)

    other = stored(0, 11, partitionkey="imsi-001010000000001")
    batch = [stored(6, 10), other, stored(5, 12)]
    assert [one.event for one in in_order([job(one) for one in batch])] == [
        batch[2],
        other,
        batch[0],
    ]


def test_what_comes_by_n4_stays_as_it_comes() -> None:
    """PFCP sequence numbers only match responses to requests: they define no order."""
    key = "seid-0440000000abcdef"
    values = {"type": EventType.PFCP_UPLINK, "partitionkey": key, "source": "/n4/u"}
    batch = [event(n, sequence=s, **values) for n, s in ((1, 7), (2, None))]
    assert [one.event for one in in_order([job(one) for one in batch])] == batch


@pytest.mark.parametrize(
    ("kind", "source", "bad"),
    [
        (EventType.NGAP_UPLINK, "/n2/gnb-1/a1", False),
        (EventType.NGAP_UPLINK, "/n4/10.9.0.1", True),
        (EventType.PFCP_UPLINK, "/n4/2001:db8::1", False),
        (EventType.PFCP_UPLINK, "/n2/gnb-1/a1", True),
        (EventType.PFCP_UNANSWERED, "/n4/", True),
        (EventType.UPF_PATH, "/n4/upf-1/x", True),
        (EventType.SESSION_LOST, "/upf/10.9.0.1", False),
    ],
)
def test_the_source_of_what_gateways_make(kind: EventType, source: str, bad: bool) -> None:
    one = event(1, type=kind, source=source, partitionkey="upf/10.9.0.1")
    with pytest.raises(BadEventError) if bad else nullcontext():
        job(one)


@pytest.mark.parametrize(
    ("data", "bad"), [(encode(TimersDue(7)), False), (b"", True), (b"\x01", True)]
)
def test_a_shared_wake_up_says_when(data: bytes, bad: bool) -> None:
    one = event(1, type=EventType.TIMERS_DUE, source="/ue/x", partitionkey="wakes-x", data=data)
    with pytest.raises(BadEventError, match="is not valid") if bad else nullcontext():
        job(one)


@pytest.mark.parametrize(
    ("key", "procedure", "aggregate"),
    [
        ("imsi-001010000000001", Procedure.REGISTRATION, "ue/imsi-001010000000001"),
        ("ue/imsi-001010000000001", Procedure.REGISTRATION, "ue/imsi-001010000000001"),
        ("ue/unidentified-x", Procedure.REGISTRATION, "ue/unidentified-x"),
        ("gnb-001-01-gnb-24-1", Procedure.RAN, "gnb/001-01-gnb-24-1"),
        ("gnb/001-01-gnb-24-1", Procedure.RAN, "gnb/001-01-gnb-24-1"),
        ("conn-a1-7", Procedure.REGISTRATION, "ue/unidentified-test-1"),
        ("ngap-1234567890", Procedure.REGISTRATION, None),
        ("tmsi-12345678", Procedure.REGISTRATION, None),
        ("seid-0440000000abcdef", Procedure.SESSION, None),
        ("upf/10.9.0.1", Procedure.UPF, "upf/10.9.0.1"),
        ("upf/2001:db8::1", Procedure.UPF, "upf/2001:db8::1"),
    ],
)
def test_a_key_names_an_aggregate_or_an_entry_of_an_index(
    key: str, procedure: Procedure, aggregate: str | None
) -> None:
    found = event(1, partitionkey=key, procedure=procedure)
    assert resolve.direct(found) == aggregate
    if aggregate is None:
        assert resolve.entry(found) == IndexKey(key.partition("-")[0], key)


@pytest.mark.parametrize(
    ("key", "source", "aggregate"),
    [
        ("tmsi-12345678", "/n2/gnb-1/a1", "ue/unidentified-test-1"),
        ("ngap-1234567890", "/n2/gnb-1/a1", "gnb/gnb-1"),
        ("ngap-1234567890", "/gnb/gnb-1", ""),
        ("seid-0440000000abcdef", "/n4/10.9.0.1", "upf/10.9.0.1"),
        ("seid-0440000000abcdef", "/upf/10.9.0.1", ""),
    ],
)
def test_a_key_that_nobody_has(key: str, source: str, aggregate: str) -> None:
    assert resolve.without_owner(event(1, partitionkey=key, source=source)) == aggregate


def test_a_connection_of_another_slot_is_moved_to_that_of_its_supi() -> None:
    ue = "ue/imsi-001010000000001"
    slot = slot_of("imsi-001010000000001")
    assert resolve.moved_to(replace(UPLINK, slot=slot), ue) is None
    assert resolve.moved_to(replace(UPLINK, slot=slot + 1), ue) == slot
    assert resolve.moved_to(replace(UPLINK, slot=slot + 1), "ue/unidentified-x") is None
    assert resolve.moved_to(event(1, slot=slot + 1), ue) is None


def test_an_early_event_waits_for_the_slots_of_the_ue_and_of_its_connections() -> None:
    before = replace(HERE, amf_ue_ngap_id=make_amf_ue_ngap_id(99, 1))
    state = Ue(supi="imsi-001010000000001", connection=HERE, stale=(before,))
    early = replace(UPLINK, slot=5, position=Position(7, 1, NOW))
    found = waiting(early, state)
    assert found.position == early.position
    own = slot_of("imsi-001010000000001")
    assert found.slots == {5, own, 99, slot_of_amf_ue_ngap_id(AMF_ID)}


def test_the_turn_of_an_event_counts_for_the_connections_that_were_asked_about() -> None:
    later = job(replace(UPLINK, sequence=6))
    assert waits(later, Ue(connection=HERE), NOW)
    later.has_turn = True
    assert not waits(later, Ue(connection=HERE), NOW)
    slot = slot_of_amf_ue_ngap_id(AMF_ID) + 1
    newer = replace(OTHER, amf_ue_ngap_id=make_amf_ue_ngap_id(slot, 1))
    assert waits(later, Ue(connection=newer, parked=(ParkedConnection(HERE),)), NOW)
    assert not later.has_turn
    assert later.waiting is not None
    assert slot in later.waiting.slots
