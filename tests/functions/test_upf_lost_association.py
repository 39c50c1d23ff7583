"""UPFs that have lost their association, with or without a restart that the core can see.

TS 29.244 6.2.6: either side sets up an association at any time.
"""

from typing import Any

import pytest

import wire
from functions.messages.pfcp import node_id
from schemas.aggregates import upf_aggregate
from schemas.event import Noted
from schemas.step import FanOutSessions
from tests.functions.test_upf import STAMP, message, notes, sent, setup_response
from tests.functions.world import N4_NETWORK, World
from tests.functions.world_n4 import UPF

RETENTION = "PFCP Session Retention Information (within PFCP Association Setup Request)"


@pytest.fixture
def world() -> World:
    found = World(network=N4_NETWORK)
    found.associate(UPF)
    found.pfcp.clear()
    return found


def names(world: World) -> list[str]:
    return [tree["message"] for tree in sent(world)]


def losses(world: World) -> list[FanOutSessions]:
    steps = world.steps[upf_aggregate(UPF)]
    return [o for step in steps for o in step.outputs if isinstance(o, FanOutSessions)]


def setup_asked(world: World) -> tuple[str, str, int | None, bytes]:
    found = [one for one in world.pfcp if wire.pfcp_peek(one[3]).message_type == 5]
    world.pfcp.clear()
    return found[-1]


