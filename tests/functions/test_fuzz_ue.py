"""No input raises an exception, in any state of the UE, and the UE can register after it."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import wire
from functions.runtime import resolve
from schemas.cloudevents import (
    CloudEvent,
    ConnectionLost,
    Deregister,
    EventType,
    Identified,
    SubscriptionChanged,
    Unidentified,
)
from schemas.gmm.state import SecurityContext
from schemas.identity import Tai, index_ngap, slot_of
from schemas.procedures import Procedure
from schemas.step import encode
from schemas.ue.state import Ue
from tests.functions.octets import NAS, Protection, RawPdu, plain_nas, protections, raw_pdus
from tests.functions.phone import Phone
from tests.functions.states import STATES, SlowWorld
from tests.functions.world import ASSOCIATION, GNB, World

EXAMPLES = max(1, int(25 * float(os.environ.get("EVCORE_FUZZ_EXAMPLES", "1"))))
CASUAL = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def contexts(world: World) -> tuple[SecurityContext | None, SecurityContext | None]:
    """Return the core's keys of the UE; any sender may have them too."""
    ue = world.states.get("ue/imsi-001010000000001", Ue())
    return ue.security, ue.pending


def say(phone: Phone, plain: bytes, protection: Protection, *, initial: bool) -> None:
    nas = protection.of(plain, *contexts(phone.world)) or b"\x00"
    if initial or phone.amf_id is None:
        stmsi: dict[str, Any] = {}
        if phone.guti is not None:
            tmsi = {"aMFSetID": 1, "aMFPointer": 0, "fiveG-TMSI": phone.guti["tmsi"]}
            stmsi["FiveG-S-TMSI"] = tmsi
        phone.initial(nas, **stmsi)
    else:
        phone.uplink(nas)


def raw(phone: Phone, made: RawPdu, wrong: tuple[int, int, str]) -> None:
    """Send any PDU, with the identifiers of the UE's connection or of another."""
    amf_id, ran_id, association = wrong
    pdu = made.of((phone.amf_id or 5) ^ amf_id, phone.ran_id ^ ran_id)
    phone.world.uplink_pdu(pdu, association=association)


def another(phone: Phone, plain: bytes, *, stolen: bool) -> None:
    """Send a message of another UE, on its own connection or with this UE's identifiers."""
    other = Phone(phone.world, 2)
    other.k, other.guti, other.ran_id = bytes(16), phone.guti, 2
    if stolen:
        other.amf_id, other.ran_id = phone.amf_id, phone.ran_id
    if stolen and other.amf_id is not None:
        other.uplink(plain or b"\x00")
    else:
        other.initial(plain or b"\x00")


def snapshot(world: World) -> list[bytes]:
    return [encode(state) for _, state in sorted(world.states.items())]


def again(phone: Phone, number: int) -> None:
    """Deliver an event of the log again: nothing changes."""
    world = phone.world
    taken = {event_id for _, event_id in world.taken}
    events = [event for event in world.delivered.values() if event.id in taken]
    event = events[number % len(events)]
    moved = event.partitionkey.startswith("ngap-") and event.type == EventType.CONNECTION_LOST
    if moved and (world.owners.get(resolve.entry(event)), event.id) not in world.taken:
        return  # the loss of a transferred connection, which applies to the other aggregate too
    before, steps = snapshot(world), len(world.order)
    world.deliver(event)
    assert len(world.order) == steps
    assert snapshot(world) == before


def poisoned(phone: Phone, number: int) -> None:
    """Deliver an event with failing decisions: the UE's request is rejected with a cause."""
    world = phone.world
    assert isinstance(world, SlowWorld)
    world.poisoned = True
    if number:
        phone.initial(NAS[0])
    else:
        internal(phone, EventType.TIMER, 0)
    world.poisoned = False


def deliver(phone: Phone, kind: str, key: str, data: bytes, **more: Any) -> None:
    """Deliver an event of the core itself."""
    phone.world.count += 1
    event = CloudEvent(f"t-{phone.world.count}", "/gnb/x", kind, key, data, slot=0)
    phone.world.deliver(replace(event, **more))


