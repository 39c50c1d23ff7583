"""No input raises an exception in `ran`, in any state of the RAN node, and NG SETUP succeeds after
it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import wire
from schemas.cloudevents import CloudEvent, EventType
from schemas.procedures import Procedure
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import gnb, ng_setup, reset, setup_request, supported, update
from tests.functions.ngap_messages import OF_NODE, OF_UE, of_node, of_ue
from tests.functions.octets import IES, PROCEDURES, changed_pdu, ie, pdu
from tests.functions.phone import Phone
from tests.functions.test_fuzz_ue import CASUAL
from tests.functions.world import ASSOCIATION, GNB, NETWORK


def down() -> CheckedWorld:
    return CheckedWorld()


def up() -> CheckedWorld:
    world = CheckedWorld()
    ng_setup(world)
    Phone(world).register()
    return world


def elsewhere() -> CheckedWorld:
    """The interface is up on another association than the message's."""
    world = up()
    ng_setup(world, "a2")
    return world


def lost() -> CheckedWorld:
    world = up()
    world.lose()
    return world


STATES: dict[str, Callable[[], CheckedWorld]] = {
    build.__name__: build for build in (down, up, elsewhere, lost)
}
ONE = [{"aMF-UE-NGAP-ID": 1, "rAN-UE-NGAP-ID": 1}, {"rAN-UE-NGAP-ID": 1}, {"aMF-UE-NGAP-ID": 7}]
INDICATION: dict[str, Any] = {
    "message": "ErrorIndication",
    "ies": [{"Cause": {"misc": "unspecified"}}],
}
PDUS = [
    wire.ngap_encode(tree)
    for tree in (
        setup_request(),
        setup_request(plmn="999-99"),
        setup_request(tac=99),
        update(RANNodeName="renamed", SupportedTAList=supported(2)),
        update(SupportedTAList=supported(99)),
        update(),
        reset(),
        reset(ONE),
        {"message": "NGResetAcknowledge", "ies": []},
        INDICATION,
        {"message": "AMFConfigurationUpdateAcknowledge", "ies": []},
        {
            "message": "AMFConfigurationUpdateFailure",
            "ies": [{"Cause": {"misc": "unspecified"}}, {"TimeToWait": "v20s"}],
        },
        *(of_node(message) for message in OF_NODE),
        *(of_ue(message, 77, 1) for message in OF_UE),
    )
]


def raw(procedure: tuple[int, int], criticality: int, ies: list[bytes]) -> bytes:
    code, direction = procedure
    return pdu(code, direction, criticality, ies)


octets = st.one_of(
    st.sampled_from(PDUS),
    changed_pdu(PDUS),
    st.binary(max_size=30),
    st.builds(
        raw,
        st.sampled_from(PROCEDURES) | st.tuples(st.integers(0, 255), st.integers(0, 3)),
        st.integers(0, 3),
        st.lists(
            st.builds(ie, st.sampled_from(IES), st.integers(0, 3), st.binary(max_size=12)),
            max_size=4,
        ),
    ),
)
associations = st.sampled_from([ASSOCIATION, ASSOCIATION, "a2", "a3"])
kinds = st.sampled_from([EventType.ASSOCIATION_LOST, EventType.TIMER, "org.evcore.unheard-of"])
networks = st.builds(
    lambda name, capacity, areas: replace(
        NETWORK, name=name, relative_capacity=capacity, tracking_areas=areas
    ),
    st.sampled_from(["test", "renamed"]),
    st.integers(0, 2),
    st.sampled_from([NETWORK.tracking_areas, NETWORK.tracking_areas[:1]]),
)
shots = st.one_of(
    st.tuples(st.just("pdu"), octets, associations),
    st.tuples(st.just("pdu"), octets, associations),
    st.tuples(st.just("lose"), associations),
    st.tuples(st.just("event"), kinds, st.binary(max_size=8)),
    st.tuples(st.just("again"), st.integers(0, 20)),
    st.tuples(st.just("network"), networks),
    st.tuples(st.just("wait"), st.integers(1, 100)),
)


def shoot(world: CheckedWorld, shot: tuple[Any, ...]) -> None:
    match shot:
        case ("pdu", made, association):
            world.uplink_pdu(made, association=association)
        case ("lose", association):
            world.lose(association)
        case ("event", kind, data):
            world.count += 1
            source, key = f"/n2/{GNB}/{ASSOCIATION}", f"gnb-{GNB}"
            event = CloudEvent(f"t-{world.count}", source, kind, key, data, procedure=Procedure.RAN)
            world.deliver(event)
        case ("network", network):
            world.reconfigure(network)
        case ("wait", seconds):
            world.advance(seconds)
        case ("again", number):
            taken = [step.trigger for _, step in world.order]
            if taken:
                steps, before = len(world.order), dict(world.states)
                world.deliver(taken[number % len(taken)])
                assert (len(world.order), world.states) == (steps, before)
        case _:
            raise AssertionError(shot)


@pytest.mark.parametrize("state", STATES)
@CASUAL
@given(fired=st.lists(shots, min_size=1, max_size=5))
def test_anything_in_any_state(state: str, fired: list[tuple[Any, ...]]) -> None:
    world = STATES[state]()
    for shot in fired:
        shoot(world, shot)
    world.downlink.clear()
    ng_setup(world, "a9")
    assert gnb(world).association == "a9"
    world.verify()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("cut", range(1, 9))
def test_an_error_indication_is_never_answered(state: str, cut: int) -> None:
    """TS 38.413 10.5: neither a valid one, nor a truncated one or one with faults."""
    world = STATES[state]()
    world.downlink.clear()
    whole = wire.ngap_encode(INDICATION)
    world.uplink_pdu(whole)
    world.uplink_pdu(whole[:-cut])
    world.uplink_pdu(pdu(9, 0, 1, [ie(9999, 0, b"\x01")]))
    assert world.sent() == []
    world.verify()