@pytest.mark.parametrize("answer", ["none", "refused"])
def test_a_silent_upf_is_asked_for_an_association_after_growing_pauses(
    world: World, answer: str
) -> None:
    """It has restarted, and answers no heartbeats of a CP function without association."""
    world.path("down")
    assert names(world) == ["HeartbeatRequest"]
    assert world.upf().trouble == "it does not answer heartbeats"
    waits: list[int] = []
    for _ in range(6):
        waits.append((world.upf().wake_at - world.now + 500) // 1000)
        world.advance(waits[-1] + 1)
        upf, key, number, pdu = setup_asked(world)
        assert wire.pfcp_peek(pdu).message == "AssociationSetupRequest"
        assert world.upf().associated
        assert world.usable_upfs() == ()
        if answer == "none":
            world.unanswered(upf, key, number, pdu)
        else:
            world.answer_pfcp(setup_response(cause="No resources available"), upf, key, number)
    assert waits == [10, 10, 20, 40, 60, 60]
    world.advance(650)
    upf, key, number, _ = setup_asked(world)
    world.answer_pfcp(setup_response(STAMP + 9), upf, key, number)
    state = world.upf()
    assert (state.trouble, state.refused, state.wake_at) == ("", 0, 0)
    assert len(world.usable_upfs()) == 1
    (lost,) = losses(world)
    assert (lost.recovery_time_stamp, lost.kept, lost.restarted) == (STAMP + 9, False, True)
    world.verify()


def test_a_upf_that_answers_again_keeps_its_association(world: World) -> None:
    """An outage: the setup would delete all its sessions."""
    world.path("down")
    world.advance(5)
    world.path("up", recovery_time_stamp=STAMP)
    world.pfcp.clear()
    assert (world.upf().trouble, world.upf().wake_at) == ("", 0)
    world.advance(2000)
    assert not world.pfcp
    assert losses(world) == []
    world.path("down")
    world.advance(11)
    upf, key, number, pdu = setup_asked(world)
    world.path("up", recovery_time_stamp=STAMP)
    world.unanswered(upf, key, number, pdu)
    assert (world.upf().asked, world.upf().wake_at) == (0, 0)
    assert len(world.usable_upfs()) == 1
    world.advance(2000)
    assert not any(wire.pfcp_peek(pdu).message_type == 5 for *_, pdu in world.pfcp)
    world.verify()


@pytest.mark.parametrize("retained", [True, False])
def test_the_request_asks_a_upf_to_retain_its_sessions(world: World, retained: bool) -> None:
    """TS 29.244 6.2.6.2.2: the UPF says whether it has (PSREI)."""
    world.path("down")
    world.advance(11)
    upf, key, number, pdu = setup_asked(world)
    tree = wire.pfcp_decode(pdu)
    assert wire.pfcp_check(pdu) is None
    own = {"CP PFCP Entity IP Address": {"ipv4": N4_NETWORK.n4_address}}
    assert {RETENTION: [own]} in tree["ies"], "Open5GS reads no message with an empty IE"
    answer = setup_response()
    if retained:
        answer["ies"].append({"PFCPASRsp-Flags": ["PSREI"]})
    world.answer_pfcp(answer, upf, key, number)
    assert [(lost.kept, lost.restarted) for lost in losses(world)] == [(True, False)] * (
        not retained
    )
    world.verify()


def test_a_upf_that_has_restarted_has_retained_nothing(world: World) -> None:
    world.path("down")
    world.advance(11)
    upf, key, number, _ = setup_asked(world)
    answer = setup_response(STAMP + 1)
    answer["ies"].append({"PFCPASRsp-Flags": ["PSREI"]})
    world.answer_pfcp(answer, upf, key, number)
    assert [lost.restarted for lost in losses(world)] == [True]
    world.verify()


def test_a_first_association_retains_nothing() -> None:
    world = World(network=N4_NETWORK)
    world.path("served")
    assert not any(RETENTION in ie for ie in sent(world)[0]["ies"])


def test_a_upf_that_ignores_sessions_is_asked_at_once(world: World) -> None:
    """It has ended the association after an outage, and answers heartbeats with its old stamp."""
    world.path("ignoring", recovery_time_stamp=STAMP)
    assert world.usable_upfs() == ()
    assert world.upf().trouble == "it answers heartbeats, but no requests about sessions"
    upf, key, number, pdu = setup_asked(world)
    world.path("served", recovery_time_stamp=STAMP)
    assert names(world) == ["HeartbeatRequest", "AssociationSetupRequest"]
    beat = {"message": "HeartbeatResponse", "ies": [{"Recovery Time Stamp": STAMP}]}
    world.answer_pfcp(beat, upf, key, 3)
    assert world.usable_upfs() == (), "a heartbeat shows nothing new"
    world.unanswered(upf, key, number, pdu)
    world.advance(11)
    upf, key, number, pdu = setup_asked(world)
    world.answer_pfcp(setup_response(), upf, key, number)
    assert len(world.usable_upfs()) == 1
    assert [lost.kept for lost in losses(world)] == [True]
    world.verify()


def test_a_upf_that_answers_sessions_again(world: World) -> None:
    world.path("ignoring", recovery_time_stamp=STAMP)
    upf, key, number, pdu = setup_asked(world)
    world.unanswered(upf, key, number, pdu)
    world.path("up", recovery_time_stamp=STAMP)
    assert len(world.usable_upfs()) == 1
    world.advance(2000)
    assert not world.pfcp
    world.verify()


def test_a_late_report_of_a_upf_that_ignored_sessions(world: World) -> None:
    world.path("ignoring", recovery_time_stamp=STAMP - 1)
    assert not world.pfcp
    assert world.upf().trouble == ""
    world.verify()


def test_a_gateway_that_stopped_with_the_request(world: World) -> None:
    """The next gateway gets it again, with its number."""
    world.path("down")
    world.advance(11)
    first = setup_asked(world)
    world.path("served")
    assert setup_asked(world) == first
    world.verify()


@pytest.mark.parametrize("cause", ["Request accepted", "No resources available"])
def test_a_response_without_node_id(cause: str) -> None:
    """Its sender is known by the request: the cause is noted, or the association set up."""
    world = World(network=N4_NETWORK)
    world.path("served")
    upf, key, number, _ = world.pfcp.pop()
    answer = setup_response(cause=cause)
    del answer["ies"][0]
    world.answer_pfcp(answer, upf, key, number)
    assert "AssociationSetupResponse: Node ID: it is missing" in notes(world)
    assert world.upf().associated is (cause == "Request accepted")
    causes = [getattr(e, "cause", "") for s in world.steps[upf_aggregate(UPF)] for e in s.events]
    assert (cause in causes) is (cause != "Request accepted")
    world.verify()


def test_a_refusal_of_an_association_without_all_mandatory_ies() -> None:
    """Its cause is what an operator needs."""
    world = World(network=N4_NETWORK)
    world.path("served")
    upf, key, number, _ = world.pfcp.pop()
    refusal = {"message": "AssociationSetupResponse", "ies": [{"Cause": "System failure"}]}
    world.answer_pfcp(refusal, upf, key, number)
    events = [event for step in world.steps[upf_aggregate(UPF)] for event in step.events]
    assert "System failure" in [getattr(event, "cause", "") for event in events]
    assert world.upf().trouble == "no association: System failure"
    assert world.upf().wake_at
    world.verify()


@pytest.mark.parametrize("missing", ["Cause", "Recovery Time Stamp"])
def test_a_response_without_another_mandatory_ie(missing: str) -> None:
    world = World(network=N4_NETWORK)
    world.path("served")
    upf, key, number, _ = world.pfcp.pop()
    answer = setup_response()
    answer["ies"] = [ie for ie in answer["ies"] if missing not in ie and "Node ID" not in ie]
    world.answer_pfcp(answer, upf, key, number)
    assert not world.upf().associated
    assert f"AssociationSetupResponse: {missing}: it is missing" in notes(world)
    world.verify()


def test_a_request_without_node_id_is_rejected(world: World) -> None:
    request: dict[str, Any] = message("AssociationSetupRequest", {"Recovery Time Stamp": STAMP})
    request["ies"] = request["ies"][1:]
    world.answer_pfcp({**request, "sequence": 9})
    (answer,) = sent(world)
    assert {"Cause": "Mandatory IE missing"} in answer["ies"]
    assert node_id("10.9.0.254") in [ie.get("Node ID") for ie in answer["ies"]]
    steps = world.steps[upf_aggregate(UPF)]
    assert any(isinstance(event, Noted) for step in steps for event in step.events)
