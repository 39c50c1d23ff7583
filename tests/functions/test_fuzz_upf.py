"""No input raises an exception in `upf`, in any state of the UPF, and it can be associated after
it."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import wire
from schemas.aggregates import upf_aggregate
from schemas.cloudevents import CloudEvent, EventType, SessionLeft, UpfLoadReported
from schemas.identity import index_seid
from schemas.step import encode
from tests.functions.world import N4_NETWORK, UPF, World
from tests.wire.pfcp_messages import MESSAGES

EXAMPLES = max(1, int(60 * float(os.environ.get("EVCORE_FUZZ_EXAMPLES", "1"))))

STAMP = 3_900_000_000
SEID = 0x123456789
STAMPS = st.sampled_from([0, STAMP, STAMP + 1])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Draw any PFCP message, possibly with changed octets."""
    message = draw(st.sampled_from(MESSAGES))
    ies, _ = draw(message.ies())
    stamp = draw(STAMPS)
    for ie in ies:
        if "Recovery Time Stamp" in ie:
            ie["Recovery Time Stamp"] = stamp
        if "Cause" in ie and draw(st.booleans()):
            ie["Cause"] = "Request accepted"
        if "UP Function Features" in ie and draw(st.booleans()):
            ie["UP Function Features"] = ["FTUP"]
    tree: dict[str, Any] = {"message": message.name, "sequence": draw(st.integers(0, 9))}
    if message.session:
        tree["seid"] = SEID
    octets = bytearray(wire.pfcp_encode({**tree, "ies": ies}))
    for at in draw(st.lists(st.integers(0, len(octets) - 1), max_size=2)):
        octets[at] = draw(st.integers(0, 255))
    return bytes(octets)


ACTIONS = st.one_of(
    st.tuples(st.just("path"), st.sampled_from(["served", "up", "down"]), STAMPS),
    st.tuples(st.sampled_from(["uplink", "unanswered"]), messages(), st.integers(0, 4)),
    st.tuples(st.just("wait"), st.integers(1, 200), st.none()),
    st.tuples(
        st.just("event"),
        st.sampled_from([EventType.SESSION_LEFT, EventType.UPF_LOAD]),
        st.sampled_from([b"", encode(SessionLeft(7)), encode(UpfLoadReported(300, 101, 9))]),
    ),
)


def play(world: World, action: tuple[str, Any, Any]) -> None:
    what, value, more = action
    if what == "path":
        world.path(value, UPF, more)
    elif what == "wait":
        world.advance(value)
    elif what == "event":
        world.count += 1
        number, key = f"e-{world.count}", upf_aggregate(UPF)
        world.deliver(CloudEvent(number, "/ue/1", value, key, more, procedure="upf", slot=0))
    else:
        uplink, unanswered = EventType.PFCP_UPLINK, EventType.PFCP_UNANSWERED
        kind = uplink if what == "uplink" else unanswered
        key = index_seid(SEID) if value[:1] == b"\x21" and not more else upf_aggregate(UPF)
        world.count += 1
        event = CloudEvent(f"f-{world.count}", f"/n4/{UPF}", kind, key, value, procedure="upf")
        world.deliver(replace(event, slot=0, sequence=more or None))


def is_answer(pdu: bytes) -> bool:
    return wire.pfcp_peek(pdu).message == "AssociationSetupResponse"


def serve(world: World, upf: str, key: str, number: int | None, pdu: bytes) -> None:
    """Answer a request of the core as a UPF that has restarted."""
    message = wire.pfcp_peek(pdu).message
    ies: list[dict[str, Any]] = [{"Recovery Time Stamp": STAMP + 5}]
    if message == "AssociationSetupRequest":
        accepted = {"Cause": "Request accepted"}
        ies = [{"Node ID": {"ipv4": UPF}}, accepted, *ies, {"UP Function Features": ["FTUP"]}]
    elif message != "HeartbeatRequest":
        return
    tree = {"message": message.replace("Request", "Response"), "ies": ies}
    world.answer_pfcp(tree, upf, key, number)


@pytest.mark.parametrize("begun", [False, True], ids=["strange", "associated"])
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    deadline=None,
)
@given(actions=st.lists(ACTIONS, max_size=8))
def test_whatever_comes(begun: bool, actions: list[tuple[str, Any, Any]]) -> None:
    world = World(network=N4_NETWORK)
    if begun:
        world.associate(UPF)
    for action in actions:
        play(world, action)
    for *_, pdu in world.pfcp:
        assert wire.pfcp_check(pdu) is None, wire.pfcp_decode(pdu, lenient=True)
    world.pfcp.clear()
    setup = {
        "message": "AssociationSetupRequest",
        "ies": [
            {"Node ID": {"ipv4": UPF}},
            {"Recovery Time Stamp": STAMP + 5},
            {"UP Function Features": ["FTUP"]},
        ],
    }
    world.answer_pfcp(setup)
    answers = 0
    for _ in range(4):  # the heartbeat that proves it, and the association that the core requests
        while world.pfcp:
            answers += is_answer(world.pfcp[0][3])
            serve(world, *world.pfcp.popleft())
        world.advance(2)
    assert (world.upf().associated, world.upf().reachable) == (True, True)
    assert world.upf().recovery_time_stamp == STAMP + 5
    assert answers >= 1
    world.verify()