def internal(phone: Phone, kind: str, number: int) -> None:
    """Deliver a valid event at an unexpected time."""
    amf_id = phone.amf_id or 5
    key, data, to = f"ue/{phone.supi}", b"", Procedure.REGISTRATION
    source = "/gnb/x"
    match kind:
        case EventType.TIMER:
            pass
        case EventType.CONNECTION_LOST:
            key, to = index_ngap(amf_id + number % 2), Procedure.AN_RELEASE
            data = encode(ConnectionLost(amf_id + number % 2, "test"))
        case EventType.DEREGISTER:
            key, to = phone.supi, Procedure.DEREGISTRATION
            data = encode(Deregister(number % 2 == 0, number))
        case EventType.SUBSCRIPTION_CHANGED:
            key, to, data = phone.supi, Procedure.DEREGISTRATION, encode(SubscriptionChanged())
        case EventType.IDENTIFIED:
            request, suci = NAS[number % 2], bytes.fromhex(phone.identity("null")["octets"])
            taken = phone.world.sequences.get((ASSOCIATION, phone.ran_id), 0)
            found = Identified(
                GNB, ASSOCIATION, phone.ran_id, amf_id, taken, Tai("001-01", 1), request, suci
            )
            key, data, source = phone.supi, encode(found), "/ue/imsi-001010000000002"
        case _:
            key = index_ngap(amf_id)
            data = encode(Unidentified("test", EventType.IDENTIFIED, "/ue/x", b""))
    deliver(phone, kind, key, data, source=source, procedure=to, slot=slot_of(phone.supi))


KINDS = [
    EventType.TIMER,
    EventType.CONNECTION_LOST,
    EventType.IDENTIFIED,
    EventType.UNIDENTIFIED,
    EventType.DEREGISTER,
    EventType.SUBSCRIPTION_CHANGED,
    "org.evcore.unheard-of",
]

wrong_ids = st.one_of(
    st.just((0, 0, ASSOCIATION)),
    st.tuples(
        st.sampled_from([0, 1, 1 << 39]),
        st.sampled_from([0, 1, 1 << 31]),
        st.sampled_from([ASSOCIATION, "a9"]),
    ),
)

shots = st.one_of(
    st.tuples(st.just("say"), plain_nas, protections, st.booleans()),
    st.tuples(st.just("say"), st.sampled_from(NAS), protections, st.just(False)),
    st.tuples(st.just("raw"), raw_pdus, wrong_ids),
    st.tuples(st.just("another"), plain_nas, st.booleans()),
    st.tuples(st.just("again"), st.integers(0, 50)),
    st.tuples(st.just("poisoned"), st.integers(0, 1)),
    st.tuples(st.just("garbage"), st.sampled_from(KINDS), st.binary(max_size=8)),
    st.tuples(st.just("internal"), st.sampled_from(KINDS), st.integers(0, 5)),
    st.tuples(st.just("advance"), st.sampled_from([0.0, 0.1, 5.9, 6.0, 31.0, 4000.0])),
)


def shoot(phone: Phone, shot: tuple[Any, ...]) -> None:
    match shot:
        case ("say", plain, protection, initial):
            say(phone, plain, protection, initial=initial)
        case ("raw", made, wrong):
            raw(phone, made, wrong)
        case ("another", plain, stolen):
            another(phone, plain, stolen=stolen)
        case ("again", number):
            again(phone, number)
        case ("poisoned", number):
            poisoned(phone, number)
        case ("garbage", kind, data):
            deliver(phone, kind, f"ue/{phone.supi}", data)
        case ("internal", kind, number):
            internal(phone, kind, number)
        case ("advance", seconds):
            phone.world.advance(seconds)
        case _:
            raise AssertionError(shot)


def recover(phone: Phone) -> None:
    """After some time, a UE with the same SUPI registers, and the state is consistent."""
    world = phone.world
    world.advance(120)
    other = Phone(world)
    other.ran_id, other.sqn = 77, 0
    world.downlink.clear()
    other.register()
    ue = world.states[f"ue/{phone.supi}"]
    assert ue.registered
    assert ue.registration is None
    world.advance(120)
    assert ue.timers.keys() <= {"ng-release"}
    world.verify()


@pytest.mark.parametrize("state", STATES)
@CASUAL
@given(fired=st.lists(shots, min_size=1, max_size=4))
def test_anything_in_any_state(state: str, fired: list[tuple[Any, ...]]) -> None:
    phone = STATES[state]()
    for shot in fired:
        shoot(phone, shot)
    recover(phone)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("header", [0, 1, 2, 3, 4])
def test_each_message_in_each_state(state: str, header: int) -> None:
    """Each message in each state and with each protection, with the right MAC of either context."""
    there = dict(zip(("current", "pending"), contexts(STATES[state]().world), strict=True))
    usable = [name for name, keys in there.items() if header and keys is not None]
    for plain in NAS:
        for initial in (False, True):
            for context in usable or ("current",):
                phone = STATES[state]()
                protection = Protection(header, context)
                say(phone, plain, protection, initial=initial)
                phone.world.advance(60)
                phone.world.verify()


def test_the_sealing_of_this_bench_is_that_of_a_ue() -> None:
    phone = STATES["registered"]()
    current, _ = contexts(phone.world)
    assert current is not None
    assert phone.security is not None
    plain = wire.nas_encode({"message-type": "5gmm-status", "5gmm-cause": 111})
    mine = Protection(2, "current").of(plain, current, None)
    assert mine == phone.security.protect(plain, 2, downlink=False)
